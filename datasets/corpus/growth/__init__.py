"""Tokenizers that grow: the merges of an older byte-level BPE go on, on the text of a later period.

`merges` learns further merges over words that the older tokenizer has cut into pieces; it knows no library and no file.
`grown` is the kind `grown` of a recipe's `tokenizer`: it counts the words of the corpus's first period, has merges
learned on them, and writes the tokenizer with the record of its new tokens (`core.vocabulary.growth`). Models take over
the rows of new tokens from those of their parts in `platform.models.growth`.

Start with `grown`.
"""
