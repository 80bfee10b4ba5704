"""Photograph reports of six kinds: at three widths, light and dark, in print and without JavaScript.

python docs/screens.py FOLDER [KIND…]      # FOLDER/KIND-WIDTH-THEME.png, and the pages themselves
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from browser import Browser

ROOT = Path(__file__).resolve().parents[1]
WIDTHS = (1440, 1280, 400)
TALLEST = 12_000
"""Most pixels of a picture's height; Chromium draws no more than 16,384."""


def main(arguments: list[str]) -> int:
    """Write the pictures to the folder that is named first; of the kinds that are named after it, or of all."""
    sys.path.insert(0, str(ROOT / "tests/support"))
    from browser import CHROMIUM, Browser
    from report_kinds import kinds

    if not arguments:
        print("screens: name a FOLDER for the pictures: python docs/screens.py FOLDER [KIND…]", file=sys.stderr)
        return 2
    if CHROMIUM is None:
        print("screens: no Chromium here: install chromium or google-chrome", file=sys.stderr)
        return 1
    folder = Path(arguments[0]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        pages = kinds(Path(made))
        unknown = set(arguments[1:]) - set(pages)
        if unknown:
            print(f"screens: no kind {', '.join(sorted(unknown))}; there are {', '.join(pages)}", file=sys.stderr)
            return 2
        with Browser(Path(made) / "profile") as browser:
            for kind in arguments[1:] or pages:
                photograph(browser, folder, kind, pages[kind])
    return 0


def photograph(browser: Browser, folder: Path, kind: str, html: str) -> None:
    """Write the page of one kind and its pictures, and print how large they are and what the page complained of."""
    path = folder / f"{kind}.html"
    path.write_text(html, encoding="utf-8")
    print(f"{kind}: {len(html.encode()):,} bytes")
    for width in WIDTHS:
        for theme in ("light", "dark"):
            browser.open(path, width, dark=theme == "dark")
            whole = browser.whole(folder / f"{kind}-{width}-{theme}.png", TALLEST)
            print(f"  {width} {theme}: {whole} px high", *browser.complaints)
    browser.open(path, 1280)
    browser.print(folder / f"{kind}.pdf")
    browser.open(path, 1280, scripts=False)
    browser.whole(folder / f"{kind}-1280-noscript.png", TALLEST)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
