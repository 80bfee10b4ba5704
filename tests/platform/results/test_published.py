"""Reading files in the published format: what is kept, and what is left out under which reason."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from publishedfiles import ACCURACY, run, write

from ticlm.core.errors import InputError
from ticlm.platform.results.of_published import studies
from ticlm.platform.results.published_files import Published, read


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("published"))


@pytest.fixture(scope="module")
def everything(tree: Path) -> Published:
    return read([str(tree)])


def changed(tmp_path: Path, **icl: Any) -> Published:
    """One run whose codedocs.json has only these labels."""
    write(tmp_path, cutoffs=["201501"])
    file = run(tmp_path, "201501") / "downstream_evals/codedocs.json"
    file.write_text(json.dumps({"creation_date": "2024", "eval_metrics": {"icl": icl}}))
    return read([str(tmp_path)])


def test_labels_that_cannot_be_understood_are_counted_under_a_reason(tmp_path: Path) -> None:
    odd = {
        "numpy_201706": 3.0,
        "numpy_201806": math.nan,
        "numpy_201807": "3.0",
        "numpy_201901": 10**400,
        "numpy_201808": 0.5,
        "numpy_201813": 3.0,
        "numpy": 3.0,
        "wiki_diff_20150101_20160101": 3.0,
        "numpy_201809_LanguageCrossEntropy": 3.0,
        f"math_20150101_20150630_{ACCURACY}": 1.5,
    }
    steps = {step.name: step for step in changed(tmp_path, **odd).steps}
    step = steps["labels of downstream_evals"]
    assert step.dropped == {
        "no number": 3,
        "a number outside 1 … inf": 1,
        "a date that does not exist": 1,
        "an unknown label": 1,
        "dates out of order": 1,
        "an unknown metric": 1,
        "a number outside 0 … 1": 1,
    }
    assert step.kept == step.read - 9 == 142 + 32 + 1


@pytest.mark.parametrize(("second", "reason"), [(3.0, "an older copy"), (4.0, "copies that contradict each other")])
def test_a_label_that_stands_twice_in_a_file_is_counted(tmp_path: Path, second: float, reason: str) -> None:
    write(tmp_path, cutoffs=["201501"])
    file = run(tmp_path, "201501") / "downstream_evals/codedocs.json"
    icl = f'{{"numpy_201706": 3.0, "numpy_201801": 2.0, "numpy_201706": {second}}}'
    file.write_text(f'{{"eval_metrics": {{"icl": {icl}}}}}')
    found = read([str(tmp_path)])
    assert found.steps[2].read == 142 + 32 + 3
    assert found.steps[2].dropped == {reason: 1 if second == 3.0 else 2}
    kept = {v.evaluated: v.value for v in found.values if v.task == "codedocs-numpy"}
    assert kept == {"201801": math.log(2)} | ({"201706": math.log(3)} if second == 3.0 else {})


def test_runs_of_two_budgets_do_not_pass_for_one_series(tmp_path: Path) -> None:
    write(tmp_path, cutoffs=["201501"])
    write(tmp_path, "3b", cutoffs=["201501"])  # another size is another series
    run(tmp_path, "201501", "3b").rename(tmp_path / "3b_2x_cutoff201501")
    assert len(studies(read([str(tmp_path)]))) == 2
    (tmp_path / "3b_2x_cutoff201501").rename(tmp_path / "1b_2x_cutoff201501")
    with pytest.raises(InputError, match=r"a run 1b_8x, beside runs 1b_2x; give the folders of one budget"):
        read([str(tmp_path)])


def test_files_of_which_nothing_can_be_used_are_one_line_with_the_reasons(tmp_path: Path) -> None:
    folder = run(tmp_path, "201501") / "downstream_evals"
    folder.mkdir(parents=True)
    (folder / "codedocs.json").write_text('{"eval_metrics": {"icl": {"numpy_201706": null, "numpy": 2.0}}}')
    (folder.parent / "notes.txt").write_text("…")
    with pytest.raises(InputError, match=r"^--import: no published value can be used: .*1 of 2 left out, no number"):
        studies(read([str(tmp_path)]))


def appended(tmp_path: Path, *more: str) -> Published:
    """One run whose lines are followed by these."""
    write(tmp_path, cutoffs=["201501"])
    with (run(tmp_path, "201501") / "ppl_evals/aggregated_ppl_evals.jsonl").open("a") as file:
        file.write("".join(more))
    return read([str(tmp_path)])


def line(**changes: Any) -> str:
    held_out = ["s3://b/monthly/201403/global_shard_10_of_10/00000001.tar"]
    return json.dumps({"loss": 9.0, "val_data": held_out, "creation_time": "2024_12_01-00_00_00"} | changes) + "\n"


def value(found: Published, task: str = "tic-cc", evaluated: str = "201403") -> list[float]:
    return [v.value for v in found.values if (v.task, v.evaluated, v.cutoff) == (task, evaluated, "201501")]


def test_of_partials_that_were_concatenated_the_last_one_counts(tmp_path: Path) -> None:
    found = appended(tmp_path, line(), line(loss=8.0, creation_time="2023_01_01-00_00_00"))
    assert value(found) == [9.0]
    assert found.steps[1].dropped == {"an older copy": 2} and found.steps[1].read == 41


def test_copies_that_contradict_each_other_are_no_value(tmp_path: Path) -> None:
    found = appended(tmp_path, line(), line(loss=8.0))
    assert value(found) == []
    assert found.steps[1].dropped == {"copies that contradict each other": 3}


def test_lines_that_are_no_held_out_set_are_counted(tmp_path: Path) -> None:
    wrong = [
        line(val_data=[f"s3://b/{path}/00000001.tar"])
        for path in (
            "monthly/201403/global_shard_01_of_10",  # what models were trained on
            "tic_wiki/201403/global_shard_10_of_10",
        )
    ]
    found = appended(tmp_path, *wrong, line(loss=None), "[1]\n", "\n", line()[:40])
    assert found.steps[1].dropped == {
        "its val_data is not one held-out set of TiC-CC": 3,
        "no number": 1,
        "not JSON": 1,
    }
    assert found.steps[1].kept == 39


def test_files_of_something_else_are_counted_and_an_unknown_cutoff_is_no_run(tmp_path: Path) -> None:
    write(tmp_path, cutoffs=["201501", "201306"])
    (tmp_path / "README.md").write_text("…")
    (run(tmp_path, "201501") / "params.txt").write_text("…")
    found = read([str(tmp_path)])
    reasons = {"a cutoff that is no month of TiC-CC": 4, "not an evaluation file": 2}
    assert found.steps[0].dropped == reasons
    (study,) = studies(found)
    assert "files: 4 of 10 left out, a cutoff that is no month of TiC-CC" in study.missing


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"eval_metrics": {"icl": {"numpy_201706": 3.', "cut off, or no JSON"),
        ('{"results": {}}', "expected eval_metrics.icl"),
        ("[]", "expected eval_metrics.icl"),
    ],
)
def test_a_downstream_file_that_is_cut_off_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    write(tmp_path, cutoffs=["201501"])
    (run(tmp_path, "201501") / "downstream_evals/codedocs.json").write_text(text)
    with pytest.raises(InputError, match=message) as error:
        read([str(tmp_path)])
    assert "codedocs.json" in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("path", ["", "not/there", "s4://nowhere/x"])
def test_a_path_without_evaluations_is_one_line(tmp_path: Path, path: str) -> None:
    with pytest.raises(InputError, match="--import"):
        read([path if "://" in path else str(tmp_path / path)])


def test_all_that_is_read_is_kept_or_counted(everything: Published) -> None:
    steps = {step.name: step for step in everything.steps}
    assert steps["files"].read == steps["files"].kept == 7 * 4 + 1
    assert steps["lines of ppl_evals"].read == steps["lines of ppl_evals"].kept == 7 * 39
    assert steps["labels of downstream_evals"].read == 7 * (142 + 32 + 27) + 22
    assert sum(step.kept for step in everything.steps[1:]) == len(everything.values)


def test_accuracies_are_kept_beside_the_perplexities_they_come_with(everything: Published) -> None:
    dated = [v for v in everything.values if v.evaluated]
    accuracies = [v for v in dated if v.task == "stackexchange-stackoverflow-accuracy"]
    assert len(accuracies) == 7 * 22 and {(v.metric, v.value) for v in accuracies} == {("accuracy", 0.7)}
    assert all(v.metric == "nll" for v in dated if v not in accuracies)


# names of folders, and what is not understood


@pytest.mark.parametrize(
    "name",
    [
        "oracles_1b_220b/oracle_1b_8x_cutoff201501",  # as released, of both sizes
        "oracles_3b_220b/3b_oracle_cutoff_201501",
        "1b_8x_cutoff201501",
        "3b_cutoff_201501",
    ],
)
def test_a_run_is_known_by_the_name_of_its_folder(tmp_path: Path, name: str) -> None:
    write(tmp_path / "a", cutoffs=["201501"])
    (tmp_path / "b" / name).parent.mkdir(parents=True)
    run(tmp_path / "a", "201501").rename(tmp_path / "b" / name)
    found = read([str(tmp_path / "b")])
    assert {(v.size, v.cutoff) for v in found.values} == {("3b" if "3b" in name else "1b", "201501")}
    assert [step.dropped for step in found.steps] == [{}] * 3 and found.warnings == ()


def test_a_folder_of_which_half_is_not_understood_is_warned_about(tmp_path: Path) -> None:
    write(tmp_path, cutoffs=["201501", "201701"])
    kept = read([str(tmp_path)])
    odd = run(tmp_path, "201701").parent / "oracle_until_201701"
    run(tmp_path, "201701").rename(odd)
    found = read([str(tmp_path)])
    assert kept.warnings == () and len(found.values) < len(kept.values)
    (line,) = found.warnings
    assert line.startswith(f"--import {tmp_path}: 4 of 8 files were not understood, for example {odd}/downstream_evals")
    (study,) = studies(found)
    assert study.missing[0] == line, "it stands on top of what is missing, on the page and in the JSON"


def test_lines_and_labels_of_which_half_is_not_understood_are_warned_about(tmp_path: Path) -> None:
    write(tmp_path, cutoffs=["201501"])
    for name in ("stackexchange", "tic_wiki", "codedocs"):
        icl = {"numpy_201706": 3.0, f"{name} 2017": 3.0}
        file = run(tmp_path, "201501") / f"downstream_evals/{name}.json"
        file.write_text(json.dumps({"eval_metrics": {"icl": icl}}))
    (line,) = read([str(tmp_path)]).warnings
    assert "3 of 6 labels of downstream_evals were not understood, for example codedocs 2017 of " in line
