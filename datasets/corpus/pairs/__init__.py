"""Rows of pairs for fine-tuning: one row for each (input, target) pair, padded, with nothing packed.

`row_makers` has the two makers: `pairs` writes the columns `inputs` and `targets` for an encoder–decoder, `sentences`
one column of tokens for a causal model. A pair is a document whose text holds both (`datasets/text/pairs.py`). Its two
parts are tokenized apart (`parts_of`), so that they follow one another in the stream, each with its end of text.

Start with `row_makers`.
"""
