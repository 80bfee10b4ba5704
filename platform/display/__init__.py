"""Building blocks of reports, as values that a page, a terminal, Markdown and files show.

`parts` says what a report is made of: `Part`, `Section`, and `Tables`, from which a class of the user's own derives.
`text_tables` and `charts` are what a section holds; `markdown` and `templates` render tables. `words` names things;
`table_rows` and `page_tables` make the tables of a summary, and `view_data` the numbers of a matrix, on `scales`, in
the colours of `palette`. `answer` says in a sentence what the numbers say. The scripts in web/ draw charts, in a
browser and for files. Start with `parts`; to change how a chart is drawn, with web/charts.js.
"""
