"""Small sets of the changes of a wiki (`wiki-revisions`), for the tests of what is made from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ticlm.core.examples import INFO, Example, ExamplesInfo, PeriodExamples, publish
from ticlm.core.periods import Period, span
from ticlm.core.store import Store


def passage(id: str, title: str, text: str, old: str | None = None) -> Example:
    """Return an added or unchanged passage, or with `old` a revised one; PAGE#N belongs to the article PAGE."""
    about = {"title": title, "article": id.partition("#")[0], "url": "", "begin": "0", "end": f"{len(text)}"}
    return Example(id=id, text=text, about=about if old is None else {**about, "old": old})


def write_changes(folder: str, periods: Mapping[str, Mapping[str, Sequence[Example]]]) -> str:
    """Write a set of changes with these subsets of each period, or add periods to it, and return its folder."""
    store = Store(folder)
    store.create(INFO, ExamplesInfo(name="changes", version="1", recipe="r" * 64).model_dump_json().encode())
    for label, subsets in periods.items():
        start, end = span(label)
        publish(store, PeriodExamples(period=Period(label=label, start=start, end=end), subsets={}), subsets)
    return store.uri()
