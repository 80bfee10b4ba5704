"""Wikidata from its dumps: triplets that are new or unchanged between two dumps, and questions about them.

`dumps` holds the settings, and `statements` stages a dump by subject; start there. `entities` reads JSON dumps and
`xml_dumps` XML dumps. `pairing` finds the dumps for each step of a wiki. `triplets` compares the triplets of a subject
in two dumps (TiC-LM, Algorithm 3), and `cloze` joins them with sentences of `ticlm.datasets.wiki` into questions with a
blank. `changes` says what became of each triplet, `dump_pairs` that for all subjects, whose merged items `redirects`
knows, and `aligned` joins them with the texts that changed (TemporalWiki). `choosing` samples the questions of both.
`dated` reads values with the dates of their qualifiers, and `succession` says which value followed which.
"""
