"""Analysis: from the cells of a study to the numbers of the paper.

`collect` turns a plan's records and cells into a `StudyResult` (`results`); the package `published` does so
for published files. `matrix` pivots it into matrices (trained, evaluated), `transfer` and
`conventions` take the three means over them, and `summary` makes the table. `lag`, `paired_bootstrap`, `contamination`
and `tallies` are further analyses; `metrics`, `numbers` and `missing` put numbers and gaps into words. Start with
`results`, then `transfer`. Nothing here draws: `platform.report` does.
"""
