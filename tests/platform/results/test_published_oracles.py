"""Published Oracles as studies: every row compared with plain loops over the same made-up files."""

import dataclasses
import io
import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from publishedfiles import CUTOFFS, TWELVE, Span, loss, losses, run, write
from reports import tic_lm
from rich.console import Console

from ticlm.core.errors import InputError
from ticlm.platform.analysis.conventions import Preset, named
from ticlm.platform.analysis.summary import summarize
from ticlm.platform.papers.tic_lm.borrowed_reference import relative_to, renamed, with_published_reference
from ticlm.platform.papers.tic_lm.printed import compared
from ticlm.platform.report.page import render
from ticlm.platform.report.page_data import payload
from ticlm.platform.report.report import Report
from ticlm.platform.report.write import as_json, table
from ticlm.platform.results.of_published import CHECKPOINTS, studies
from ticlm.platform.results.published_files import Published, read
from ticlm.platform.results.study_result import StudyResult, TaskMetric


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("published"))


@pytest.fixture(scope="module")
def everything(tree: Path) -> Published:
    return read([str(tree)])


# the rules, by plain loops


def oracle_of(checkpoint: str) -> str:
    return max(cutoff for cutoff in CUTOFFS if cutoff <= checkpoint)


def by_hand(task: str, values: Mapping[str, Mapping[Span, float]], preset: str) -> tuple[float, float, float]:
    """Bwd, ID, Fwd of the Oracle series relative to its last, cell by cell."""
    spans = [s for s in next(iter(values.values())) if not task.startswith("tic-cc") or s[0] in TWELVE]
    rows = [t for t in TWELVE if preset != "paper-1b" or task != "codedocs-pytorch" or t >= "201701"]
    contain = preset == "paper-1b" and not task.startswith("tic-cc")
    claims: dict[Span, str] = {}
    for t in rows:
        past = [s for s in spans if s[0] <= t]
        if past:
            claims.setdefault(max(past), t)
    bwd, own, fwd = [], [], []
    for t in rows:
        for s in spans:
            r = values[oracle_of(t)][s] - values["202407"][s]
            inside = s[0] <= t <= s[1] if contain else claims.get(s) == t
            if inside:
                own.append(r)
            if s[0] > t:
                fwd.append(r)
            elif contain or not inside:
                bwd.append(r)
    means = [sum(cells) / len(cells) if cells else math.nan for cells in (bwd, own, fwd)]
    return means[0], means[1], means[2]


@pytest.mark.parametrize("preset", ["paper", "paper-1b"])
def test_every_row_is_what_plain_loops_over_the_same_files_say(everything: Published, preset: str) -> None:
    (study,) = studies(everything)
    summary = summarize([study], named(preset)).set_index("task")
    accuracy = summary.loc["stackexchange-stackoverflow-accuracy"]  # 0.7 everywhere: no regret
    assert (accuracy["metric"], accuracy["higher_is_better"], accuracy["missing"]) == ("accuracy", True, 0)
    assert [accuracy[mean] for mean in ("backward", "in_distribution", "forward")] == [0, 0, 0]
    values = losses()
    assert list(summary.index[:5]) == ["tic-cc", "tic-cc-wiki", "tic-cc-news", "tic-wiki-diff", "tic-wiki-unchanged"]
    assert set(summary.index) == {*values, "stackexchange-stackoverflow-accuracy"}
    for task in values:
        row = summary.loc[task]
        got = (row["backward"], row["in_distribution"], row["forward"])
        assert got == pytest.approx(by_hand(task, values[task], preset), abs=1e-9, nan_ok=True), task
        assert row["missing"] == 0


def test_the_series_is_carried_to_the_twelve_checkpoints_and_costs_what_it_cost(everything: Published) -> None:
    (study,) = studies(everything)
    assert list(study.checkpoints) == list(CHECKPOINTS) == TWELVE
    row = summarize([study]).iloc[0]
    assert row["tokens"] == pytest.approx(1_158_950_994_464, abs=10)
    assert (row["study"], row["parameters"], row["is_oracle"]) == ("published-1b", 1_439_893_504, True)


def test_core_is_the_plain_mean_of_its_22_accuracies(everything: Published) -> None:
    (study,) = studies(everything)
    assert summarize([study])["core"].unique().tolist() == [pytest.approx(0.25 + 10.5 / 100)]
    fewer = Published(tuple(v for v in everything.values if v.source != "task_3"), everything.steps)
    (short,) = studies(fewer)
    assert summarize([short])["core"].isna().all()
    assert "CORE of the Oracle 202407: 21 tasks, not 22, so no mean" in short.missing


