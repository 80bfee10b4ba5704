"""TiC-StackExchange: from a site's dump to a set of questions in frames of time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from paths import SHARED
from stacksite import Dump

from ticlm.core.accounting import Step
from ticlm.core.errors import InputError
from ticlm.core.examples import Examples
from ticlm.datasets.evalsets import recipe as benchmark
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe, builds
from ticlm.datasets.evalsets.tic_stackexchange import TicStackExchange
from ticlm.datasets.stackexchange import by_month, threads

CONLANG = SHARED / "stackexchange/conlang.meta.stackexchange.com.7z"
PER_MONTH = (3, 1, 0, 2, 4, 1, 2)
"""Accepted answers of January to July 2020."""


def site(months: int = len(PER_MONTH)) -> Dump:
    """Questions of so many months; each is accepted in its own month, and there is one more without an answer."""
    dump, name = Dump(), 0
    for month, count in enumerate(PER_MONTH[:months], 1):
        for day in range(1, count + 1):
            name += 2
            dump.ask(name - 1, f"2020-{month:02d}-{day:02d}", f"Title {name}", f"Body {name}", accepted=name)
            dump.answer(name, name - 1, f"2020-{month:02d}-{day + 1:02d}", f"Answer {name}")
            dump.vote(name, f"2020-{month:02d}-{day + 2:02d}", 1)
        dump.ask(1000 + month, f"2020-{month:02d}-28", "Nobody knows", "x" * 300)
    return dump


def recipe(*paths: Path, seed: int = 0, **settings: Any) -> ExampleSetRecipe:
    maker: Any = TicStackExchange(paths=tuple(map(str, paths)), **{"site": "toy", "frame_least": 3, **settings})
    return ExampleSetRecipe(name="toy", version="1", examples=maker, seed=seed)


def shown(examples: Examples) -> dict[str, list[tuple[str, str]]]:
    """(id, month) of every example, by period."""
    return {label: [(e.id, e.about["month"]) for e in examples.read(label, "all")] for label in examples.periods}


def hashes(examples: Examples) -> dict[str, str]:
    return {label: period.subsets["all"].sha256 for label, period in examples.periods.items()}


def steps(examples: Examples) -> dict[str, Step]:
    one = Step.sum([record.steps for record in builds(examples.store)])
    return {step.name: step for step in (*one, *Step.sum([p.steps for p in examples.periods.values()]))}


def test_months_become_frames_and_every_question_is_used_or_counted(loop: None, tmp_path: Path) -> None:
    built = benchmark.build(recipe(site().write(tmp_path / "dump")), str(tmp_path))
    assert {label: len(examples) for label, examples in shown(built).items()} == {
        "202001": 3, "202002-202004": 3, "202005": 4
    }  # fmt: skip
    found = steps(built)
    assert (found["questions"].read, found["questions"].dropped) == (20, {"no accepted answer": 7})
    assert (found["frames"].read, found["frames"].dropped) == (13, {"after the last whole frame": 3})
    assert (found["sampling"].read, found["sampling"].kept) == (10, 10)
    assert (found["rows of Posts.xml"].read, found["rows of Posts.xml"].kept) == (33, 33)
    assert {label: (p.period.start.isoformat(), p.period.end.isoformat()) for label, p in built.periods.items()} == {
        "202001": ("2020-01-01", "2020-02-01"),
        "202002-202004": ("2020-02-01", "2020-05-01"),
        "202005": ("2020-05-01", "2020-06-01"),
    }


def test_an_example_is_the_question_with_its_answer(loop: None, tmp_path: Path) -> None:
    built = benchmark.build(recipe(site().write(tmp_path / "dump")), str(tmp_path))
    (example,) = [e for e in built.read("202002-202004", "all") if e.id == "7"]
    assert (example.text, example.answer, example.choices, example.nouns) == (
        "Question Title: Title 8\n\nQuestion Body: Body 8\nAnswer:", "Answer 8", (), None
    )  # fmt: skip
    assert (example.source, dict(example.about)) == (
        "toy", {"site": "toy", "month": "202002", "answer": "8", "binned by": "acceptance"}
    )  # fmt: skip


def test_what_is_counted_of_questions_is_of_those_that_are_not_used_too(loop: None, tmp_path: Path) -> None:
    built = benchmark.build(recipe(site().write(tmp_path / "dump")), str(tmp_path))
    counted = built.periods["202002-202004"].statistics
    assert counted["questions by site"] == {"toy": 6}
    assert counted["questions by month"] == {"202002": 2, "202003": 1, "202004": 3}
    assert {name: n for name, n in counted["questions by answers"].items() if n} == {"0": 3, "1": 3}
    assert {name: n for name, n in counted["questions by characters"].items() if n} == {"0–249": 3, "250–499": 3}
    assert counted["examples binned by"] == {"acceptance": 3}


@pytest.mark.parametrize("packing", [".gz", "7z", "7z apart"])
def test_every_packing_gives_the_same_bytes(packing: str, loop: None, tmp_path: Path) -> None:
    plain = benchmark.build(recipe(site().write(tmp_path / "a")), str(tmp_path / "plain"))
    packed = benchmark.build(recipe(site().write(tmp_path / "b", packing)), str(tmp_path / "packed"))
    assert hashes(packed) == hashes(plain)


def test_a_month_with_too_few_is_left_out_and_one_with_many_is_sampled(loop: None, tmp_path: Path) -> None:
    dump = site().write(tmp_path / "dump")
    chosen = recipe(dump, month_least=2, month_most=2, frame_most=3, last="keep")
    built = benchmark.build(chosen, str(tmp_path))
    assert {label: len(examples) for label, examples in shown(built).items()} == {
        "202001-202004": 3,
        "202005-202007": 3,
    }
    found = steps(built)
    assert found["frames"].dropped == {"in a month with too few": 2}
    assert found["sampling"].dropped == {"over a frame's most": 2, "over a month's most": 3}
    other = benchmark.build(chosen.model_copy(update={"seed": 1}), str(tmp_path / "other"))
    assert shown(other) != shown(built)


def test_the_last_frame_may_be_short(loop: None, tmp_path: Path) -> None:
    built = benchmark.build(recipe(site().write(tmp_path / "dump"), last="keep"), str(tmp_path))
    assert list(built.periods) == ["202001", "202002-202004", "202005", "202006-202007"]
    assert len(shown(built)["202006-202007"]) == 3


def test_a_newer_dump_adds_frames_and_leaves_those_that_stand(loop: None, tmp_path: Path) -> None:
    old = benchmark.build(recipe(site(4).write(tmp_path / "old")), str(tmp_path / "both"))
    assert list(old.periods) == ["202001"]  # April is the last month of this dump, and may not be over
    record = (tmp_path / "both/examples/toy@1/periods/202001/record.json").read_bytes()
    both = benchmark.build(recipe(site().write(tmp_path / "new")), str(tmp_path / "both"))
    assert (tmp_path / "both/examples/toy@1/periods/202001/record.json").read_bytes() == record
    assert hashes(both) == hashes(benchmark.build(recipe(tmp_path / "new"), str(tmp_path / "fresh")))
    assert builds(both.store)[1].steps[-1].dropped == {
        "in or before a frame that stands": 3, "after the last whole frame": 3
    }  # fmt: skip


@pytest.mark.parametrize(("packing", "name"), [("", "new"), ("7z", "toy.example.com")])
def test_a_newer_dump_under_another_name_is_not_taken_for_the_same_site(
    packing: str, name: str, loop: None, tmp_path: Path
) -> None:
    folder = site(4).write(tmp_path / "old")
    old = benchmark.build(recipe(folder, site=""), str(tmp_path))
    before = hashes(old)
    other = site().write(tmp_path / "new", packing)
    with pytest.raises(
        InputError, match=rf"files are of {name} by their names, and the frames that stand are of old"
    ) as e:
        benchmark.build(recipe(other, site=""), str(tmp_path))
    assert "\n" not in str(e.value) and hashes(Examples.open(old.store.uri())) == before
    site().write(folder)
    both = benchmark.build(recipe(folder, site=""), str(tmp_path))
    assert {e.source for label in both.periods for e in both.read(label, "all")} == {"old"}


def test_with_nothing_new_nothing_is_opened(loop: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = recipe(site().write(tmp_path / "dump"))
    built = benchmark.build(made, str(tmp_path))
    monkeypatch.delattr(threads, "rows")
    assert hashes(benchmark.build(made, str(tmp_path))) == hashes(built)


class Killed(Exception):
    pass


KILLS = (("record", 99), ("joined", 8), ("label", 30), ("example_of", 9))


@pytest.mark.parametrize(("stage", "call"), [(stage, call) for stage, last in KILLS for call in (1, last)])
def test_a_build_that_was_killed_goes_on_to_the_same_bytes(
    stage: str, call: int, loop: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = recipe(site().write(tmp_path / "dump"))
    whole = benchmark.build(made, str(tmp_path / "whole"))
    module = by_month if stage == "example_of" else threads
    real, calls = getattr(module, stage), iter(range(1, 10**6))

    def dying(*given: Any) -> Any:
        if next(calls) == call:
            raise Killed
        return real(*given)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(module, stage, dying)
        benchmark.build(made, str(tmp_path / "resumed"))
    resumed = benchmark.build(made, str(tmp_path / "resumed"))
    assert hashes(resumed) == hashes(whole)
    assert [p.model_copy(update={"subsets": {}}) for p in resumed.periods.values()] == [
        p.model_copy(update={"subsets": {}}) for p in whole.periods.values()
    ]
    assert [record.steps for record in builds(resumed.store)] == [record.steps for record in builds(whole.store)]
    assert not (tmp_path / "resumed/examples/toy@1/staging").exists()


@pytest.mark.parametrize(
    ("missing", "settings", "said"),
    [
        ("Posts", {}, "no row of Posts.xml"),
        ("PostHistory", {}, "no row of PostHistory.xml; questions as they stood need it"),
        ("Votes", {}, "no row of Votes.xml, for bin_by: acceptance"),
        ("Votes", {"bin_by": "answer", "choices": "two"}, "no row of Votes.xml, for votes: as_of"),
    ],
)
@pytest.mark.parametrize("packing", ["", "7z"])
def test_a_table_that_is_needed_and_missing_is_an_error(
    missing: Any, settings: dict[str, Any], said: str, packing: str, loop: None, tmp_path: Path
) -> None:
    dump = site()
    dump.tables[missing].clear()
    folder = dump.write(tmp_path / "dump", packing)
    (folder / f"{missing}.xml").unlink(missing_ok=True)
    with pytest.raises(InputError, match=said) as told:
        benchmark.build(recipe(folder, **settings), str(tmp_path))
    assert "\n" not in str(told.value)


def test_without_votes_answers_give_the_months_where_that_is_asked_for(loop: None, tmp_path: Path) -> None:
    folder = site().write(tmp_path / "dump")
    (folder / "Votes.xml").unlink()
    built = benchmark.build(recipe(folder, bin_by="answer"), str(tmp_path))
    assert list(built.periods) == ["202001", "202002-202004", "202005"]


def test_a_table_that_is_there_twice_is_an_error(loop: None, tmp_path: Path) -> None:
    one, two = site().write(tmp_path / "one"), site().write(tmp_path / "two", ".gz")
    with pytest.raises(InputError, match=r"Post\w*\.xml is in .*one/Post\w*\.xml and in .*two/Post\w*\.xml\.gz"):
        benchmark.build(recipe(one, two), str(tmp_path))
    with pytest.raises(InputError, match=r"files of 2 sites \(one, two\)"):
        benchmark.build(recipe(one, two, site=""), str(tmp_path / "other"))


def test_a_site_without_an_accepted_answer_gives_no_set(loop: None, tmp_path: Path) -> None:
    dump = Dump()
    dump.ask(1, "2020-01-05", "Why?", "Tell.")
    dump.vote(1, "2020-01-05")
    with pytest.raises(InputError, match=r"no example came of its inputs.*1 no accepted answer"):
        benchmark.build(recipe(dump.write(tmp_path / "dump")), str(tmp_path))


def test_where_files_lie_is_no_part_of_the_identity(tmp_path: Path) -> None:
    here, there = recipe(tmp_path / "a"), recipe(tmp_path / "b")
    assert here.identity == there.identity != recipe(tmp_path / "a", votes="final").identity


@pytest.mark.ray
def test_ray_gives_the_bytes_of_a_loop(ray_local: None, tmp_path: Path) -> None:
    folder = site().write(tmp_path / "dump")
    on_ray = benchmark.build(recipe(folder), str(tmp_path / "ray"))
    with pytest.MonkeyPatch.context() as patch:
        from builds import without_ray

        without_ray(patch)
        assert hashes(benchmark.build(recipe(folder), str(tmp_path / "loop"))) == hashes(on_ray)


@pytest.mark.skipif(not CONLANG.exists(), reason="no shared data")
def test_a_real_site_is_used_or_counted_to_the_last_row(loop: None, tmp_path: Path) -> None:
    built = benchmark.build(recipe(CONLANG, site="", last="keep"), str(tmp_path))
    assert {label: period.subsets["all"].rows for label, period in built.periods.items()} == {
        "201802": 5, "201803-201805": 3, "201812-202007": 3
    }  # fmt: skip
    read = {name: (step.read, step.kept) for name, step in steps(built).items()}
    assert read == {
        "rows of Posts.xml": (177, 169),
        "rows of PostHistory.xml": (450, 329),
        "rows of Votes.xml": (1119, 1076),
        "answers": (115, 115),
        "questions": (54, 11),
        "frames": (11, 11),
        "sampling": (11, 11),
    }
    (example,) = [e for e in built.read("201802", "all") if e.id == "1"]
    title = "Are questions asked in conlangs accepted on this site?"
    assert example.text.startswith(f"Question Title: {title}\n\nQuestion Body: We anticipate conlang specialists")
    assert "\r" not in example.text and example.source == "conlang.meta.stackexchange.com"


@pytest.mark.skipif(not CONLANG.exists(), reason="no shared data")
def test_clear_winners_of_a_real_site(loop: None, tmp_path: Path) -> None:
    built = benchmark.build(recipe(CONLANG, frame_least=1, choices="two", last="keep"), str(tmp_path))
    votes = {e.id: e.about["votes"] for label in built.periods for e in built.read(label, "all")}
    assert votes == {"1": "21, -5", "9": "13, 0", "73": "4, -1"}
    assert steps(built)["questions"].dropped == {"no accepted answer": 43, "no clear winner": 1, "no other answer": 7}
