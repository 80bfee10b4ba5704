"""Places that vintages are published to: a hub in three layouts, a folder, a bucket.

`place.py` says what each of them promises, and `opened.py` finds the one that a user names. On a hub a vintage is one
commit (`hub_place.py`, by the requests of `hub_repository.py`); in a folder it is renamed when it is whole
(`folder_place.py`); a bucket renames nothing, so a record says there what is whole (`bucket_place.py`).
`tests/platform/publish/places/` asks the same of all of them, and kills them at any request.
"""
