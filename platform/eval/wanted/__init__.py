"""Which cells a study wants, and how many of them are left to score.

`asked` says which cells a study wants of which checkpoint, and their keys; what does not depend on the checkpoint is
hashed once. `counts` tells how many there are, how many have no value yet, and how much models have to read for them,
before there is a corpus too. `platform.eval.cells` makes units of work of them.

Start with `asked.wanted_cells`.
"""
