"""What was published with TiC-LM, beside a user's own results.

`files.py` reads the evaluation files of the Oracles, and `labels.py` says what a line or a label of them means.
`oracles.py` makes studies of the values. `borrowed_reference.py` takes an Oracle as the reference of regret, and gives
tasks the names of its columns. `printed.py` compares results with the numbers that the paper prints (`printed.yaml`).
Start with `files.py`.
"""
