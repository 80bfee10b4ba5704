"""A world of single facts for CKL's question: which facts outlive text that says nothing about them.

`world` holds the settings and yields the documents of old and of later text; start there. `facts` draws the facts and
decides how they fare. `words` makes names and loads the sentences of the YAML file beside it. The same settings always
give the same bytes; a change to any text must raise the version of `FactWorld`.
"""
