"""A synthetic world: dated news of an invented country, and the truth about it.

`world` holds the settings and yields the documents of a period; start there. `facts` generates the history (who holds
which office, and since when) and the ground truth. `writing` plans and writes the pages of one month. `tables` loads
the words, sentences and relations from the YAML files beside it: `vocabulary`, `topics`, `relations` and `papers`.

The same settings always give the same bytes. A change to any text must raise `SyntheticWorld.edition`.
"""
