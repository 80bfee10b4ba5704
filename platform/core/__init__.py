"""Foundations of the platform: everything else imports this package, and it imports nothing of ticlm.

Values: `settings` (frozen pydantic models read from YAML), `fingerprint` (their strict hashes), `periods` (timelines),
`mixture` (sources and tokens). Storage: `store` (roots, attempts, records that are written last), `paths` (the layout
of a root), `lease` and `writers` (one writer at a time), `corpus` and `token_rows` (token shards), `examples` (texts
and questions).
Small helpers: `errors`, `progress`, `seeds`, `hashing`, `signals`, `accounting`.

Start with `settings.Settings` and `store.Attempt`.
"""
