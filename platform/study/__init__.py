"""A study as data: from one YAML file to a tree of rounds and a plan of what is left to do. Nothing runs here.

`settings` and `resources` are the YAML file; `tree` turns a study into rounds (`round`) by a pure function; `identity`
gives each round an id, a hash of everything that reaches its weights; `plan` compares the tree with what is done on a
root (`stored_rounds`), and `chains` cuts what is left into pieces for one group of workers, handed over as `work`.
`data` and `imported_models` find and check the corpora and models that a study names; `mid_round` says after which
steps a round publishes a model before its end; `tables/` has the tables that a study asks its report for.

Start with `settings.Study`, `tree.rounds` and `plan.make`.
"""
