"""How figures look and are written as files; the same figure gives the same bytes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "figure.dpi": 150,
    "font.size": 9,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "ticlm",
}


def save(figure: Figure, path: Path) -> list[Path]:
    """Write `path`.png and `path`.svg; both."""
    files = [path.with_name(f"{path.name}.png"), path.with_name(f"{path.name}.svg")]
    figure.savefig(files[0], metadata={"Software": None})
    figure.set_layout_engine("none")  # it is laid out now; doing so again takes as long as drawing
    figure.savefig(files[1], metadata={"Date": None, "Creator": None})
    return files


def slug(*parts: str) -> str:
    """A name for a file made of parts of any text."""
    return "-".join(re.sub(r"[^\w.]+", "-", part.lower()).strip("-") for part in parts if part)
