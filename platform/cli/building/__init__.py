"""`ticlm append` and `update`: one more period of a user's own corpus, in one command.

`new_files` looks at the files before anything is changed: are they new, can they be read, and up to which period do
they reach? `recipe_text` moves the end of the recipe's calendar in its YAML text and keeps all else as it stands.
`commands` does both, builds, and for `update` runs the study; a recipe whose build fails is written back.
"""
