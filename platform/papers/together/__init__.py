"""The benchmarks of a report read together, and the tables of TemporalWiki (Jang et al., EMNLP 2022).

`pairs` has the scores of facts that did not change and of facts that did, by method and month; `pair_differences`
compares methods on the same facts. `overview` collects the headline numbers of every benchmark: TiC-LM's transfer,
FUAR, EvolvingQA's four scores and TemporalWiki's pairs. `facts` reads which facts the examples of tasks ask for, and
`matched` compares how a model does where two benchmarks ask for the same fact. `tables` brings all of it together for
a report. Start with `pairs`.
"""
