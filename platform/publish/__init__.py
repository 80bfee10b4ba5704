"""Vintages: models of one date, published with what shows which text they have seen.

A vintage is a dated checkpoint with its certificates. `forms` writes these: which files it has, how they were made,
what the corpus is, and who signed all of it, each in a form that exists outside this project. `places` are where a
vintage is put and found again.
"""
