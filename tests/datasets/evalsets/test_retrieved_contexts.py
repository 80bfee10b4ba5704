"""Sets of questions with contexts: what may be seen, what is found, what is counted, and what is made only once."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dprs import article, make_encoders, question
from pydantic import ValidationError
from rich.console import Console
from sets import kept_subsets

from ticlm.core import settings
from ticlm.core.errors import InputError
from ticlm.core.examples import Example, Examples
from ticlm.core.store import Store
from ticlm.datasets.evalsets import recipe as sets
from ticlm.datasets.evalsets import show
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe
from ticlm.datasets.evalsets.retrieved_contexts import NO_ANSWER, NO_CONTEXT, NO_PASSAGES, RetrievedContexts
from ticlm.datasets.retrieval import passages
from ticlm.datasets.retrieval.encoders import DprEncoders
from ticlm.datasets.retrieval.index import EncodedShards
from ticlm.datasets.retrieval.passages import Passages, PassageSource, Shard, cut, parts_of

MAYORS = {1: "Ada Stone", 2: "Bram Orack", 3: "Cleo Vane", 4: "Dov Ilk", 5: "Eve Roe"}
CHANGES: list[dict[str, Sequence[Example]]] = [
    {"unchanged": [article(n, f"The mayor of Brenford {n} is {name}.") for n, name in MAYORS.items() if n < 4]},
    {"changed": [article(1, "The mayor of Brenford 1 is now Flo Gray, who was elected."), article(4, "Calm seas.")]},
    {"changed": [article(1, "The mayor of Brenford 1 is Hal Ives after a vote."), article(9, "")]},
]
QUESTIONS: list[dict[str, Sequence[Example]]] = [
    {"unchanged": [question("u2", "Who is the mayor of Brenford 2?", "Bram Orack", "So Bram\nOrack rules.", of="2")]},
    {
        "edited": [
            question("e1", "Who is now elected mayor?", "Flo Gray", "Flo Gray now is.", "Ada Stone", of="1"),
            question("e2", "Zzz qqq?", "Nobody"),
        ]
    },
    {"edited": [question("e3", "Which mayor was elected after a vote?", "Hal Ives", "No name.", "Flo Gray", of="1")]},
]


def made(
    root: Path,
    changes: Sequence[Mapping[str, Sequence[Example]]] = CHANGES,
    asked: Sequence[Mapping[str, Sequence[Example]]] = QUESTIONS,
    **changed: Any,
) -> Examples:
    """Build a set below a root, from a set of changes and a set of questions there."""
    kept_subsets(root / "changes", *changes)
    kept_subsets(root / "questions", *asked)
    if changed.get("context", "retrieved") == "retrieved":
        source = PassageSource(set=str(root / "changes"), subsets=("unchanged", "changed"))
        changed = {"passages": (source,)} | changed
    contexts = RetrievedContexts(questions=str(root / "questions"), **changed)
    recipe = ExampleSetRecipe(name="mine", version="1", examples=contexts, executor="process")
    return sets.build(recipe, str(root))


def of(found: Examples) -> dict[str, Example]:
    return {
        example.id: example
        for label, manifest in found.periods.items()
        for name in manifest.subsets
        for example in found.read(label, name)
    }


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    asking, reading = make_encoders(tmp_path_factory.mktemp("encoders"))
    return {"question": asking, "context": reading, "as_of": "202001"}


def test_questions_keep_their_answers_and_get_the_best_passage_of_their_month(tmp_path: Path) -> None:
    built = made(tmp_path, retriever="bm25", words=8)
    found = of(built)
    assert list(built.periods) == ["202301", "202302", "202303"] and set(found) == {"u2", "e1", "e2", "e3"}
    one = found["u2"]
    assert one.text == "context: The mayor of Brenford 2 is Bram Orack.question: Who is the mayor of Brenford 2?"
    assert (one.question, one.answer, one.about["hit"]) == ("Who is the mayor of Brenford 2?", "Bram Orack", "yes")
    assert (one.about["gold-rank"], json.loads(one.about["retrieved"])) == ("1", ["202301/unchanged/2:0"])
    assert json.loads(found["e1"].about["retrieved"]) == ["202302/changed/1:1"], "the name ends in the passage before"
    assert found["e1"].about["hit"] == "no"
    assert (found["e1"].outdated, found["e1"].about["outdated-hit"]) == (("Ada Stone",), "no")
    Console(width=100, file=io.StringIO()).print(show.overview(built))  # no name means something else there
    counts = built.periods["202302"].statistics
    assert counts["answer in the context"] == {"edited": 0} and counts["nothing found"] == {"edited": 1}
    assert counts["rank of a passage of the right article"] == {"edited: 1": 1, "edited: not in the first 1": 1}


def test_a_question_for_which_nothing_is_found_is_asked_without_a_context(tmp_path: Path) -> None:
    one = of(made(tmp_path, retriever="bm25"))["e2"]
    assert one.text == "context: question: Zzz qqq?" and one.about["retrieved"] == "[]" and one.about["hit"] == "no"


@pytest.mark.parametrize(
    ("window", "months"), [("month", {"202301", "202303"}), ("until", {"202301", "202302", "202303"})]
)
@pytest.mark.parametrize("retriever", ["bm25", "dpr"])
def test_no_question_sees_a_later_passage(
    tmp_path: Path, encoders: dict[str, Any], retriever: str, window: str, months: set[str]
) -> None:
    chosen = DprEncoders(**encoders) if retriever == "dpr" else "bm25"
    found = of(made(tmp_path, retriever=chosen, window=window, top=99))
    seen = {name: {one.split("/")[0] for one in json.loads(found[name].about["retrieved"])} for name in found}
    assert seen["u2"] == {"202301"} and seen["e1"] == {"202301", "202302"} and seen["e3"] == months


def test_what_dpr_finds_is_what_brute_force_finds(
    tmp_path: Path, encoders: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passages, "SHARD_ROWS", 2)
    retriever = DprEncoders(**encoders)
    found = of(made(tmp_path, retriever=retriever, words=5, top=4, window="until"))
    texts = [p for months in CHANGES for several in months.values() for one in several for p in cut(one, 5)]
    vectors, _ = retriever.encoded("context", [p.title for p in texts], [p.text for p in texts])
    queries, _ = retriever.encoded("question", None, [found["e3"].question or ""])
    best = np.argsort(-(vectors.astype(float) @ queries[0].astype(float)), kind="stable")[:4]
    ids = [one.split("/", 2)[2] for one in json.loads(found["e3"].about["retrieved"])]
    assert ids == [texts[row].id[1:] for row in best]
    assert found["e3"].text.startswith("context: " + " ".join(texts[row].text for row in best) + "question: ")


def test_a_killed_build_encodes_nothing_twice_and_an_appended_month_only_itself(
    tmp_path: Path, encoders: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passages, "SHARD_ROWS", 1)
    encode, encoded = DprEncoders.encoded, list[str]()

    def counted(self: DprEncoders, side: Any, titles: Any, texts: Sequence[str]) -> Any:
        if side == "context":
            if len(encoded) == 2 and not stopped:
                stopped.append(True)
                raise KeyboardInterrupt
            encoded.extend(texts)
        return encode(self, side, titles, texts)

    stopped: list[bool] = []
    monkeypatch.setattr(DprEncoders, "encoded", counted)
    dense: dict[str, Any] = {"retriever": DprEncoders(**encoders)}
    with pytest.raises(KeyboardInterrupt):
        made(tmp_path, CHANGES[:2], QUESTIONS[:2], **dense)
    first = of(made(tmp_path, CHANGES[:2], QUESTIONS[:2], **dense))
    texts = [one.text for months in CHANGES[:2] for several in months.values() for one in several]
    assert sorted(encoded) == sorted(texts)
    before = len(encoded)
    second = of(made(tmp_path, **dense))
    assert encoded[before:] == ["The mayor of Brenford 1 is Hal Ives after a vote."]
    assert first == {name: example for name, example in second.items() if name in first}
    whole = of(made(tmp_path / "at-once", **dense))
    assert whole == second


@pytest.mark.parametrize(("window", "seen"), [("month", [3, 5, 4]), ("until", [3, 5, 6])])
def test_questions_that_are_asked_again_are_held_against_new_passages_alone(
    tmp_path: Path, encoders: dict[str, Any], monkeypatch: pytest.MonkeyPatch, window: str, seen: list[int]
) -> None:
    read, vectors = list[str](), EncodedShards.vectors

    def noted(self: EncodedShards, shard: Shard) -> Any:
        read.append(shard.part.period)
        return vectors(self, shard)

    monkeypatch.setattr(EncodedShards, "vectors", noted)
    same = [{"unchanged": QUESTIONS[0]["unchanged"]}] * 3
    built = made(tmp_path, asked=same, retriever=DprEncoders(**encoders), window=window, top=99)
    assert read == ["202301", "202302", "202303"]
    (last,) = built.read("202303", "unchanged")
    found = [one.about["retrieved"] for label in built.periods for one in built.read(label, "unchanged")]
    assert [len(json.loads(several)) for several in found] == seen
    alone = made(tmp_path / "alone", asked=[{}, {}, same[0]], retriever=DprEncoders(**encoders), window=window, top=99)
    assert list(alone.read("202303", "unchanged")) == [last]


def test_damaged_vectors_are_named_with_what_to_remove(tmp_path: Path, encoders: dict[str, Any]) -> None:
    dense: dict[str, Any] = {"retriever": DprEncoders(**encoders)}
    made(tmp_path, asked=QUESTIONS[:1], **dense)
    (vectors,) = tmp_path.glob("examples/mine@1/index/*/202301-unchanged-*/00000.npy")
    vectors.write_bytes(vectors.read_bytes()[:-1] + b"\0")
    with pytest.raises(InputError, match=rf"{vectors}: its hash differs.*; remove {vectors.parent} to make them again"):
        made(tmp_path, **dense)
    shutil.rmtree(vectors.parent)
    assert len(made(tmp_path, **dense).periods) > 1


@pytest.mark.parametrize("name", ["passages.json", "00000.json"])
def test_damaged_records_of_an_index_are_named_too(tmp_path: Path, encoders: dict[str, Any], name: str) -> None:
    dense: dict[str, Any] = {"retriever": DprEncoders(**encoders)}
    whole = of(made(tmp_path / "whole", **dense))
    made(tmp_path, asked=QUESTIONS[:1], **dense)
    (record,) = tmp_path.glob(f"examples/mine@1/index/*/202301-unchanged-*/{name}")
    counted = b'"read": ' if name == "passages.json" else b'"size": '
    data = bytearray(record.read_bytes())
    data[data.index(counted) + len(counted)] ^= 1
    record.write_bytes(data)
    said = rf"{record} is damaged \(its own hash differs\); remove {record.parent} to make them again$"
    with pytest.raises(InputError, match=said):
        made(tmp_path, **dense)
    shutil.rmtree(record.parent)
    assert of(made(tmp_path, **dense)) == whole


def test_questions_before_all_passages_are_counted_out(tmp_path: Path) -> None:
    later = [{}, *CHANGES[1:]]
    source = PassageSource(set=str(tmp_path / "changes"), subsets=("changed",))
    built = made(tmp_path, later, retriever="bm25", passages=(source,))
    assert list(built.periods) == ["202302", "202303"]
    (record,) = sets.builds(built.store)
    assert {step.name: step.dropped for step in record.steps}["questions unchanged"] == {NO_PASSAGES: 1}
    assert {step.name: step.dropped for step in record.steps}["texts with passages"] == {passages.NO_WORDS: 1}


def test_gold_contexts_are_the_questions_own(tmp_path: Path) -> None:
    whole = of(made(tmp_path / "whole", context="gold"))
    assert whole["u2"].text == "context: So Bram Orack rules.question: Who is the mayor of Brenford 2?"
    built = made(tmp_path / "window", context="gold-window", window_chars=3, form="{question}|{context}")
    found = of(built)
    assert found["u2"].text == "Who is the mayor of Brenford 2?|So Bram Orack ru"
    assert "retrieved" not in whole["u2"].about and whole["u2"].about["overlap"] == "0.0000"
    assert built.periods["202302"].steps[0].dropped == {NO_CONTEXT: 1}
    assert sets.builds(built.store)[0].steps[0].dropped == {NO_ANSWER: 1}, "no question of the last month is left"


def test_the_identity_is_that_of_recipes_and_weights_and_not_of_paths(tmp_path: Path, encoders: dict[str, Any]) -> None:
    for name in ("a", "b"):
        kept_subsets(tmp_path / name, *CHANGES)

    def identity(folder: str, **changes: Any) -> str:
        source = PassageSource(set=str(tmp_path / folder), subsets=("unchanged",))
        contexts = RetrievedContexts(questions=str(tmp_path / folder), passages=(source,), **changes)
        return ExampleSetRecipe(name="x", version="1", examples=contexts).identity

    dense, other = DprEncoders(**encoders), DprEncoders(**encoders | {"context": encoders["question"]})
    assert identity("a") == identity("b", window_chars=7) != identity("a", words=7)
    assert identity("a", retriever=dense) == identity("a", retriever=dense.model_copy(update={"batch_rows": 3}))
    assert identity("a", retriever=dense) != identity("a", retriever=other)


def test_passages_of_one_example_have_some_words_each_and_their_own_ids() -> None:
    (one, two) = cut(article(7, "a b  c\nd e"), 3, "202301/changed")
    assert [(p.id, p.text, p.title, p.article) for p in (one, two)] == [
        ("202301/changed/7:0", "a b c", "Town 7", "7"),
        ("202301/changed/7:1", "d e", "Town 7", "7"),
    ]


@pytest.mark.parametrize("root", ["local", "memory"])
def test_passages_are_found_by_their_numbers_on_every_store(
    tmp_path: Path, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passages, "SHARD_ROWS", 2)
    kept_subsets(tmp_path / "changes", *CHANGES)
    source = PassageSource(set=str(tmp_path / "changes"), subsets=("unchanged", "changed"))
    store = Store(tmp_path / "store" if root == "local" else f"memory://{tmp_path.name}")
    several = Passages(store, "index", parts_of([source]), 100)
    assert [shard.rows for shard in several.shards] == [2, 1, 2, 1] and len(several) == 6
    assert [several.at([5, 0])[number].article for number in (0, 5)] == ["1", "1"]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({}, "retrieved needs passages"),
        ({"context": "gold", "passages": [{"set": "x", "subsets": ["y"]}]}, "gold reads no passages"),
        ({"context": "gold", "form": "{context}"}, "give each"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(given: dict[str, Any], error: str) -> None:
    with pytest.raises(ValidationError, match=error):
        RetrievedContexts(questions="q", **given)


def test_a_subset_that_no_period_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no subset wrong; it has edited, unchanged"):
        made(tmp_path, subsets=("wrong",))
    source = PassageSource(set=str(tmp_path / "changes"), subsets=("old",))
    with pytest.raises(InputError, match="has no subset old; it has changed, unchanged"):
        made(tmp_path, passages=(source,))


def test_a_set_without_a_question_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"examples\.questions: .*questions has no question in edited$"):
        made(tmp_path, asked=[*QUESTIONS[:1], {"edited": []}], subsets=("edited",))


def test_what_is_no_encoder_is_refused_in_one_line(tmp_path: Path, encoders: dict[str, Any]) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match=r"examples\.retriever\.context: .* holds no encoder of DPR"):
        DprEncoders(**encoders | {"context": str(tmp_path)}).encoded("context", [""], ["x"])
    with pytest.raises(InputError, match=r"question: no/such/encoder: no folder, and no name of a"):
        _ = DprEncoders(**encoders | {"question": "no/such/encoder"}).identity
    swapped = DprEncoders(**encoders | {"context": encoders["question"]})
    with pytest.raises(InputError, match="holds no DPRContextEncoder: it has no weights ctx_encoder"):
        swapped.encoded("context", ["a"], ["x"])
    with pytest.raises(InputError, match="question_tokens must be at most 256 for this encoder, got 300"):
        DprEncoders(**encoders, question_tokens=300).encoded("question", None, ["x"])


def test_encoders_are_declared_where_they_choose_contexts(tmp_path: Path, encoders: dict[str, Any]) -> None:
    built = made(tmp_path, retriever=DprEncoders(**encoders))
    assert built.info.external_inputs == ("passages found by question and context, as of 202001",)
    gold = made(tmp_path / "gold", retriever=DprEncoders(**encoders), context="gold")
    assert gold.info.external_inputs == ()


@pytest.mark.parametrize(
    ("name", "kind", "context"),
    [
        ("evolvingqa-contexts", "dpr", "retrieved"),
        ("evolvingqa-reader", "bm25", "gold-window"),
        ("synthetic-contexts", "bm25", "retrieved"),
    ],
)
def test_the_packaged_recipes_are_the_papers_baseline(name: str, kind: str, context: str) -> None:
    contexts = settings.load(ExampleSetRecipe, name, settings.RECIPES).examples
    assert isinstance(contexts, RetrievedContexts)
    assert (contexts.retriever.kind, contexts.context, contexts.top, contexts.words) == (kind, context, 1, 100)
    assert contexts.form == "context: {context}question: {question}" and contexts.window_chars == 200
