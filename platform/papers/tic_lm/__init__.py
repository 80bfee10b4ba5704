"""TiC-LM: the three means of a matrix, and what was published with the paper (Li et al., ACL 2025).

`part` is what the paper adds to the headline numbers of a report: start there. `printed` has the numbers that the
paper prints (printed.yaml), and `printed_table` sets them beside ours. `borrowed_reference` takes an Oracle that was
published as the reference of regret, and gives tasks the names of the paper's columns. The published files themselves
are read by `results.of_published`.
"""
