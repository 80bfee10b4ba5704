"""How old a model is, by dated changes of facts: where it stops to know what is new.

`changes` holds what a model expects of each change, `profile` the likelihood of every month as the edge of its
knowledge, `edge` the estimate with its interval and its p, and `clock` the time at which the model answers.
"""
