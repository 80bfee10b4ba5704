"""Sets of the facts of TemporalWiki (Jang et al., EMNLP 2022).

`probes` makes them from dumps and histories of Wikipedia and Wikidata, `files` reads those that were released with the
paper. Both make the subsets `unchanged` and `changed` of each month.
Start with `probes`.
"""
