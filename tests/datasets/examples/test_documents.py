"""Documents of sets of examples: their texts and pairs, and a corpus that grows with the set it is built from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from builds import hashes

from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError
from ticlm.core.examples import INFO, Example, ExamplesInfo, PeriodExamples, publish
from ticlm.core.fingerprint import fingerprint
from ticlm.core.periods import Calendar, Period, span
from ticlm.core.settings import parse
from ticlm.core.store import Store
from ticlm.datasets.corpus import build
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.examples.documents import ExampleDocuments
from ticlm.datasets.io.documents import Bad, Document, Piece
from ticlm.datasets.text.pairs import BETWEEN

TITLED = {"title": "Lake  Brom\n"}
EXAMPLES = (
    Example("1", "Ann Lee rules Oslo since 4 May 1999.", "Oslo", about=TITLED, question="What does Ann Lee rule? "),
    Example("2", "Bo Ek left on 3 May 2021.", "3 May 2021", source="wiki"),
    Example("3", " "),
    Example("4", "Who?", " ", question=f"Who{BETWEEN}?"),
)


def month(folder: Path, label: str, subsets: Mapping[str, Sequence[Example]]) -> None:
    """Add a period to the set at `folder`."""
    store = Store(folder)
    if not store.exists(INFO):
        info = ExamplesInfo(name="toy", version="1", recipe="toy", external_inputs=("a chat model, as of 202109",))
        store.create(INFO, info.model_dump_json().encode())
    start, end = span(label)
    publish(store, PeriodExamples(period=Period(label=label, start=start, end=end), subsets={}), subsets)


def read(folder: Path, **settings: Any) -> list[Document | Bad]:
    source = parse(ExampleDocuments, {"set": str(folder), "subset": "all", **settings}, "test")
    return [one for entry in source.inputs(Calendar()) for one in source.read(Piece(input=entry))]


def test_a_text_is_dated_by_the_first_day_of_its_period_and_begins_with_its_title(tmp_path: Path) -> None:
    month(tmp_path, "202303", {"all": EXAMPLES[:3]})
    when = datetime(2023, 3, 1, tzinfo=UTC)
    first, second, bad = read(tmp_path)
    assert first == Document("Ann Lee rules Oslo since 4 May 1999.", "1", when, "all") and isinstance(second, Document)
    assert second.source == "wiki", "its own source, where it has one"
    assert bad == Bad("without text", f"{tmp_path}/periods/202303/all:3", when)
    titled = [one.text for one in read(tmp_path, title=True) if isinstance(one, Document)]
    assert titled == ["Lake Brom\nAnn Lee rules Oslo since 4 May 1999.", "\nBo Ek left on 3 May 2021."]
    titled = [one.text for one in read(tmp_path, title=True, title_as="sentence") if isinstance(one, Document)]
    assert titled == ["Lake Brom. Ann Lee rules Oslo since 4 May 1999.", "Bo Ek left on 3 May 2021."]


@pytest.mark.parametrize("others", [{}, {"title": True, "as_pairs": "text"}])
def test_only_a_title_of_a_text_is_joined_as_a_sentence(tmp_path: Path, others: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="title_as: sentence needs title: true, and texts that are no pairs"):
        read(tmp_path, title_as="sentence", **others)


def test_how_a_title_is_joined_is_part_of_what_is_read_only_if_it_is_no_line() -> None:
    line, sentence = (ExampleDocuments(set="x", subset="y", title=True, title_as=how) for how in ("line", "sentence"))
    assert "title_as" in line.without_meaning() and "title_as" not in sentence.without_meaning()
    assert fingerprint(line) != fingerprint(sentence)


def test_a_question_and_its_answer_are_a_pair(tmp_path: Path) -> None:
    month(tmp_path, "202303", {"all": EXAMPLES})
    asked = read(tmp_path, as_pairs="question")
    assert [getattr(one, "reason", "") for one in asked] == ["", *["without question"] * 2, "without an answer"]
    assert isinstance(asked[0], Document) and asked[0].text == f"What does Ann Lee rule?{BETWEEN}Oslo"
    texts = [one.text for one in read(tmp_path, as_pairs="text") if isinstance(one, Document)]
    assert texts == [
        f"Ann Lee rules Oslo since 4 May 1999.{BETWEEN}Oslo",
        f"Bo Ek left on 3 May 2021.{BETWEEN}3 May 2021",
    ]
    month(tmp_path, "202304", {"all": [Example("5", f"Who{BETWEEN}?", "Bo")]})
    assert "parts pairs" in getattr(read(tmp_path, as_pairs="text")[-1], "reason", "")


def recipe(folder: Path, **changes: Any) -> CorpusRecipe:
    given: dict[str, Any] = {
        "name": "toy",
        "version": "1",
        "documents": {"kind": "examples", "set": str(folder), "subset": "all", "title": True},
        "splits": {"eval": 0, "tune": 0},
        "rows": {"kind": "salient-spans", "tagger": "rules", "title": True, "inputs": 64},
        "tokenizer": {"kind": "train", "vocab_size": 400},
        "length": 48,
        "limits": {"bad": 0.5},
        "executor": "process",
    }
    return parse(CorpusRecipe, given | changes, "test")


def built(folder: Path, root: Path, **changes: Any) -> tuple[Corpus, list[str]]:
    told: list[str] = []
    return build.build(recipe(folder, **changes), str(root), told.append), told


def test_a_corpus_grows_by_the_months_that_its_set_grows_by(tmp_path: Path) -> None:
    folder, root = tmp_path / "set", tmp_path / "root"
    month(folder, "202302", {"unchanged": EXAMPLES[:1]})
    month(folder, "202303", {"all": EXAMPLES[:3]})
    corpus, told = built(folder, root)
    before = hashes(corpus)
    assert [*corpus.periods] == ["202303"] and corpus.periods["202303"].dropped["without text"] == 1
    assert corpus.periods["202303"].splits["train"].rows == 2 and any("reading 1 inputs" in line for line in told)
    assert built(folder, root)[1] == ["toy@1: nothing new"]
    month(folder, "202304", {"all": EXAMPLES[:2], "unchanged": EXAMPLES[:1]})
    corpus, told = built(folder, root)
    assert [*corpus.periods] == ["202303", "202304"] and any("reading 1 inputs" in line for line in told)
    after = hashes(corpus)
    assert {name: after[name] for name in before} == before and len(after) > len(before)


def test_pairs_become_rows_of_pairs(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    month(folder, "202302", {"all": EXAMPLES[:1]})
    pairs = {"kind": "examples", "set": str(folder), "subset": "all", "as_pairs": "question"}
    changes = {"documents": pairs, "rows": {"kind": "pairs", "inputs": 40}, "length": 20}
    corpus, _ = built(folder, tmp_path / "root", **changes)
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(corpus.store.read("tokenizer/tokenizer.json").decode())
    (rows,) = corpus.rows("202302", "train").all(10)
    shown = [tokenizer.decode(rows[name][0].tolist(), skip_special_tokens=True) for name in ("inputs", "targets")]
    assert shown == ["What does Ann Lee rule?", "Oslo"]
    assert corpus.info.external_inputs == ("examples toy@1: a chat model, as of 202109",)
    with pytest.raises(InputError, match="rows of kind pairs or sentences and documents of kind"):
        recipe(folder, documents=pairs)


def test_what_is_no_set_or_lacks_the_subset_is_said_in_one_line(tmp_path: Path) -> None:
    for changes, said in (
        ({"set": str(tmp_path / "none")}, "documents.set: .*/none: no examples there"),
        ({"subset": "changed"}, "documents.subset: toy@1 has no subset changed; it has all$"),
    ):
        month(tmp_path / "set", "202303", {"all": EXAMPLES[2:3]})
        with pytest.raises(InputError, match=said) as error:
            read(tmp_path / "set", **changes)
        assert "\n" not in str(error.value)
    with pytest.raises(InputError, match="all: no example of this period is a document; the first: without text"):
        built(tmp_path / "set", tmp_path / "root")


def test_a_period_of_a_set_stands_in_one_period_of_the_corpus(tmp_path: Path) -> None:
    """Or its first month would read of the later ones."""
    month(tmp_path, "202303-202305", {"all": EXAMPLES[:1]})
    source = ExampleDocuments(set=str(tmp_path), subset="all")
    with pytest.raises(InputError, match="period 202303-202305 of toy@1 goes on after 202303 of the corpus"):
        source.inputs(Calendar())
    whole = parse(Calendar, {"initial": "202303..202305", "last": 202305}, "test")
    assert len(source.inputs(whole)) == 1 and source.count_outside(whole) == 0
    later = parse(Calendar, {"initial": 202306, "last": 202306}, "test")
    assert source.inputs(later) == [] and source.count_outside(later) == 1


def test_a_month_that_changed_after_it_was_listed_is_not_read(tmp_path: Path) -> None:
    month(tmp_path, "202303", {"all": EXAMPLES[:1]})
    source = ExampleDocuments(set=str(tmp_path), subset="all")
    (entry,) = source.inputs(Calendar())
    with pytest.raises(InputError, match="202303/all has changed since the build began"):
        list(source.read(Piece(input=entry.model_copy(update={"stamp": "other"}))))
