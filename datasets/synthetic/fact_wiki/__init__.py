"""A wiki whose articles state facts and little else, so that a small model knows them, is asked, and reads the answer.

`wiki` holds the settings and yields the articles of a day; start there. `articles` decides what each article states and
since when. `words` loads the sentences of the YAML file beside it. The same settings always give the same bytes; a
change to any text must raise the version of `FactWiki`.
"""
