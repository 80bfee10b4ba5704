"""`ticlm eval MODEL…`: models from anywhere, asked by tasks of a file or on dated texts.

`scores` asks them and shows their scores: as a table, as JSON, as CSV, and on a page. `texts` makes a set of examples
of files with dated texts, whose columns, dates and periods it finds itself. What a model is called is read by
`platform/eval/model_folder.find`; how models compare is in `platform/analysis/models`. Start with `scores`.
"""
