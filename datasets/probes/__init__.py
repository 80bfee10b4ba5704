"""Steps that make probes out of two corpora, an old and a new one, without people (CKL, appendix B).

A Candidate is a question whose answer a new article gives (`candidates`, by rules). `old_corpus` searches what was
known before, `matching` finds there what the same words say, and `decisions` is the tree that calls a candidate
updated, new, or neither. `easy` makes NewLAMA-Easy. `model_steps` lets chat models take the steps (`prompts.yaml`).
`predictions` and `review` write files for people and models, and read them back. `construction` does a whole period.

Start with `decisions`. The builder is `ticlm.datasets.evalsets.probe_construction`.
"""
