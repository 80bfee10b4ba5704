"""Probes of invented worlds, whose truth is known.

`probes` asks about the news of `ticlm.datasets.synthetic.world`, month by month: what stays, changed and is new.
`fact_world` asks about a world of single facts, in the sets of CKL, `fact_hops` over two facts in a row of the fact
wiki. All take the settings of the world from their recipes, which must be those of the corpus that is trained on.
"""
