"""Deduplication by n-grams with a Bloom filter, without files and builds (for these see `corpus.dedup_pass`).

`settings` defines the rule and its options, `bloom` the filter, and `paragraphs` applies the rule to documents in their
order: which paragraphs and documents are removed.

Start with `settings`. `bloom` and `paragraphs` load numba; `settings` does not.
"""
