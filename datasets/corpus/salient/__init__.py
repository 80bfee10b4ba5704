"""Rows of salient span masking for an encoder–decoder, as in CKL and EvolvingQA.

`marking` tags documents before they are tokenized and gives every token a tag (outside, title, span), which lies beside
the token stream. `row_maker` cuts the stream into chunks and makes their inputs and targets. `span_files` keeps the
texts and labels of the spans, first by part, then by row (`Corpus.spans` reads them).

Start with `row_maker`.
"""
