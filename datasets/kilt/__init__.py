"""KILT (Petroni et al., 2021): eleven datasets of five tasks, as the JSON lines that are published.

`rows` parses a line, and finds TriviaQA's questions by id, because KILT leaves them out. `pairs` is a source of
documents for a corpus: one (input, target) pair for each line of a training file. `questions` makes a set of examples
from a dev file, in which every answer counts. The settings of CKL's fine-tuning are in the study `ckl-kilt` and in its
recipes.

Start with `rows`.
"""
