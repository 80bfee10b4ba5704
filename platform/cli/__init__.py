"""The command line: `ticlm …`, or `python -m ticlm.platform`.

`main` is the table of commands; start there. Each group of commands has a module: `data` (build and show corpora),
`study` (plan, run, train), `evaluation` (eval, generate), `report`, `tune` (tune, choose), `submit` and `root` (clean,
check). They share the options and helpers of `options`, print through `console`, and end as `exit` says: one line for
every user's error. A command only parses, calls the package that does the work, and prints. Heavy libraries load
inside the commands that use them, so that `ticlm --help` loads none.
"""
