"""Corpora of the Hugging Face hub: whole data sets, or a seeded share of each period.

`documents` is the source that recipes name (`kind: hub`). `repository` asks the hub: which commit, which configs, which
files. `names` reads dates in the names of configs, splits and files. `share` chooses files and row groups under a cap,
so that a larger cap keeps what a smaller one has taken.
"""
