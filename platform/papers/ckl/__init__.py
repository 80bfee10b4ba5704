"""Probes: what a model still knows, updated and learned, and what it cost (CKL, Jang et al., ICLR 2022).

`fuar` is equation 1 over scores of probe sets, with the intervals of `resampling`. `scores` finds the scores of a
study by name, and `study_fuar` makes the frames of a report of them. `learning_rates` is Table 7. `predictions` and
`answer_types` are about single probes: what a model answered, and the types of right answers (Tables 5, 6 and 12,
appendix I). The tables that CKL prints are in `analysis/published/ckl.py`. Start with `fuar`.
"""