def test_without_the_last_oracle_values_are_raw_and_an_absent_one_is_missing(tmp_path: Path) -> None:
    write(tmp_path, "3b", [c for c in CUTOFFS if c != "202407"])
    (run(tmp_path, "201305", "3b") / "downstream_evals/tic_wiki.json").unlink()
    (study,) = studies(read([str(tmp_path)]))
    summary = summarize([study]).set_index("task")
    assert not summary["relative"].any() and "the Oracle 202407 of 3b is not there" in " ".join(study.missing)
    assert summary.loc["tic-cc", "missing"] == 12  # its own row: 202301 does not stand in for it
    assert summary.loc["tic-wiki-diff", "missing"] == 2 * 16  # and 201403, which 201305 stands for
    assert summary.loc["tic-cc", "parameters"] == 2_796_096_000


def test_core_of_an_earlier_cutoff_says_so_wherever_it_stands(tree: Path, tmp_path: Path) -> None:
    write(tmp_path, "3b", [c for c in CUTOFFS if c != "202407"], core="202301")
    (study,) = studies(read([str(tmp_path)]))
    row = summarize([study]).iloc[0]
    assert (row["core_trained"], row["core_is_last"]) == ("202301", False)
    text, page = terminal(study), page_of([study])
    assert "(at 202301)" in text and "(at 202301)" in page
    (whole,) = studies(read([str(tree)]))
    assert "(at 20" not in terminal(whole) and "(at 20" not in page_of([whole])
    assert summarize([whole])["core_trained"].unique().tolist() == ["202407"]


def test_the_page_and_the_json_count_the_same_missing_cells(tmp_path: Path) -> None:
    write(tmp_path, "3b", [c for c in CUTOFFS if c != "202407"])
    (study,) = studies(read([str(tmp_path)]))
    told = json.loads(as_json(Report([study], named("paper-1b"))))
    page = page_of([study], named("paper-1b"))
    for row in told["summary"]:
        assert row["missing"] > 0
        (line,) = (line for line in told["missing"] if f", {row['task']}, oracle: " in line)
        assert f", oracle: {row['missing']} of " in line and line in page
    assert "published-3b, tic-cc, oracle: 12 of 144 cells are missing (1 more that no mean counts)" in told["missing"]
    assert "published-3b, codedocs-pytorch, oracle: 11 of 99 cells are missing" in " ".join(told["missing"])


def terminal(study: StudyResult) -> str:
    console = Console(file=io.StringIO(), width=200)
    console.print(table(summarize([study]), results=[study]))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def page_of(results: list[StudyResult], preset: Preset | None = None) -> str:
    report = Report(results, preset or named())
    return render(report, payload(report))


def test_another_oracle_can_be_the_reference(everything: Published) -> None:
    (study,) = studies(everything)
    found = relative_to(study, "202301")
    summary = summarize([found]).set_index("task")
    values = losses()["tic-cc"]
    own = [values[oracle_of(t)][t, t] - values["202301"][t, t] for t in TWELVE]
    assert summary.loc["tic-cc", "in_distribution"] == pytest.approx(sum(own) / 12)
    assert "published-1b: regret is relative to the Oracle 202301 (--reference), not to 202407" in found.external_inputs
    assert not summarize([relative_to(study, "raw")])["relative"].any()
    with pytest.raises(InputError, match=r"^--reference 202302: published-1b has no Oracle .* 201305, .*, 202407$"):
        relative_to(study, "202302")


def test_where_the_last_oracle_is_absent_the_report_names_the_one_to_take(tmp_path: Path) -> None:
    write(tmp_path, "3b", [c for c in CUTOFFS if c != "202407"])
    (raw,) = studies(read([str(tmp_path)]))
    (advice,) = (line for line in raw.missing if "--reference" in line)
    cutoff = advice.partition("--reference ")[2].split()[0]
    found = relative_to(raw, cutoff)
    assert cutoff == "202301" and summarize([found])["relative"].all() and found.missing == ()


def test_a_chosen_reference_holds_for_a_study_that_borrows_it(everything: Published) -> None:
    (theirs,) = (relative_to(one, "202101") for one in studies(everything))
    (mine,) = renamed([bare(theirs, "tic-cc@1")], ["tic-cc@1=tic-cc"])
    assert relative_to(mine, "202101") is mine, "it has no Oracle of its own"
    found = with_published_reference(mine, [theirs])
    assert found.reference is not None and found.reference[2] == "202101"
    whole = tic_lm(1, ["tic-cc@1"])
    assert relative_to(whole, "202101").reference == ("oracle", 1, "202101")


