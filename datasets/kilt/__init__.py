"""KILT (Petroni et al., 2021): eleven datasets of five tasks, as the JSON lines that are published.

`rows` parses a line, and gives TriviaQA its questions, which KILT leaves out: `trivia` finds them by id. `pairs` is a
source of documents for a corpus: one (input, target) pair for each line of a training file. `questions` makes a set of
examples of a dev file, in which every answer counts. The settings of CKL's fine-tuning stand in the study `ckl-kilt`
and in the recipes that it reads.

Start with `rows`.
"""
