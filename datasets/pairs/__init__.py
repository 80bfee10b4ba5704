"""Pairs of an input and a target, for fine-tuning: what a tuned copy of a checkpoint trains on before it is scored.

`files` is the base of sources of such pairs: it reads JSON lines, and counts every record that is no pair by its
reason. `datasets.lama.pairs` reads the schema of probes, `datasets.kilt` KILT's files. A pair is one document, whose
text holds both (`text/pairs.py`); the rows `pairs` and `sentences` of `corpus/pairs` make one row of each.

Start with `files`.
"""
