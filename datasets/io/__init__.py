"""Where data comes from, and how work on it is spread: no package below knows what a document is used for.

`documents` defines Document, Input and the settings of files with dates. Files are found by `listing`, opened by
`fetching` (local or remote, with patience), decompressed by `unpack` and `sevenzip`, and parsed by `records`,
`whole_files` or `csv_rows`, which `formats` chooses by their names. `executor` runs the many small tasks of a build,
`in_process` or on Ray (`ray_map`); `buckets` joins records that do not fit into memory; `lineage` records the inputs
and the code of a result.

Start with `documents`, then `executor`.
"""
