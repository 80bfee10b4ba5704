"""The commands about vintages: `ticlm publish` writes them, `ticlm verify` checks those of anybody.

Both are thin: what they do is in `ticlm.platform.publish` and `ticlm.platform.verify`, which load when a command runs.
"""
