"""Changed texts: by default passages as TiC-Wiki has them, or the updated text as sets of wiki-revisions have it."""

from __future__ import annotations

from pathlib import Path

from wikisite import JULY, JUNE, MAY, write

from ticlm.core import settings
from ticlm.core.store import Store
from ticlm.datasets.evalsets import recipe as sets
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe
from ticlm.datasets.examples.context import BuildContext
from ticlm.datasets.wiki.changed_texts import diffed
from ticlm.datasets.wiki.dumps import WikiDumps
from ticlm.datasets.wiki.revised import by_revisions


def test_texts_by_revisions_are_those_of_the_set_that_models_train_on(tmp_path: Path, loop: None) -> None:
    for month, articles in zip("567", (MAY, JUNE, JULY)):
        write(tmp_path, f"w-20160{month}01.xml.bz2", articles)
    examples = {"kind": "wiki-revisions", "wiki": {"dumps": f"{tmp_path}/*.bz2"}, "longer_than": 0}
    given = {"name": "diffs", "version": 1, "examples": examples}
    trained = sets.build(settings.parse(ExampleSetRecipe, given, "recipe"), str(tmp_path / "root"))
    wiki = WikiDumps(dumps=(f"{tmp_path}/*.bz2",))
    inputs = tuple(wiki.files())
    context = BuildContext(Store(tmp_path / "other"), "staging", 0, inputs, frozenset(), print)
    seen = []
    for step in diffed(context, wiki, inputs, by_revisions):
        several = [step.buckets.read(number, step.writers) for number in range(step.buckets.count)]
        texts = {key: value for records in several for key, value in records}
        changed = {key: "\n".join(value["text_changed"]) for key, value in texts.items() if value["text_changed"]}
        rows = trained.read(step.period.label, "changed")
        assert changed == {row.about["title"]: row.text for row in rows}
        seen.append((step.statistics["pages"], texts))
    (counts, june), _ = seen
    assert june["Aba"]["text_unchanged"] == ["Aba is one!\nIt is old.\nEnd.\n***"]
    assert (june["New"]["text_changed"], june["New"]["text_unchanged"]) == (
        ["All new. Of course.\nTwo paragraphs."],
        [],
    )
    assert counts == {"new": 1, "changed": 1, "unchanged": 2, "deleted": 1}
