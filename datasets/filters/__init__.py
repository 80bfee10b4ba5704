"""Filters of documents: each keeps a document, rewrites it, or drops it with a reason that is counted.

`union` has the interface, the union of all filters that a recipe can name, and the list of DCLM and TiC-CC. The
filters are in `urls`, `language`, `quality`, `repetition` (with `ngram_counts`), `clean_lines`, `date_line`,
`personal` and `offensive`. A filter sees one document and nothing else.

Start with `union`. To add a filter, write a class with a `kind` and a `__call__`, and add it to `AnyFilter`.
"""
