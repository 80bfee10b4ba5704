"""Cells: the numbers about a checkpoint, and how they are kept.

`cell` is one number; `key` hashes all that determines it. `files` writes cells, a file for what one evaluation of a
checkpoint gave, and reads those of one checkpoint; `columns` is their form as Arrow tables. `kept` reads the cells of
many checkpoints at once, and `index` is the file that spares it opening theirs.
"""
