"""From a recipe to a corpus: dated documents become shards of token rows, by period and split.

`recipe` (with `splits`, `tokenizers`) says what to build; `build` runs the steps: `staging` reads and filters documents
into `sorted_runs`, `merge` joins small runs, `parts` cuts periods into tasks, `dedup_plan` and `dedup_pass` find what
repeats, `tokenize` writes token streams, `pack` writes shuffled rows. Each step leaves its results on the store, so a
build that was killed continues. `build_records` counts every document; `show`, `show_tables` and `totals` print it.

Start with `recipe`, then `build`.
"""
