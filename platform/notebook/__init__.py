"""What a notebook or a script asks of a root: `import ticlm; root = ticlm.open("runs")`.

`open_root` gives the studies of a root, `open_study` their results as DataFrames, their figures and their checkpoints.
Both show what analysis, report and eval compute, and compute nothing themselves. `ticlm` gives `open` on first use, so
that importing it costs nothing. A mistake raises `InputError`, with one line that says what is allowed.

Start with `open_root`.
"""
