"""Chaos: kill parts of a real run by a seed, and compare what it leaves with an undisturbed run.

`experiment` runs a study twice, each time on a Ray cluster of its own (`local_cluster`): once in peace, once under
faults. `schedule` draws when each fault comes, and `faults` makes it: a killed worker, node or driver, or a root that
is gone for a while. `accounting` counts steps and rows in the logs of the workers, and `comparison` measures how far
the weights and the cells of the two runs lie apart.
Start with `experiment.run`, which `ticlm chaos` calls.
"""
