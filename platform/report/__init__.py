"""The report of a study: tables for the terminal, one page that needs nothing else, and figures as files.

`write` writes a report from the results that `analysis` collects. `table_rows` turns the summary into lines of text,
`page_tables` groups them into the tables of the page, `text_tables` is what other tables of the page and the terminal
are made of. `page_data` and `view_data` give the numbers of all charts as one JSON value. The scripts in web/ draw it:
in a browser for the page (`page`), without one for the files (`figures`). `palette` holds the colours of both. Start
with `write.write`, then `page.render`. To change a chart, start with web/charts.js (what a chart shows), then
web/lines.js, web/bars.js and web/heatmap.js (how it is drawn).
"""
