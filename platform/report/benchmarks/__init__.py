"""The benchmarks of a report read together: on the page, in the terminal, and in the files beside the page.

`overview` makes the table with the headline numbers of all benchmarks, `pairs` those of TemporalWiki, and `facts` that
of facts which several benchmarks ask for. `sentence` adds to the answer on top of the page. `page` brings all of it
together: start there. What the tables hold is in `platform.analysis.benchmarks`.
"""
