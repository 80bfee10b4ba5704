"""Documentation and changelogs of packages, release by release, from a package index.

`documents` is the source; start there. `releases` chooses which releases are read, `sdists` fetches one and reads its
pages and its licence. `markdown` cuts a page of Markdown into paragraphs as `codedocs.rst` does a page of
reStructuredText, and `new_text` keeps the paragraphs that no earlier release had. `licences` tells permissive licences.
"""
