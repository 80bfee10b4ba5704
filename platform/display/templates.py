"""Files of web/, and the templates among them as HTML."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from jinja2 import Template


def asset(name: str) -> Traversable:
    """Return a file of web/."""
    return files("ticlm").joinpath("platform", "display", "web", name)


def html(template: str, **shown: object) -> str:
    """Return a template of web/ as HTML; it can call the macros of text_table.html."""
    return _compiled(template).render(**shown)


@cache
def _compiled(name: str) -> Template:
    from jinja2 import Environment, StrictUndefined

    source = "".join(asset(one).read_text(encoding="utf-8") for one in ("text_table.html", name))
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    return environment.from_string(source)
