"""How old a model is, by dated changes of facts: up to which month it has read.

`changes` holds what a model expects of each change, `score` how well that fits each month as the edge of its knowledge,
`edge` the estimate with its interval, its p and its placebo, `clock` the time at which the model answers, and `ages`
all of that for the models of a study.
"""
