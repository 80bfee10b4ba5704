"""Wikidata from its dumps: triplets that are new or unchanged between two dumps, and questions about them.

`dumps` holds the settings, and `statements` stages a dump by subject; start there. `entities` reads JSON dumps and
`xml_dumps` XML dumps. `triplets` compares the triplets of a subject in two dumps (TiC-LM, Algorithm 3), and `cloze`
joins them with sentences of `ticlm.datasets.wiki` into fill-in-the-blank questions. `changes` says what became of each
triplet (TemporalWiki), and `dump_pairs` that for all subjects, whose merged items `redirects` knows.
"""
