"""EvolvingQA: what a model kept, learned, updated and could not forget (Kim et al., NAACL 2024).

`part` is what the paper adds to a report: start there. `settings` says which task asks what, and `rows` reads the
scores of a block. From there, `scores` makes Table 3 with the paired differences of OUTDATED and UPDATED, `preferred`
Table 5, `time_prompt` Figure 9, `categories` Figure 6, `leakage` Figure 7 and section 4.3, `gradients` Figures 5 and
10, and `construction` Tables 2 and 4; `*_shown` and `charts` show them. `printed` and `compared` set the paper's
numbers beside ours.
"""
