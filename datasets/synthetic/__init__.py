"""A synthetic world: dated news of an invented country, and the truth about it.

`world` holds the settings and yields the documents of a period; start there. `facts` generates the history (who holds
which office, and since when) and the ground truth. `writing` plans and writes the pages of one month, with the common
words of `prose`; `tides` moves their frequencies. `encyclopedia` writes articles about the same entities as they stand
on a day, `wikidata` states the same facts as items; `benchmarks/truth` says what changed in both between two days.
`tables` loads the words, sentences and relations from the YAML files beside it.

The same settings always give the same bytes. A change to any text must raise the version of `SyntheticWorld`.
"""
