"""Proper nouns: found by a pipeline of any kind, once for all, at their characters; never missed in silence."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from sets import PERIOD, kept, measured
from speakers import speaker

from ticlm.core.errors import InputError
from ticlm.core.examples import Example
from ticlm.datasets.evalsets import recipe as benchmark
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe
from ticlm.datasets.examples import word_tags
from ticlm.datasets.examples.word_tags import ProperNouns, WordTagger, marked
from ticlm.datasets.io.ray_map import RayExecutor

pytest.importorskip("spacy")
from taggers import Spans, sentences, trained

NEW = sentences(7, 200)
"""Of another world, whose names no pipeline has seen."""


@pytest.fixture(scope="session")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("pipeline") / "parts")


@pytest.fixture(scope="session")
def english(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("pipeline") / "english", "tagger")


def blank(folder: Path, *parts: str) -> Path:
    import spacy

    made = spacy.blank("en")
    for part in parts:
        made.add_pipe(part)
    made.initialize()
    made.to_disk(folder)
    return folder


class Tagger(WordTagger):
    """Finds the proper nouns of texts."""

    def __call__(self, texts: Sequence[str]) -> list[Any]:
        return [spans for found in super().__call__(texts) for spans in found.values()]


def agreement(found: list[Spans]) -> tuple[float, float]:
    """Precision and recall of words."""
    right = sum(len(set(spans) & set(true)) for spans, (_, true) in zip(found, NEW, strict=True))
    return right / sum(map(len, found)), right / sum(len(true) for _, true in NEW)


@pytest.mark.parametrize("kind, tags", [("pipeline", ("PROPN",)), ("english", ("NNP",))])
def test_names_it_has_never_seen_are_found(request: pytest.FixtureRequest, kind: str, tags: tuple[str, ...]) -> None:
    settings = ProperNouns(pipeline=str(request.getfixturevalue(kind)), tags=tags)
    precision, recall = agreement(Tagger(settings)([text for text, _ in NEW]))
    assert precision > 0.95 and recall > 0.85


def test_spans_are_characters_of_the_text_as_it_is(pipeline: Path) -> None:
    text, names = NEW[0]
    before = "👩‍👩‍👧 𝔘  e\u0301tude\n"
    (plain, shifted, empty) = Tagger(ProperNouns(pipeline=str(pipeline)))([text, before + text, ""])
    assert plain and empty == ()
    moved = [(start - len(before), end - len(before)) for start, end in shifted if start >= len(before)]
    assert [text[start:end] for start, end in moved] == [text[start:end] for start, end in plain]
    assert names


def test_how_many_are_tagged_at_once_changes_nothing(pipeline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [text for text, _ in NEW[:40]]
    tagger = Tagger(ProperNouns(pipeline=str(pipeline)))
    together = tagger(texts)
    assert [list(batch) for batch in word_tags.batches(["aa", "b", "c"])] == [["aa", "b", "c"]]
    monkeypatch.setattr(word_tags, "TAGGED_AT_ONCE", 3)
    assert [list(batch) for batch in word_tags.batches(["aa", "b", "c", "dddd", "", "e"])] == [
        ["aa", "b"],
        ["c"],
        ["dddd"],
        ["", "e"],
    ]
    assert tagger(texts) == together


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.parametrize(
    "actors", [pytest.param(1, marks=pytest.mark.nightly), 2, pytest.param(5, marks=pytest.mark.nightly)]
)
def test_any_number_of_actors_marks_the_same(
    ray_local: None, pipeline: Path, monkeypatch: pytest.MonkeyPatch, actors: int
) -> None:
    monkeypatch.setattr(word_tags, "CHUNK", 32)
    texts = [Example(str(i), text) for i, (text, _) in enumerate(NEW)]
    question = Example("q", NEW[0][0], answer="yes")
    subsets = {"a": texts[:90], "b": [question, *texts[90:]], "none": []}
    ray = RayExecutor()
    nouns = ProperNouns(pipeline=str(pipeline), actors=actors)
    with word_tags.taggers(ray, nouns) as tagging:
        found = marked(tagging, nouns, subsets)
        assert sorted(ray.each(abs, [-1, -2, -3])) == [1, 2, 3], "actors that wait keep no task waiting"
        assert marked(tagging, nouns, subsets) == found
    assert {name: [e.id for e in examples] for name, examples in found.items()} == {
        name: [e.id for e in examples] for name, examples in subsets.items()
    }
    expected = Tagger(ProperNouns(pipeline=str(pipeline)))([text for text, _ in NEW])
    assert [e.nouns for e in (*found["a"], *found["b"][1:])] == expected
    assert found["b"][0] == question, "questions are not read whole"


@pytest.mark.ray
def test_several_actors_work_at_once_and_answers_keep_their_order(ray_local: None, tmp_path: Path) -> None:
    class Meeting:  # in here, as workers cannot import this module
        """Works on nothing before another is there too."""

        def __init__(self, place: str) -> None:
            from pathlib import Path

            self.position = Path(place)

        def __call__(self, item: int) -> tuple[int, int]:
            import os
            import time

            (self.position / str(os.getpid())).touch()
            end = time.monotonic() + 120
            while len(list(self.position.iterdir())) < 2 and time.monotonic() < end:
                time.sleep(0.01)
            return item, len(list(self.position.iterdir()))

    with RayExecutor().workers(Meeting, (str(tmp_path),), 2) as actors:
        found = list(actors.map(range(8)))
    assert found == [(item, 2) for item in range(8)]


@pytest.mark.ray
def test_a_worker_that_cannot_start_ends_the_work_in_one_line(ray_local: None) -> None:
    class Unable:
        def __init__(self, reason: str) -> None:
            from ticlm.core.errors import InputError

            raise InputError(reason)

        def __call__(self, item: int) -> int:
            return item

    with (
        RayExecutor().workers(Unable, ("no such thing",), 2) as actors,
        pytest.raises(InputError, match=r"^no such thing$"),
    ):
        list(actors.map([1, 2]))


def test_a_pipeline_that_is_not_there(tmp_path: Path) -> None:
    for name in ("en_core_web_nowhere", str(tmp_path)):
        with pytest.raises(InputError, match=rf"nouns.pipeline: {name} is neither an installed spaCy package nor the"):
            _ = ProperNouns(pipeline=name).identity


@pytest.mark.parametrize("parts, named", [((), "none"), (("sentencizer",), "sentencizer")])
def test_a_pipeline_that_tags_nothing(tmp_path: Path, parts: tuple[str, ...], named: str) -> None:
    folder = blank(tmp_path / "plain", *parts)
    with pytest.raises(InputError, match=rf"tags no parts of speech: of tagger, .* it has {named}$"):
        _ = ProperNouns(pipeline=str(folder)).identity


def test_tags_that_a_pipeline_never_gives(pipeline: Path, english: Path) -> None:
    with pytest.raises(InputError, match=r"nouns.tags: .*english never gives PROPN; it knows NN, NNP$"):
        _ = ProperNouns(pipeline=str(english)).identity
    with pytest.raises(InputError, match=r"never gives NNP, PROPNS; it knows ADJ, "):
        _ = ProperNouns(pipeline=str(pipeline), tags=("PROPNS", "PROPN", "NNP")).identity


def test_a_damaged_pipeline(tmp_path: Path, pipeline: Path) -> None:
    shutil.copytree(pipeline, tmp_path / "parts")
    (tmp_path / "parts/config.cfg").write_text("[nlp\n")
    with pytest.raises(InputError, match=r"nouns.pipeline: .* cannot be loaded: ") as error:
        _ = ProperNouns(pipeline=str(tmp_path / "parts")).identity
    assert "\n" not in str(error.value)


def test_a_pipeline_is_known_by_what_it_holds_and_not_by_where_it_lies(tmp_path: Path, pipeline: Path) -> None:
    shutil.copytree(pipeline, tmp_path / "moved")
    here, moved = ProperNouns(pipeline=str(pipeline)), ProperNouns(pipeline=str(tmp_path / "moved"), actors=7)
    assert here.identity == moved.identity
    assert here.external_inputs == "proper nouns by en_toy 1.2.3"
    meta = json.loads((tmp_path / "moved/meta.json").read_text())
    (tmp_path / "moved/meta.json").write_text(json.dumps(meta | {"version": "1.2.4"}))
    assert ProperNouns(pipeline=str(tmp_path / "moved")).identity != here.identity
    assert ProperNouns(pipeline=str(pipeline), tags=("PROPN", "NOUN")).identity != here.identity


@pytest.mark.slow
@pytest.mark.ray
def test_from_texts_to_the_perplexity_of_their_nouns(ray_local: None, tmp_path: Path, pipeline: Path) -> None:
    from ticlm.methods.objectives import Causal
    from ticlm.platform.eval.checkpoint import load_checkpoint
    from ticlm.platform.tasks.documents import NounPerplexity

    lines = [{"text": text, "timestamp": "2023-01-05"} for text, _ in NEW[:20]]
    (tmp_path / "texts.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    recipe: dict[str, Any] = {
        "name": "wiki",
        "version": "1",
        "examples": {"kind": "files", "paths": [str(tmp_path / "texts.jsonl")]},
    }
    tagged = recipe | {"nouns": {"pipeline": str(pipeline)}}
    data = benchmark.build(ExampleSetRecipe.model_validate(tagged), str(tmp_path / "root"))
    assert data.info.external_inputs == ("proper nouns by en_toy 1.2.3",)
    by_text = dict(NEW)
    expected = dict(zip(by_text, Tagger(ProperNouns(pipeline=str(pipeline)))(list(by_text))))
    assert {e.text: e.nouns for e in data.read(PERIOD, "all")} == {e["text"]: expected[e["text"]] for e in lines}
    task = NounPerplexity(name="nouns", examples="wiki@1")
    checkpoint = load_checkpoint(speaker(tmp_path / "model", window=200), Causal())
    found = measured(task, checkpoint, data)["nll", ""]
    assert found.n > 20 and found.stderr is not None and found.stderr > 0
    plain = kept(tmp_path / "plain", *(Example(str(i), e["text"]) for i, e in enumerate(lines)))
    with pytest.raises(InputError, match="were never marked"):
        measured(task, checkpoint, plain)