def test_sizes_are_studies_of_their_own(tree: Path, tmp_path: Path) -> None:
    write(tmp_path, "3b", ["202407"])
    found = studies(read([str(tree), str(tmp_path)]))
    assert [one.name for one in found] == ["published-1b", "published-3b"]


# beside a study of one's own


def test_a_study_without_a_reference_is_measured_by_the_published_oracle_of_its_size(everything: Published) -> None:
    (theirs,) = studies(everything)
    whole = tic_lm(methods=2, tasks=["tic-cc@1", "wiki-qa@1"], name="mine")
    bare = dataclasses.replace(whole, methods=whole.methods[:-1], reference=None, parameters=theirs.parameters)
    bare = dataclasses.replace(bare, cells=bare.cells[bare.cells["method"] != "oracle"])
    (named_alike,) = renamed([bare], ["tic-cc@1=tic-cc", "tic-cc@1:wiki=tic-cc-wiki"])
    own = with_published_reference(named_alike, [theirs])
    summary = summarize([own, theirs], named("paper"))
    mine = summary[(summary["study"] == "mine") & (summary["method"] == "cyclic-cosine+ar")].set_index("task")
    raw = summarize([named_alike]).set_index(["task", "method"])["in_distribution"].to_dict()
    for task in ("tic-cc", "tic-cc-wiki"):
        column = [loss(task, "202407", (month, month)) for month in TWELVE]
        expected = raw[task, "cyclic-cosine+ar"] - sum(column) / 12
        assert mine.loc[task, "relative"] and mine.loc[task, "in_distribution"] == pytest.approx(expected)
        series = summary[(summary["study"] == "published-1b") & (summary["task"] == task)].iloc[0]
        assert mine.loc[task, "forward_beats_oracle"] == (mine.loc[task, "forward"] < series["forward"])
    assert not mine.loc["wiki-qa@1", "relative"] and mine.loc["wiki-qa@1", "missing"] == 0  # nobody published that
    assert not mine.loc["wiki-qa@1", "forward_beats_oracle"]
    assert any("published-1b (202407)" in line for line in own.external_inputs)


def test_a_study_of_another_size_or_with_a_reference_stays_as_it_is(everything: Published) -> None:
    (theirs,) = studies(everything)
    study = tic_lm(methods=1, tasks=["tic-cc@1"])
    assert with_published_reference(study, [theirs]) is study


def bare(theirs: StudyResult, *tasks: str) -> StudyResult:
    """A study of one method, without an Oracle, of the published size."""
    whole = tic_lm(1, tasks, name="mine")
    cells = whole.cells[whole.cells["method"] != "oracle"]
    return dataclasses.replace(
        whole, cells=cells, methods=whole.methods[:-1], reference=None, parameters=theirs.parameters
    )


def test_why_a_study_is_not_relative_to_a_published_oracle_is_one_line(everything: Published) -> None:
    (theirs,) = studies(everything)
    mine = bare(theirs, "wiki-diff@1", "wiki-qa@1")
    larger = dataclasses.replace(mine, parameters=7)
    (alike,) = renamed([mine], ["wiki-diff@1=tic-wiki-diff"])
    data_source = dataclasses.replace(alike, cells=alike.cells.assign(evaluated="201403"))
    other = dataclasses.replace(alike, metrics={**alike.metrics, "tic-wiki-diff": TaskMetric("bits-per-byte")})
    for study, why in (
        (mine, "it shares no task with published-1b"),
        (data_source, "any period in common"),
        (other, "the same metric"),
        (larger, "its 7 parameters are those of no published Oracle (1,439,893,504)"),
    ):
        found = with_published_reference(study, [theirs])
        assert found.reference is None and found.cells is study.cells
        *_, line = found.external_inputs
        assert line.startswith("mine: values are raw, not relative to a published Oracle: ") and why in line
    related = with_published_reference(alike, [theirs])
    assert related.reference is not None and related.external_inputs[-1].endswith("timeline holds, in tic-wiki-diff")
    assert not summarize([related]).set_index("task").loc["wiki-qa@1", "relative"]


