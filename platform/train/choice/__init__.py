"""Choosing the old rows that a round replays, out of more rows that it could replay.

`ngrams` scores rows by the n-grams that other rows have too, `losses` by what a checkpoint says to them; `best` keeps
the rows of each period with the highest scores. Scores are whole numbers, so that equal ones are equal on every
machine, and rows with equal scores go by the order in which plain replay would draw them. `chosen` puts these together;
`train.sample` writes the rows as a small corpus, from which the round draws.

Start with `chosen.Choice`.
"""
