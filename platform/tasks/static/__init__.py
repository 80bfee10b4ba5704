"""Static tasks: benchmarks without periods, scored through lm-evaluation-harness.

`task` is the setting, with one cell per part. `part` is one benchmark, given by a file or by its name in the harness,
and lists the parts of CORE. `files` reads the questions of a file, `harness_task` turns them into a task of the
harness, `harness_model` gives the harness our answerer as its model, and `harness` runs both. Start with `task`. Only
`harness*` import the harness, because it is an extra (`ticlm[static]`) and slow to load.
"""
