"""EvolvingQA: what a model kept, learned, updated and could not forget (Kim et al., NAACL 2024).

`rows` reads the scores of a block, of the checkpoints that `analysis/month_rows.py` chooses. From there, `scores` makes
Table 3 with the paired differences of OUTDATED and UPDATED, `preferred` Table 5, `time_prompt` Figure 9, `categories`
Figure 6, `leakage` Figure 7 and section 4.3, `gradients` Figures 5 and 10, and `construction` Tables 2 and 4.
`questions` reads what the sets know of their questions; `tables` brings all of it together for a report. What the paper
prints is in `analysis/published/evolvingqa.py`. Start with `rows`, then `scores`.
"""
