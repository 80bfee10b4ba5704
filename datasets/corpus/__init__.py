"""From a recipe to a corpus: dated documents become shards of token rows, by period and split.

`recipe` (with `splits`, `tokenizers`) says what to build; `build` reads: `staging` puts filtered documents into
`sorted_runs`, `scan_index` lists them. `periods_build` does the rest for a few periods at a time: `merge` joins small
runs, `parts` cuts periods into tasks, `dedup_plan` and `dedup_pass` find what repeats, `tokenize` writes token streams,
`pack` and `shards` write shuffled rows (of masked spans with `salient`). Each step leaves its results on the store, so
a build that was killed continues. `build_records` counts every document; `show`, `show_tables` and `totals` print it.

Start with `recipe`, then `build`.
"""