def test_a_study_that_wants_raw_values_keeps_them(everything: Published) -> None:
    (theirs,) = studies(everything)
    (alike,) = renamed([bare(theirs, "tic-cc@1")], ["tic-cc@1=tic-cc"])
    assert with_published_reference(alike, [theirs]).reference is not None
    raw = dataclasses.replace(alike, is_raw=True)
    assert with_published_reference(raw, [theirs]) is raw


def test_only_core_is_imported_as_a_table_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, cutoffs=["202407"])
    for name in ("stackexchange", "tic_wiki", "codedocs"):
        (run(tmp_path, "202407") / f"downstream_evals/{name}.json").unlink()
    (run(tmp_path, "202407") / "ppl_evals/aggregated_ppl_evals.jsonl").unlink()
    done = ticlm("report", "--import", str(tmp_path), "--root", str(tmp_path / "runs"))
    assert done.returncode == 0, done.stderr
    assert "CORE" in done.stdout and "35.5" in done.stdout and "missing" not in done.stdout


def test_a_name_that_fits_no_task_says_which_there_are() -> None:
    study = tic_lm(methods=1, tasks=["tic-cc@1", "stackoverflow@1"])
    with pytest.raises(InputError, match=r"--as x@1=y: .* one of stackoverflow@1, tic-cc@1, tic-cc@1:wiki"):
        renamed([study], ["x@1=y"])
    with pytest.raises(InputError, match="has a task stackoverflow@1 already"):
        renamed([study], ["tic-cc@1=stackoverflow@1"])


def test_a_task_does_not_go_into_a_column_of_another_metric(everything: Published) -> None:
    (theirs,) = studies(everything)
    mine = tic_lm(1, ["wiki-qa@1"])
    with pytest.raises(InputError, match=r"^--as wiki-qa@1=tic-wiki-diff: accuracy and nll cannot share a column$"):
        renamed([mine], ["wiki-qa@1=tic-wiki-diff"], [theirs])
    (kept,) = renamed([mine], ["wiki-qa@1=stackexchange-stackoverflow-accuracy"], [theirs])
    assert set(kept.cells["task"]) == {"stackexchange-stackoverflow-accuracy"}


def test_a_source_that_is_renamed_is_no_split_of_its_own() -> None:
    study = dataclasses.replace(tic_lm(1, ["tic-cc@1"]), splits={"tic-cc@1": "eval"})
    (found,) = renamed([study], ["tic-cc@1:wiki=wiki"])
    assert found.splits == {"tic-cc@1": "eval"}
    (whole,) = renamed([study], ["tic-cc@1=all"])
    assert whole.splits["all"] == "eval"


# the command


def ticlm(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "ticlm.platform", *arguments], capture_output=True, text=True)


def test_the_command_prints_the_summary_of_imported_files(tree: Path, tmp_path: Path) -> None:
    done = ticlm("report", "--import", str(tree), "--preset", "paper-1b", "--json", "--root", str(tmp_path))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert {"answers", "summary", "differences", "ages", "static", "missing", "not_compared", "outside"} == set(told)
    assert len(told["summary"]) == 5 + 9 + 2 and len(told["static"]["published-1b"]) == 23
    row = next(row for row in told["summary"] if row["task"] == "codedocs-pytorch")
    assert (row["backward_cells"], row["in_distribution_cells"], row["forward_cells"]) == (29, 1, 70)
    assert row["backward_std"] is None and "files: 29 of 29" in " ".join(told["outside"])


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([], "name a STUDY, or published evaluations with --import"),
        (["--import", "/nowhere"], "no published evaluation there"),
        (["--import", "{tree}", "--preset", "paper-7b"], "did you mean paper-1b"),
        (["--import", "{tree}", "--as", "a=b"], "--as a=b: expected TASK=NAME"),
    ],
)
def test_a_wrong_command_is_one_line(tree: Path, tmp_path: Path, arguments: list[str], part: str) -> None:
    done = ticlm("report", *(a.format(tree=tree) for a in arguments), "--root", str(tmp_path))
    assert done.returncode == 2 and part in done.stderr and done.stderr.count("\n") == 1, done.stderr


# the files that were really published


@pytest.mark.skipif(not os.environ.get("TICLM_PUBLISHED"), reason="TICLM_PUBLISHED names no folder of the real files")
def test_the_real_files_give_the_27_printed_numbers() -> None:
    found = [one for one in studies(read([os.environ["TICLM_PUBLISHED"]])) if one.name == "published-1b"]
    printed = compared(summarize(found, named("paper-1b")), found).set_index("task").drop("core")
    assert len(printed) == 27
    assert printed["difference"].abs().max() <= 5.1e-4
