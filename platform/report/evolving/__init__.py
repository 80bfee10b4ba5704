"""The tables of EvolvingQA in a report: on the page, in the terminal, and beside the page.

`tables` says how its numbers are written. `answers` makes those about what models answer (Tables 3 and
5, Figure 9), `analyses` those that look for reasons (Figures 5 to 7), and `built` those about how the sets were built
(Tables 2 and 4). `sentence` adds to the answer on top of the page, `charts` holds the numbers of the charts (Figures 4,
5 and 10). `page` brings all of it together: start there. What the tables hold is in `platform.analysis.evolving`.
"""
