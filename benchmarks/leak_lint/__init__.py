"""The benchmark of the leak lint: what it finds of planted text, and what it flags of real posts.

`entries.py` is what is planted, `planting.py` puts it into posts, `__main__.py` counts. The posts are a folder of JSON
lines by month, `../shared/data/monthly` by default. Rules and tables were tuned on posts of even months alone, so the
report is on odd ones.
"""
