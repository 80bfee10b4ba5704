"""The rounds of a run, one kind a file; `study/tree` puts them together.

`trained` makes the round that a method asks for. `deployment` makes what is deployed beside it, a leaf or an average of
checkpoints; `samples` makes the rows that a round draws from the checkpoint before it, `choices` the old rows
that are chosen for it (as values, both stand in `parts`); `tuned_copies` makes the short rounds that prepare a
checkpoint for a task.

Start with `trained.trained_round`.
"""
