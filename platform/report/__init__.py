"""The report of a study: tables for the terminal, one page that needs nothing else, and figures as files.

`write` writes a report from the results that `analysis` collects. `table_rows` turns the summary into lines of text,
`page_tables` groups them into the tables of the page. `page_data` and `view_data` give the numbers of all charts as one
JSON value; the scripts in web/ draw it, for the page (`page`) in a browser and for the files (`figures`) without one.
Colours stand in `palette`, so that page and files agree. Start with `write.write`, then `page.render`; to change a chart,
start with web/charts.js (what a chart shows) and web/lines.js, bars.js and heatmap.js (how it is drawn).
"""
