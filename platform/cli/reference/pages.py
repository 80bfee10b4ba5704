"""Pages of the documentation that come with the package: links in `src/ticlm/docs` lead to the project's Markdown."""

from __future__ import annotations

import os
import re
from importlib.resources import files
from pathlib import Path

from ticlm.core.errors import InputError
from ticlm.core.reading.near import hint

FIRST = ("README", "first-hour", "manual")
"""Pages that are listed first, in this order."""
LINK = re.compile(r"```.*?```|`[^`\n]*`|!?\[((?:[^\[\]`]|`[^`]*`)*)\]\(([^)\s]+)\)", re.DOTALL)
"""A link or a picture: its words and its target. Code, in which the same characters stand for something else, matches
without either."""


def folder() -> Path:
    """Return the folder of the pages."""
    return Path(str(files("ticlm").joinpath("docs")))


def titles() -> dict[str, str]:
    """Return the pages by name, a page of a folder as `results/ckl`, each with its title."""
    found = {name: _title(path.read_text(encoding="utf-8")) for name, path in _pages().items()}
    return {name: found[name] for name in (*FIRST, *sorted(found.keys() - set(FIRST)))}


def text(page: str) -> str:
    """Return a page as Markdown, whose links lead to other pages and files of the package: of what does not come with
    it, only the words stay. Raises InputError if there is no such page."""
    known = _pages()
    name = page.removeprefix("docs/").removesuffix(".md")
    if name not in known:
        raise InputError(f"docs: no page {page!r}{hint(name, known)}; ticlm docs lists the pages")
    place = known[name]
    written_in = folder().parent if name == "README" else place.parent  # the README lies above the pages

    def packaged(found: re.Match[str]) -> str:
        words, target = found[1], found[2]
        if target is None or re.match(r"\w+:|#", target):
            return found[0]
        path, hash_, anchor = target.partition("#")
        leads_to = os.path.normpath(written_in / path)  # not by the links of a checkout
        if not os.path.exists(leads_to):
            return words
        start = found[0][: -len(f"({target})")]
        return f"{start}({Path(os.path.relpath(leads_to, place.parent)).as_posix()}{hash_}{anchor})"

    return LINK.sub(packaged, place.read_text(encoding="utf-8"))


def _pages() -> dict[str, Path]:
    root = folder()
    found = (path for pattern in ("*.md", "*/*.md") for path in sorted(root.glob(pattern)))
    return {path.relative_to(root).with_suffix("").as_posix(): path for path in found}


def _title(page: str) -> str:
    return next((line.lstrip("# ").strip() for line in page.splitlines() if line.startswith("#")), "")
