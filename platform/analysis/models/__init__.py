"""Models from anywhere against one another: `differences` has the difference of each model from the first one.

Where a task keeps the loss of each text, both models read the same texts, so the interval comes of texts that are drawn
in pairs within each period. Elsewhere the periods are drawn, as between the methods of a study
(analysis/paired_bootstrap.py).
"""
