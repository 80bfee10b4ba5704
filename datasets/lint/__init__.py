"""The leak lint: text that is later than the date that its document states, which no hash of a record can show.

`rules.py` is where to start: a text and the last day that it may be from become findings, by `dates` (years, dates,
URLs, copyrights), `identifiers` (arXiv, CVE, laws), `versions`, `names` and `offices`. Each rule reads one text.
`learned.py` compares the texts of a corpus with one another: numbers that only grow, names, copies of later texts.
`linting.py` runs both over texts and gives a LintReport (`report.py`); `corpora.py` reads the texts of a corpus from
its shards. Tables of versions, names and numbers with their dates are the YAML files beside the code. The filter
`later-than-its-date` uses the rules too; `ticlm data lint` prints the report.
"""
