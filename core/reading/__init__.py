"""What a user writes, on its way to settings: text into mappings, and names into what they stand for.

`mappings.read` reads YAML and refuses a key that is given twice. `plain.Plain` marks settings that may be written as a
plain text, such as `methods: [cyclic-cosine]`, so that `--set` can change a part of them. `near.hint` finds the name
that was meant. `settings` puts them together and starts from here; `settings_errors` says what is refused.
"""
