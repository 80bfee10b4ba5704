"""The section of a report on what updates of a model gained and lost: `tables: [{kind: kept}]` of a study.

`settings` names the tasks, `part` makes the table, the figures and the sentence. The numbers are those of
`analysis/kept`.

Start with `part.Kept`.
"""
