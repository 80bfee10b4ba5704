"""Recipes of evaluation sets: texts and questions per period that every checkpoint is scored on.

`recipe` holds ExampleSetRecipe and `build`; start there. Each other module is a builder that a recipe names by its
`kind`: `files` (examples that exist in files), `tic_wiki` (changed and unchanged passages), `tic_wiki_qa` (questions on
facts of Wikidata), `tic_stackexchange` (questions with accepted answers), `tic_codedocs` (documentation of releases),
`wiki_revisions` (added and revised passages), and sets of LAMA probes: `probes`, `ckl_probes`, `invariant_lama`,
`synthetic_probes` and `probe_construction`. A builder reads its raw data with the package of that source (`wiki`,
`wikidata`, `stackexchange`, `codedocs`, `lama`, `kilt`, `probes`) and yields a draft per period. `show` prints what a
finished set holds.
"""
