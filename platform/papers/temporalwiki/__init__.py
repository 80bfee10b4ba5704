"""TemporalWiki: facts that did not change and facts that did (Jang et al., EMNLP 2022).

`pairs` has the scores of both by method and month (Table 4); `pair_differences` compares methods on the same facts.
`pairs_shown` makes the tables of a report of them, and `sentence` what the answer at the top of the page says.
Months and checkpoints are chosen by `analysis/month_rows.py`. Start with `pairs`.
"""
