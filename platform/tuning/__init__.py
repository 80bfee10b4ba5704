"""Search of a method's settings on the first periods of a study, with Ray Tune.

`search` says what is searched and makes the studies: each trial is a study of one method that ends early, so its rounds
are those of any study and are never trained twice. `ray_tune` runs the trials (`trial`: one of them, `resources`: its
share of the cluster, `tried`: what Tune says of them in the end). `selection` chooses among them by a rule, `table`
shows them, and `outcome.make` does all of it in order and keeps the files: start there.
"""
