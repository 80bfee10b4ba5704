"""ticlm: time-continual language modelling on Ray.

`ticlm.open("runs")` opens a root in a notebook (docs/notebook.md). It is loaded when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ticlm.platform.notebook.open_root import open_root

    open = open_root

__version__ = "0.2.0"
__all__ = ["__version__"]  # not `open`: a star import would hide Python's own


if not TYPE_CHECKING:  # a checker shall know that there is nothing else

    def __getattr__(name: str) -> Any:
        if name == "open":
            from ticlm.platform.notebook.open_root import open_root

            globals()["open"] = open_root
            return open_root
        raise AttributeError(f"module 'ticlm' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), "open"]
