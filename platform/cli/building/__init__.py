"""Commands for a user's own text: `ticlm init`, and `append` and `update` for one more period; and what a run builds.

`init` prints what platform/proposal chose. `new_files` looks at files before anything is changed: are they new, can
they be read, and up to which period do they reach? `recipe_text` moves the end of the recipe's calendar in its YAML
text and keeps all else as it stands. `commands` does both, builds, and for `update` runs the study; a recipe whose
build fails is written back. `needs` says what a study or a recipe reads that a root lacks, and builds it in order.
"""
