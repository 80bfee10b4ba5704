"""The steps of optimizers, in torch; the settings that make them stand in the folder above and load without it.

`adamw` is the one that the others stand on: it rounds a weight alike wherever it stands in its shard. `recadam` pulls
after each step, `mer` after a group of steps. `adafactor` and `muon` need a weight as a whole, and gather it (`whole`).

No bit may depend on the number of workers, and the state must go on from a checkpoint on any number of them.
Start with `adamw`.
"""
