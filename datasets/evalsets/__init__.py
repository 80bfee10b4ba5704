"""Recipes of evaluation sets: texts and questions per period that every checkpoint is scored on.

`recipe` holds ExampleSetRecipe and `build`; start there. Each other module is a builder that a recipe names by its
`kind`: `files` (examples in files), `held_out_documents` (those of a corpus), `tic_wiki`, `tic_wiki_qa`,
`tic_stackexchange` and `tic_codedocs` (TiC-LM's sets), `wiki_revisions`, `evolving_questions`, `retrieved_contexts`
(EvolvingQA's), those of `temporalwiki` and of `dated_facts`, and sets of LAMA probes: `probes`, `ckl_probes`,
`invariant_lama`, `synthetic_probes`, `probe_construction`. A builder reads its raw data with the package of that source
and yields a draft per period. `show` prints a finished set.
"""
