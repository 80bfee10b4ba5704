"""Vintages: models of one date, published with what shows which text they have seen.

A vintage is the checkpoint of a period: a folder with weights, tokenizer, card and certificates. It is published once,
whole, and never changes. `lineage` finds the rounds on the way to it, `certificate` says what they read, `card` tells
readers, `vintage_folder` writes all of it, and `inputs` collects what a stranger needs to run the rounds again. `forms`
are the formats that exist outside this project, `places` are where vintages lie. Start at `publishing`.
"""
