"""Operations on plain text that need no document, period or file.

`words` cuts a text into words and hashes them and their n-grams, for deduplication and the repetition filter. `diffs`
compares two versions of a text, and `revisions` says what each new passage replaced. `matching` compares answers, and
`overlap` says how much of a question stands in a passage; `bm25` indexes words. `charset` decodes the bytes of a page.
`taggers` find the salient spans of a text, by a spaCy pipeline (`pipelines`) or by rules, and `spans` masks them and
restores the text.

Importing `words` loads numba, which takes long: import it inside functions of modules that must stay light.
"""
