"""Answers to single probes, from a study that trains and is scored, to the frame of its results."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from finished import run
from paths import ROOT
from sets import kept_subsets

from ticlm.core.errors import InputError
from ticlm.core.examples import MASK, Example
from ticlm.core.store import Store
from ticlm.platform.eval.prediction_store import read_predictions
from ticlm.platform.results import kept_answers as kept
from ticlm.platform.results.kept_answers import kept_predictions
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.results.study_result import PREDICTION_COLUMNS
from ticlm.platform.run.check import check
from ticlm.platform.run.cleanup import unused
from ticlm.platform.study.plan import make
from ticlm.platform.study.settings import Study
from ticlm.platform.tasks.base import Prediction

METHOD = {"base": "cyclic-cosine", "schedule": {"kind": "cosine", "max_rate": 5e-3, "warmup_steps": 1}}
TASK: dict[str, Any] = {"kind": "generated-answers", "name": "probes", "examples": "toy@1", "tokens": 1, "stop": ""}


def studied(toy_study: Callable[..., Study], **task: Any) -> Study:
    asked = [{**TASK, **task}, {"kind": "answer-ranks", "name": "ranks", "examples": "toy@1", "sets": TASK_SETS}]
    periods = {"initial": "202301", "last": "202302"}
    return toy_study(methods=[METHOD], periods=periods, evaluations=asked, evaluate={"inside": {"every_steps": 3}})


TASK_SETS = [{"subset": "known"}, {"subset": "new"}]


@pytest.fixture
def root(toy_root: Path) -> Path:
    """The toy's root with probes: of each word, which comes next."""
    probes = [Example(f"p{i}", f"w{i} w{i + 1} {MASK}", f"w{i + 2}", outdated=("w0",)) for i in range(1, 9)]
    kept_subsets(toy_root / "examples/toy@1", {"known": probes[:5], "new": probes[5:]})
    return toy_root


def test_every_answer_is_kept_and_agrees_with_its_cells(
    root: Path, toy_study: Callable[..., Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = run(studied(toy_study, sets=TASK_SETS), root)
    result = study_result(made)
    frame = result.predictions
    assert frame is not None
    assert tuple(frame.columns) == PREDICTION_COLUMNS
    assert frame["step"].isna().any() and frame["step"].notna().any(), "models inside rounds are asked too"
    ends = frame[frame["step"].isna() & (frame["task"] == "probes@1")]
    assert ends.groupby(["trained", "label"]).size().to_dict() == {
        (trained, label): n for trained in ("202301", "202302") for label, n in (("known", 5), ("new", 3))
    }
    cells = result.static.set_index(["trained", "task", "source", "metric"])["value"].to_dict()
    for (trained, label), mine in ends.groupby(["trained", "label"]):
        assert cells[trained, "probes@1", label, "exact-match"] == mine["exact"].mean()
        assert cells[trained, "probes@1", label, "f1"] == mine["f1"].mean()
    ranked = frame[frame["step"].isna() & (frame["task"] == "ranks@1")]
    for (trained, label), mine in ranked.groupby(["trained", "label"]):
        for k in (1, 5, 10, 20, 50, 100):
            assert cells[trained, "ranks@1", label, f"p@{k}"] == (mine["rank"] <= k).mean()
    assert result.mid_round is not None and {"exact-match", "p@5"} <= set(result.mid_round["metric"])
    places, reads = list(kept._scored(made)), Counter[str]()

    def read(store: Store, weights: str, key: str) -> list[Prediction]:
        reads[key] += 1
        return read_predictions(store, weights, key)

    other = [(place | {"method": "b"}, weights, key) for place, weights, key in places]
    monkeypatch.setattr(kept, "_scored", lambda _: [*places, *other])
    monkeypatch.setattr(kept, "read_predictions", read)
    twice = kept_predictions(made)
    assert twice is not None and twice.iloc[: len(frame)].equals(frame)
    assert twice.iloc[len(frame) :].reset_index(drop=True).assign(method=frame["method"]).equals(frame)
    assert set(twice["method"]) == {"cyclic-cosine", "b"}
    assert reads.total() == len(places), "what is shared is read once"


def test_the_answers_are_printed_by_checkpoint(
    root: Path, toy_study: Callable[..., Study], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = studied(toy_study, sets=TASK_SETS)
    whole = kept_predictions(run(study, root))
    assert whole is not None
    file = tmp_path / "study.yaml"
    file.write_text(json.dumps(study.model_dump(mode="json")))
    sys.path.insert(0, str(ROOT))
    try:
        from benchmarks.experiments import probes
    finally:
        sys.path.remove(str(ROOT))
    probes.main(["answers", str(file), "--root", str(root), "--set", str(root / "examples/toy@1"), "--ids", "p1", "p8"])
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split()[-1] == "answer" and len(lines) == 2
    for line, name in zip(lines, ("p1", "p8"), strict=True):
        last = whole[(whole["id"] == name) & (whole["trained"] == "202302") & whole["step"].isna()]
        assert line.split()[-2:] == [last[last["rank"].isna()]["text"].item(), f"w{int(name[1:]) + 2}"]
    probes.main(["printed"])
    printed = capsys.readouterr().out
    assert printed.count("differs") == 9, "one of Table 3, one of Table 10, the seven of Table 13"


def test_damaged_predictions_are_found_and_scored_again(root: Path, toy_study: Callable[..., Study]) -> None:
    study = studied(toy_study, sets=TASK_SETS)
    whole = kept_predictions(run(study, root))
    assert whole is not None
    assert check(Store(root))[1] == []
    file = sorted(root.glob("predictions/*/*.parquet"))[0]
    file.write_bytes(file.read_bytes()[:-9])
    (problem,) = check(Store(root))[1]
    with pytest.raises(InputError, match="to score its checkpoint again") as caught:
        kept_predictions(make(study, str(root)))
    assert str(caught.value) == problem and problem.startswith(str(file))
    Store(root).remove(Path(problem.partition("remove ")[2].partition(" ")[0]).relative_to(root).as_posix())
    again = kept_predictions(run(study, root))
    assert again is not None and whole.equals(again)
    assert check(Store(root))[1] == []


def test_predictions_that_no_study_uses_are_listed(root: Path, toy_study: Callable[..., Study]) -> None:
    made = run(studied(toy_study, split="known"), root)
    assert not [path for path, _ in unused(Store(root), [made]) if path.startswith("predictions/")]
    other = make(toy_study(methods=[METHOD], periods={"initial": "202302", "last": "202303"}), str(root))
    assert len([path for path, _ in unused(Store(root), [other]) if path.startswith("predictions/")]) >= 2
