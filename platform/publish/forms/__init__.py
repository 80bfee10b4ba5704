"""Forms of certificates: JSON documents that other tools read, and signatures that they check.

`statement` is an in-toto statement: files by their hashes, and a predicate, something that is said about them.
`provenance` is the predicate of SLSA that says how they were made. `croissant` describes a corpus. `signing` signs a
folder and checks what it finds there, with OpenSSF's model-signing, for the `signers` of a setting. `documents` makes
the bytes of all of them, the same each time, and holds their JSON schemas.
"""
