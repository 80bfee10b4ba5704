"""A world of single facts for CKL's question: which facts outlive text that says nothing about them.

`world` holds the settings and yields the documents; start there. `facts` draws the facts, `words` holds names and
sentences. The probes are a set of kind `fact-world-probes` (`ticlm.datasets.evalsets`).
"""
