"""What one may write: every key of studies, recipes, examples, tasks and report presets.

`meanings` reads what a key means: the docstring under its field, which is the one place where that is said. `files`
lists the kinds of files. From both come `schema`, the JSON schema for editors; `resolved`, a file as it will run; and
`page`, the Markdown of docs/reference.md. `tiers` has the keys that the last two give first. `bare_names` has the names
of what is packaged, `names` also what each stands for; `parts` shows what is no file, and `stored` lists what lies in a
root. Start with `meanings`.
"""
