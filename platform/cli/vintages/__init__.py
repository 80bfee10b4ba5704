"""The commands about vintages: `ticlm publish` writes them, `ticlm verify` checks those of anybody.

A vintage is the checkpoint of a period with a certificate of what it has read. Both commands are thin: what they do is
in `ticlm.platform.publish` and `ticlm.platform.verify`, which load when a command runs. `stated` collects what a
certificate says beside the rounds: counts of text that looks later than its date, and tests of what a model knows.
"""
