"""What a report was asked for and what was run: its folder, its commands, the round of every number."""

import dataclasses
import itertools
import json
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from paths import ROOT

from ticlm.core import settings
from ticlm.core.fingerprint import fingerprint
from ticlm.core.integrity.records import Record
from ticlm.platform.analysis.conventions import named
from ticlm.platform.report.commands import row_command, run_command
from ticlm.platform.report.provenance import code_lines, git_revision, study_runs
from ticlm.platform.report.request import ReportRequest, set_lines
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.results.setup import StudyRequest, differences
from ticlm.platform.results.study_result import StudyResult, tidy
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study import settings as studies
from ticlm.platform.study.settings import Study

STANDARD = named()


@pytest.fixture(scope="module")
def reported(toy_template: Path, toy_study: Callable[..., Study], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with a finished study of two months, and its file beside it."""
    import shutil

    from toys import TOY_STUDY

    folder = tmp_path_factory.mktemp("asked")
    shutil.copytree(toy_template, folder / "root")
    periods = {"initial": "202301", "last": "202302"}
    methods = [*TOY_STUDY["methods"][:2], {"base": "oracle", "cutoffs": ["202302"]}]
    (folder / "toy.yaml").write_text(json.dumps(TOY_STUDY | {"periods": periods, "methods": methods}))
    made = plan.make(studies.load(str(folder / "toy.yaml")), str(folder / "root"))
    driver.train(made)
    driver.evaluate(made)
    return folder


def result(folder: Path, *sets: str) -> StudyResult:
    """The study as `ticlm report` reads it, with these changes of settings."""
    name, root = str(folder / "toy.yaml"), str(folder / "root")
    return study_result(plan.make(studies.load(name, sets), root), StudyRequest(name, sets, root))


def folder_of(*results: StudyResult, preset: str = "standard", **asked: tuple[str, ...]) -> str:
    return ReportRequest(preset=preset, **asked).folder(results, named(preset))  # type: ignore[arg-type]


def test_a_report_of_changed_settings_has_a_folder_of_its_own(reported: Path) -> None:
    plain = result(reported)
    own = folder_of(plain)
    assert own.startswith("reports/toy-") and own == folder_of(result(reported))
    others = [
        folder_of(result(reported, "reference=raw")),
        folder_of(result(reported, "evaluate.periods=[202301]")),
        folder_of(plain, imports=("published/",)),
        folder_of(plain, names=("perplexity@1=tic-cc",)),
        folder_of(plain, preset="paper"),
        folder_of(plain, dataclasses.replace(plain, name="other")),
    ]
    assert len({own, *others}) == 7
    assert folder_of(result(reported, "resources.threads=2")) == own, "resources change no number"


def test_what_was_set_is_told_as_typed_and_as_a_difference(reported: Path) -> None:
    study = result(reported, "reference=raw", "methods.0.schedule.max_rate=5e-3")
    assert study.setup is not None and study.setup.changed == ("reference: null → raw",)  # 5e-3 stands in the file
    (line,) = set_lines([study])
    assert line == "toy: --set reference=raw --set methods.0.schedule.max_rate=5e-3 (reference: null → raw)"
    assert set_lines([result(reported)]) == []
    old = {"a": 1, "b": [{"name": "x"}, {"name": "y"}], "c": {"d": 1.0}}
    new = {"a": 1, "b": [{"name": "x"}], "c": {"d": 2.0}}
    assert list(differences(old, new)) == ['b: ["x", "y"] → ["x"]', "c.d: 1.0 → 2.0"]


def test_every_number_names_the_round_that_it_is_of(reported: Path) -> None:
    study = result(reported)
    made = plan.make(studies.load(str(reported / "toy.yaml")), str(reported / "root"))
    rows = tidy([study])
    for run in made.tree.runs:
        for label, key in run.rounds.items():
            mine = rows[(rows["method"] == run.method.name) & (rows["trained"] == label)]
            assert len(mine) and set(mine["round"]) == {made.ids[key]}
    assert set(tidy([dataclasses.replace(study, setup=None)])["round"]) == {""}
    assert "compute" not in rows and study.setup is not None
    rounded = dataclasses.replace(study, setup=dataclasses.replace(study.setup, compute="bfloat16"))
    assert set(tidy([rounded])["compute"]) == {"bfloat16"}


def test_the_page_says_what_was_run(reported: Path) -> None:
    study = result(reported, "reference=raw")
    (run,) = study_runs([study])
    facts = dict(run.facts)
    assert facts["Changed with --set"] == "reference: null → raw" and facts["Reference"].startswith("none")
    assert facts["Model"].startswith("tiny, ") and facts["Tokenizer"].startswith("toy, 64 tokens")
    assert facts["Corpus"].startswith("toy@1: 2 periods (202301 to 202302), ")
    assert facts["Evaluations"] == "perplexity@1 (split eval)" and facts["Scored in"] == "float32"
    assert facts["Newest round"] == max(r.created for r in made_records(reported))
    ids = dict(run.rounds)
    assert ids.keys() == {
        "cyclic-cosine@202301",
        "cyclic-cosine@202302",
        "replay-half@202301",
        "replay-half@202302",
        "oracle@202302",
    }
    assert all(list((reported / "root/rounds").glob(f"{short}*")) for short in ids.values())
    (reported / "again.yaml").write_text(run.settings)
    assert studies.load(str(reported / "again.yaml")) == studies.load(str(reported / "toy.yaml"), ["reference=raw"])


def made_records(folder: Path) -> list[Record]:
    made = plan.make(studies.load(str(folder / "toy.yaml")), str(folder / "root"))
    return list(made.records.values())


def test_the_command_of_a_row_is_that_method_and_its_reference_and_finds_all_done(reported: Path) -> None:
    study = result(reported, "batch_rows=4")
    command = row_command(study, study.methods[1])
    assert command is not None and study.setup is not None
    words = shlex.split(command)
    assert words[:3] == ["ticlm", "run", str(reported / "toy.yaml")] and words[-2:] == [
        "--root",
        str(reported / "root"),
    ]
    sets = [after for word, after in itertools.pairwise(words) if word == "--set"]
    assert sets[0] == "batch_rows=4"
    alone = plan.make(studies.load(words[2], sets), words[-1])
    assert [method.name for method in alone.study.methods] == ["replay-half", "oracle"]
    assert not alone.pending() and study_result(alone).reference == study.reference
    assert run_command(study.setup) == shlex.join([*words[:3], "--set", "batch_rows=4", *words[-2:]])


def test_the_command_of_a_report_asks_for_the_same_studies(reported: Path) -> None:
    asked = ReportRequest("runs", ("published/",), "paper-1b", ("a=b",))
    told = asked.command([result(reported, "reference=raw")])
    name = shlex.quote(str(reported / "toy.yaml"))
    options = "--set reference=raw --import published/ --as a=b --preset paper-1b --root runs"
    assert told == f"ticlm report {name} {options}"
    assert settings.packaged("platform/presets") == ["paper", "paper-1b", "standard"]


@pytest.mark.parametrize("name", settings.packaged(studies.FOLDER))
def test_every_packaged_study_has_a_hash_for_its_reports(name: str) -> None:
    assert len(fingerprint(studies.load(name))) == 64


def test_the_revision_of_the_code_is_that_of_the_checkout() -> None:
    told = code_lines()
    assert told[0].startswith("ticlm ") and "torch " in told[1] and "ray " in told[1]
    if (ROOT / ".git").exists():
        head = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
        revision, _, changed = git_revision().partition(" ")
        assert head.stdout.startswith(revision) and len(revision) >= 12 and changed in ("", "with local changes")
