"""An address names a model by its study, method, period and seed; one that fits nothing says what there is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from finished import run

from ticlm.core.errors import InputError
from ticlm.core.progress import SILENT
from ticlm.platform.eval import model_folder, sample
from ticlm.platform.eval.address import Address, FinishedRun, choose, fitting, parse
from ticlm.platform.study.settings import Study
from ticlm.platform.study.stored_rounds import published

FAST = {"base": "cyclic-cosine", "schedule": {"kind": "cosine", "max_rate": 5e-3, "warmup_steps": 1}}
MONTHS = [f"2023{month:02d}" for month in range(1, 13)]
RUNS = (
    FinishedRun("replay-half", 0, {"202301": "a", "202306": "b"}),
    FinishedRun("oracle", 1, {"202307": "c"}),
    FinishedRun("oracle", 2, {"202307": "d"}),
    FinishedRun("ewc", 0, {}),
)
PLANNED = {"replay-half": ["202301", "202306", "202307"], "oracle": ["202307"], "ewc": ["202301"]}


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("demo/replay-half@202306", Address("demo", "replay-half", "202306")),
        ("demo/replay-0.5+ar", Address("demo", "replay-0.5+ar")),
        ("demo/oracle@202307#12", Address("demo", "oracle", "202307", 12)),
        ("my/studies/a.yaml/oracle#-1", Address("my/studies/a.yaml", "oracle", None, -1)),
        ("s3://bucket/a.yaml/ewc@201701-201703", Address("s3://bucket/a.yaml", "ewc", "201701-201703")),
        *((text, None) for text in ("demo", "3f2a", "demo/", "/oracle", "demo@202306", "demo/a@b@c", "a/b#1@2")),
    ],
)
def test_an_address_has_a_study_a_method_and_perhaps_a_period_and_a_seed(text: str, address: Address | None) -> None:
    assert parse(text) == address


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("demo/replay-half@202301", "a"),
        ("demo/replay-half", "b"),  # the newest that is finished
        ("demo/oracle@202307#2", "d"),
        ("demo/oracle#1", "c"),
    ],
)
def test_an_address_names_one_round(text: str, key: str) -> None:
    address = parse(text)
    assert address is not None and choose(address, RUNS, PLANNED) == key


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "demo/replay-halve",
            "demo has no method replay-halve (did you mean replay-half?); finished are demo/replay-half "
            "(202301, 202306); demo/oracle#1 (202307); demo/oracle#2 (202307)",
        ),
        ("demo/replay-half@202307", "demo/replay-half@202307 is not trained yet; finished are demo/replay-half (2"),
        ("demo/replay-half@209901", "demo/replay-half has no checkpoint of 209901; finished are "),
        ("demo/oracle@202307", "demo/oracle has seeds 1, 2: add #1"),
        ("demo/oracle#3", "demo/oracle has no seed 3; its seeds: 1, 2"),
        ("demo/ewc", "demo/ewc is not trained yet; finished are "),
        ("demo/oracle#x", "demo/oracle#x: a seed is a number, got 'x'"),
    ],
)
def test_an_address_that_fits_nothing_says_what_there_is(text: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        address = parse(text)
        assert address is not None
        choose(address, RUNS, PLANNED)
    assert str(refused.value).startswith(said)


def test_many_periods_are_listed_by_their_ends() -> None:
    run = FinishedRun("ewc", 0, {month: month for month in MONTHS})
    with pytest.raises(InputError, match=r"finished are demo/ewc \(202301 … 202312, 12 periods\)"):
        choose(Address("demo", "lwf"), [run], {"ewc": MONTHS})
    with pytest.raises(InputError, match="nothing of this study is finished"):
        choose(Address("demo", "lwf"), [], {"ewc": MONTHS})


@pytest.mark.parametrize(
    ("text", "rounds", "waiting"),
    [
        ("demo/replay-half@*", ["a", "b"], 1),
        ("demo/*@202307", ["c", "d"], 1),
        ("demo/*@*", ["a", "b", "c", "d"], 2),
        ("demo/*", ["b", "c", "d"], 1),  # the newest that is finished of each run
        ("demo/or?cle@2023*#2", ["d"], 0),
    ],
)
def test_a_pattern_names_all_finished_rounds_that_fit_and_counts_the_others(
    text: str, rounds: list[str], waiting: int
) -> None:
    address = parse(text)
    assert address is not None and address.is_pattern
    found, others = fitting(address, RUNS, PLANNED)
    assert [run.rounds[label] for run, label in found] == rounds and others == waiting


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "demo/replay-halv*x@*",
            "demo has no method replay-halv*x (did you mean replay-half?); its methods are replay-half, oracle, ewc",
        ),
        ("demo/*@2022*", "demo/* has no checkpoint of 2022* (did you mean 202307?); its periods are 202301, 202306"),
        ("demo/orac*@*#3", "demo/orac* has no seed 3; its seeds: 1, 2"),
        ("demo/ew*@*", "demo/ew*@*: none of what fits is trained yet; finished are demo/replay-half (202301, 202306)"),
        ("demo/ew*", "demo/ew*: none of what fits is trained yet; finished are "),
    ],
)
def test_a_pattern_that_fits_nothing_says_what_there_is(text: str, said: str) -> None:
    address = parse(text)
    assert address is not None
    with pytest.raises(InputError) as refused:
        fitting(address, RUNS, PLANNED)
    assert str(refused.value).startswith(said)


def test_an_address_without_wildcards_is_no_pattern() -> None:
    address = parse("demo/replay-0.5+ar@201701-201703#1")
    assert address is not None and not address.is_pattern


def test_a_model_in_a_root_is_found_by_its_address(toy_study: Callable[..., Study], toy_root: Path) -> None:
    study = toy_study(methods=[FAST], resources={"trainer": "process", "device": "cpu", "chains": 1})
    file = toy_root.parent / "mine.yaml"
    file.write_text(study.model_dump_json())
    made = run(study, toy_root)
    (only,) = made.tree.runs
    assert made.store is not None
    for label, key in only.rounds.items():
        place = made.store.uri(published(made.store, made.ids[key]))
        assert model_folder.find(str(toy_root), f"{file}/cyclic-cosine@{label}") == place
    assert model_folder.find(str(toy_root), f"{file}/cyclic-cosine") == place
    assert sample.generate(str(toy_root), f"{file}/cyclic-cosine", "w1", 3, 0.0, 0).startswith("w1")
    found = model_folder.matching(str(toy_root), f"{file}/cyclic-*@*")
    assert found is not None and found[1] == 0
    assert {one.period: one.round for one in found[0]} == {at: made.ids[key] for at, key in only.rounds.items()}
    texts = sample.continuations([*found[0], found[0][0]], "w1", 3, 0.0, 0, SILENT)
    assert [f"w1{text}" for text in texts] == [
        sample.generate(str(toy_root), f"{file}/cyclic-cosine@{one.period}", "w1", 3, 0.0, 0)
        for one in [*found[0], found[0][0]]
    ]
    assert model_folder.matching(str(toy_root), f"{file}/cyclic-cosine") is None
    with pytest.raises(InputError, match=f"there are {min(made.ids.values())[:8]} .toy cyclic-cosine at 2023"):
        model_folder.find(str(toy_root), "zzz")


@pytest.mark.parametrize("name", ["", "  ", "\t"])
def test_no_name_is_no_model(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="no model is named"):
        model_folder.find(str(tmp_path), name)
