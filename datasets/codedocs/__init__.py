"""Documentation of software projects, release by release, as plain-text pages.

`pages` is the interface: DocPages reads the pages of one release; start there. `releases` holds versions and dates, and
finds sources on a package index. `archives` reads folders and archives file by file. The formats are `rst` and
`doctree` (reStructuredText), `docstrings` (Python sources) and `sphinx_html` (HTML that Sphinx built).
"""
