"""One report of one or several studies: its page, its files, its tables in the terminal.

`report` holds what is computed once: the summary, the parts of all benchmarks, the answer. `write` writes the page, the
CSV files and the figures, and prints JSON and Markdown. `page` renders the page, `page_data` the numbers of its charts,
which `figures` draws as files with the page's own scripts. `commands` and `provenance` are blocks of the page;
`request` is how the report was asked for. What parts are made of is in `platform.display`. Start with `report`.
"""
