"""The results of a study, whatever they come from: one value, `StudyResult`, that all analyses read.

`study_result` says what it holds. `of_plan` makes it from the records and cells of a plan, with `setup` (what was run),
`tallies` (counts of examples), `questions` and `facts` (what sets know of their examples), `kept_answers` (what models
answered), `built_sets` and `mid_round` (models inside rounds). `of_published` makes it from the files that were
published with TiC-LM (`published_files`, `published_labels`). `begun` knows what was run on a root. Start with
`study_result`.
"""
