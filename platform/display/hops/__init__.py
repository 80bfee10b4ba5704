"""The section of a report on questions over two facts in a row: `tables: [{kind: hops}]` of a study.

`settings` names the tasks, of kind `answers-in-steps`; `part` makes the table and the sentence. The numbers are those
of `analysis/hops`.

Start with `part.HopTables`.
"""
