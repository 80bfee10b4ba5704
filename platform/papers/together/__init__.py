"""What is said of several benchmarks together: their headline numbers, and facts that several of them ask for.

`parts` collects the parts that the studies of a report ask for. `overview` makes one table of the headline numbers of
all of them. `matched` compares how a model does where two benchmarks ask for the same fact, and `facts_shown` makes the
table of it. Start with `parts`.
"""
