"""TemporalWiki: facts that did not change and facts that did (Jang et al., EMNLP 2022).

`part` is what the paper adds to a report: start there. `settings` says which tasks ask for the facts, `pairs` has
their scores by method and month (Table 4), `pair_differences` compares methods on the same facts, `pairs_shown` makes
the tables, and `sentence` is what the answer at the top says. Months and checkpoints are chosen by
`analysis/month_rows.py`.
"""
