"""Write docs/reference.md, the reference of every key of a study and a recipe, from the settings' docstrings.

python docs/reference.py
"""

from __future__ import annotations

from pathlib import Path

from ticlm.platform.cli.reference import page

FILE = Path(__file__).with_name("reference.md")


def main() -> None:
    """Write the page anew."""
    FILE.write_text(page.text())


if __name__ == "__main__":
    main()
