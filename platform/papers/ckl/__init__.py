"""CKL: what a model forgot for what it gained (Jang et al., ICLR 2022).

`part` is what the paper adds to a report: start there. `settings` says which scores a FUAR is taken over, `fuar` is
equation 1 with the intervals of `resampling`, `study_fuar` makes the frames of a report and `shown` its tables.
`printed` has the tables that the paper prints (ckl.yaml), and `compared` sets them beside ours. `learning_rates` is
Table 7.
"""
