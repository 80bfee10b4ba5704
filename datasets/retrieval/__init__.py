"""Retrieval: passages that a question may be answered from, and what finds them.

`passages` cuts the examples of other sets into passages of some words, one shard of files after the other, beside the
set that is built. `retrievers` holds the union of what finds them: `encoders` (DPR: dense vectors of a BERT, searched
by `index`) and `word_index` (BM25, which needs no model). `open_book` writes the prompts of a reader, and
`statistics` counts what was found. The builder of sets is `datasets/evalsets/retrieved_contexts.py`.
"""
