"""Building blocks of reports: words, tables, colours and charts, as values that a page or a terminal shows.

`words` names evaluations, metrics and periods. `text_tables` is what tables are made of; `table_rows` and `page_tables`
turn a summary of studies into them. `view_data` gives the numbers of the charts of one evaluation, on `scales`, in the
colours of `palette`. `answer` says in a sentence what the numbers say. The scripts in web/ draw charts: in a browser
for the page, without one for files. Start with `text_tables`; to change a chart, with web/charts.js.
"""
