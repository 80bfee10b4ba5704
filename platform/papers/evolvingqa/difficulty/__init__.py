"""Exact match by how difficult questions are, which the paper does not control (EvolvingQA, limitations).

`groups` cuts the questions of a set into thirds by a measure. `effects` estimates how much harder ones cost, with
errors by article and within types of answers. `by_measure` makes the rows of the tables `difficulty` and
`difficulty_effects`, and `shown` puts them on the page and into the terminal.

Start with `by_measure`. The measures themselves are in `ticlm.datasets.generation.difficulty`.
"""
