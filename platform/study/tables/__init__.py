"""Tables that a study asks its report for, beside the matrices that every study has.

Each module has the settings of one kind of table: `fuar` (what was forgotten over what was gained, CKL), `evolving`
(EvolvingQA's sets, preferences and gradients) and `temporalwiki` (facts that changed and that did not). They name tasks
of `evaluations` and reach no round and no cell, so they can be added to a study that has run. What is made of them
stands in `platform.analysis` and `platform.report`. `named_tasks` finds the tasks that they name. Start with `fuar`.
"""
