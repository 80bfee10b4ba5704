"""Recipes of evaluation sets: texts and questions per period that every checkpoint is scored on.

`recipe` holds ExampleSetRecipe and `build`; start there. Each other module is a builder that a recipe names by its
`kind`: `files` (examples in files), `tic_wiki`, `tic_wiki_qa`, `tic_stackexchange` and `tic_codedocs` (TiC-LM's sets),
`wiki_revisions`, `evolving_questions` and `retrieved_contexts` (EvolvingQA: what a wiki changed, questions about it,
contexts for them), `temporalwiki_probes` and `temporalwiki_files` (TemporalWiki's), and sets of LAMA probes: `probes`,
`ckl_probes`, `invariant_lama`, `synthetic_probes` and `probe_construction`. A builder reads its raw data with the
package of that source (`wiki`, `wikidata`, `lama`, …) and yields a draft per period. `show` prints a finished set.
"""
