"""Analysis: arithmetic on the frames of a study's results.

`matrix` pivots cells into matrices (trained, evaluated), `transfer` and `conventions` take the three means over them,
and `summary` makes the table. `lag`, `paired_bootstrap`, `contamination` and `forgetting` are further analyses of
matrices; `month_rows`, `probe_scores`, `answers` and `agreement` of questions and facts. `intervals` has Student's t
and Wilson's score; `metrics`, `numbers` and `missing` put numbers and gaps into words. Nothing here draws, and nothing
knows a paper's tables. Start with `matrix`.
"""
