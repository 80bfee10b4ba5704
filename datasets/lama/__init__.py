"""LAMA probes: statements with a mask for an entity, the answers that are right now, and the answers that were right
before.

`schema` is the one format of all probe sets: JSON lines, read and written. `collecting` applies the rules that every
source shares (one mask, an answer, no id twice) and counts what it leaves out and what it keeps with a remark; start
there. `released` reads the CSV and JSON files of CKL's benchmark, `trex` the rows of LAMA's T-REx, from which
InvariantLAMA is cut with the table `relations.yaml`. `pairs` makes pairs to fine-tune on. `statistics` counts what the
papers print about a probe set. Builders of example sets that use them live in `ticlm.datasets.evalsets`.
"""
