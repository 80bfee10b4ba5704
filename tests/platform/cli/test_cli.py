"""The command line: bad input is one line on stderr and the right exit code; nothing finished is lost."""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import publishedfiles
import pytest
from faulty import faulty

from ticlm.core.corpus import Corpus
from ticlm.core.integrity.records import read_record
from ticlm.core.lease import lease
from ticlm.core.store import Store
from ticlm.platform.study.settings import Study

Forks = Callable[..., list[tuple[int, Any]]]
MakeCorpus = Callable[..., Corpus]
FAST = {"kind": "cosine", "max_rate": 5e-3, "warmup_steps": 1}


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    def in_one_line(self, code: int, *parts: str) -> None:
        """Exit `code` and one line on stderr that has all of `parts`, whatever was on stdout before."""
        assert self.code == code, self.out + self.err
        assert self.err.startswith("ticlm: ") and self.err.count("\n") == 1, self.err
        for part in parts:
            assert part in self.err, self.err


def command(
    arguments: tuple[str, ...], environment: dict[str, str], errors: str, before: Callable[[], None] = lambda: None
) -> None:
    """`ticlm …` in this process, its stderr apart from its stdout and its page (seconds of drawing) left out."""
    from ticlm.platform.cli import main
    from ticlm.platform.report import write as report

    vars(report)["write"] = lambda *_, **__: None
    os.environ.update(environment)
    before()
    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    sys.argv = ["ticlm", *arguments]
    main.main()


@dataclass(frozen=True)
class Desk:
    """A root with a toy corpus, a study file, and the command line."""

    forks: Forks
    root: Path
    study: dict[str, Any] = field(repr=False)

    @property
    def yaml(self) -> str:
        return self.write(self.study)

    def write(self, study: dict[str, Any], name: str = "toy") -> str:
        path = self.root.parent / f"{name}.yaml"
        path.write_text(json.dumps(study))  # JSON is YAML
        return str(path)

    def ticlm(self, *arguments: str, **environment: str) -> Ended:
        return self.command(partial(command, arguments, environment, f"{self.root.parent}/errors"))

    def command(self, job: Callable[[], None]) -> Ended:
        out = self.root.parent / "out"
        out.write_text("")
        ((code, _),) = self.forks(job, log=out)
        return Ended(code, out.read_text(), (self.root.parent / "errors").read_text())

    def run(self, *sets: str, study: str | None = None) -> Ended:
        assignments = [word for assignment in sets for word in ("--set", assignment)]
        return self.ticlm("run", study or self.yaml, "--root", str(self.root), *assignments)


@pytest.fixture
def desk(forks: Forks, toy_root: Path, toy_study: Callable[..., Study]) -> Desk:
    resources = {"trainer": "process", "device": "cpu", "chains": 1}
    study = toy_study(
        methods=[{"base": "cyclic-cosine", "schedule": FAST}],
        periods={"initial": "202301", "last": "202302"},
        resources=resources,
    )
    data = study.model_dump(mode="json")
    data["model"]["changes"] = json.loads(data["model"]["changes"])
    return Desk(forks, toy_root, data)


def finished(root: Path | str) -> dict[str, str]:
    """Hash of every finished round's weights."""
    store = Store(root)
    records = {name: read_record(store, f"rounds/{name}") for name in store.folders("rounds")}
    return {n: r.file("model/model.safetensors").sha256 for n, r in records.items() if r is not None}


# --- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("assignment", "parts"),
    [
        ("batchrows=4", ("batchrows: unknown key", "batch_rows")),
        ("loss.z=1", ("loss.z: unknown key", "allowed: clip_norm, z_loss")),
        ("resources.cadence.second=1", ("resources.cadence.second: unknown key", "seconds, steps")),
        ("batch_rows=0", ("batch_rows", "greater than 0", "got 0")),
        ("batch_rows=many", ("batch_rows", "whole number", "'many'")),
        ("loss.clip_norm=.nan", ("loss.clip_norm", "finite")),
        ("model.name=7b", ("model", "'tiny', '1b', '3b', 't5-large'", "'7b'")),
        ("model.kind=rnn", ("model", "kind must be preset, config or folder")),
        ("methods.0.schedule.kind=step", ("methods.0", "schedule", "'cosine'", "'autoregressive-cosine'")),
        ("methods.0.schedule.warmup_steps=-1", ("methods.0", "warmup_steps", "got -1")),
        ("methods.3.name=x", ("3 is not a position in a list of 1",)),
        ("methods=[nope]", ("no method 'nope' in the catalogue", "replay-half")),
        ("methods=[cyclic-cosine,cyclic-cosine]", ("cyclic-cosine is named twice",)),
        ("reference=nope", ("reference must be raw or one of cyclic-cosine", "'nope'")),
        ("evaluate.periods=[209901]", ("evaluate.periods: 209901 is not in the timeline", "202301")),
        ("periods.last=202213", ("202213", "YYYYMM")),
        ("resources.workers=[3,2]", ("resources.workers", "0 < min <= max", "[3, 2]")),
        ("nokey", ("--set nokey: expected KEY.KEY=VALUE",)),
        ("name.x=1", ("--set name.x=1", "it has no keys to set")),
        ("loss={", ("--set loss={", "not a YAML value")),
    ],
)
def test_a_bad_setting_is_one_line_that_says_what_is_allowed(
    desk: Desk, assignment: str, parts: tuple[str, ...]
) -> None:
    desk.run(assignment).in_one_line(2, *parts)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("name: [", ("not valid YAML",)),
        ("- a\n- b", ("expected a mapping of settings, got list",)),
        ("", ("expected a mapping of settings",)),
        ("name: x", ("is required",)),
        ("[" * 20_000, ("nested too deeply",)),
        ("name: Upper\ncorpus: toy", ("name", "'Upper'")),
    ],
)
def test_a_file_that_is_no_study_is_one_line_that_names_it(desk: Desk, text: str, parts: tuple[str, ...]) -> None:
    path = desk.root.parent / "bad.yaml"
    path.write_text(text)
    desk.run(study=str(path)).in_one_line(2, "bad.yaml", *parts)


def test_a_study_that_does_not_exist_is_one_line_with_the_one_that_was_meant(desk: Desk) -> None:
    desk.run(study="dem").in_one_line(2, "dem: no such file, and no packaged name (did you mean demo?)")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("run",), ("Missing argument", "STUDY")),
        (("walk",), ("No such command", "walk")),
        (("run", "demo", "--rot", "x"), ("No such option", "--rot")),
        (("generate", "x", "y", "--tokens", "few"), ("--tokens", "integer")),
    ],
)
def test_a_wrong_command_is_one_line(desk: Desk, arguments: tuple[str, ...], parts: tuple[str, ...]) -> None:
    desk.ticlm(*arguments).in_one_line(2, *parts)


# --- the corpus ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["run", "train", "eval"])
def test_a_corpus_that_is_not_there_is_one_line_that_says_how_to_get_it(desk: Desk, verb: str) -> None:
    study = desk.write(desk.study | {"corpus": "other"})
    desk.ticlm(verb, study, "--root", str(desk.root)).in_one_line(2, "corpus other", "ticlm data build")


def test_a_period_that_the_corpus_lacks_is_named(desk: Desk) -> None:
    desk.run("periods.last=202306").in_one_line(2, "has no period 202305 and 1 more", "ticlm data build")
    assert finished(desk.root) == {}


@pytest.mark.parametrize(
    "damage", [Path.unlink, lambda path: path.write_bytes(b"PAR1"), lambda path: path.write_bytes(b"")]
)
def test_a_shard_that_is_missing_or_damaged_is_named(desk: Desk, damage: Callable[[Path], object]) -> None:
    corpus = Corpus.open(f"{desk.root}/corpora/toy@1")
    (path,) = corpus.files("202302", "train")
    damage(Path(corpus.store.path(path)))
    desk.run().in_one_line(2, "shard", path)
    assert len(finished(desk.root)) == 1, "the round before was finished and is kept"


def test_a_held_out_shard_that_is_missing_is_named_and_no_round_is_lost(desk: Desk) -> None:
    corpus = Corpus.open(f"{desk.root}/corpora/toy@1")
    (path,) = corpus.files("202301", "eval")
    Path(corpus.store.path(path)).unlink()
    desk.run().in_one_line(2, "shard", path, "missing")
    assert len(finished(desk.root)) == 2


def test_rows_of_another_length_are_refused_with_the_right_one(desk: Desk) -> None:
    desk.run("length=32").in_one_line(2, "length: 32", "set length: 16")


@pytest.mark.parametrize("verb", ["run", "plan"])
def test_a_model_too_small_for_the_tokenizer_is_refused(desk: Desk, verb: str) -> None:
    model = desk.study["model"] | {"changes": desk.study["model"]["changes"] | {"vocab_size": 50}}
    study = desk.write(desk.study | {"model": model})
    desk.ticlm(verb, study, "--root", str(desk.root)).in_one_line(2, "vocabulary of 50", "64 tokens")
    assert not (desk.root / "rounds").exists()


def test_a_tokenizer_that_did_not_cut_the_corpus_is_refused(desk: Desk) -> None:
    path = desk.root / "corpora/toy@1/tokenizer/tokenizer.json"
    path.write_text(path.read_text() + " ")
    desk.run().in_one_line(2, "corpora/toy@1/tokenizer", "not the tokenizer that cut the corpus")


def test_a_tokenizer_that_is_gone_is_named_before_anything_is_trained_and_comes_back_from_a_model(desk: Desk) -> None:
    assert desk.run().code == 0
    folder = desk.root / "corpora/toy@1/tokenizer"
    shutil.rmtree(folder)
    desk.run("methods.0.schedule.max_rate=1e-3").in_one_line(2, str(folder), "tokenizer is gone", "model/")
    (model, *_) = (desk.root / "rounds").glob("*/*/model")
    shutil.copytree(model, folder)
    assert desk.run("methods.0.schedule.max_rate=1e-3").code == 0


def test_weights_that_torch_refuses_are_one_line(desk: Desk) -> None:
    from ticlm.methods.objectives import Causal
    from ticlm.platform.models import build, folders
    from ticlm.platform.models.settings import PresetModel

    made = build.config(PresetModel(name="tiny"), 64)
    folder = desk.root.parent / "pickled"
    folders.publish(build.scratch(made, Causal(), 0).state_dict(), made, Causal(), [], folder)
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"w": Path("/")}, protocol=2))
    study = desk.write(desk.study | {"model": {"kind": "folder", "path": str(folder), "as_of": "202212"}})
    desk.ticlm("run", study, "--root", str(desk.root)).in_one_line(
        2, str(folder), "no model could be loaded: torch refuses"
    )


def test_a_model_folder_too_small_for_the_tokenizer_is_refused(desk: Desk) -> None:
    from ticlm.methods.objectives import Causal
    from ticlm.platform.models import build, folders
    from ticlm.platform.models.settings import PresetModel

    made = build.config(PresetModel(name="tiny"), 50)
    folder = desk.root.parent / "small"
    folders.publish(build.scratch(made, Causal(), 0).state_dict(), made, Causal(), [], folder)
    study = desk.write(desk.study | {"model": {"kind": "folder", "path": str(folder), "as_of": "202212"}})
    desk.ticlm("run", study, "--root", str(desk.root)).in_one_line(2, "vocabulary of 50", "64 tokens")


# --- budgets and periods ---------------------------------------------------------------------------------------------


def test_a_budget_too_small_for_one_step_is_refused_with_the_size_of_a_step(desk: Desk) -> None:
    desk.run("initial.budget=63").in_one_line(2, "period 202301", "63 tokens", "4 rows x 16 = 64 tokens")
    desk.run("continual_tokens={per_period: 10}").in_one_line(2, "period 202302", "10 tokens", "64 tokens")


def test_a_named_period_without_held_out_rows_is_refused_before_anything_is_trained(
    desk: Desk, toy_corpus: MakeCorpus
) -> None:
    toy_corpus(desk.root / "corpora/bare@1", periods=("202301",))
    toy_corpus(desk.root / "corpora/bare@1", periods=("202301", "202302"), held_out=0)
    study = desk.write(desk.study | {"corpus": "bare", "evaluate": {"periods": ["202302"]}})
    desk.ticlm("run", study, "--root", str(desk.root)).in_one_line(2, "evaluate.periods names 202302", "no eval row")
    assert finished(desk.root) == {}


# --- the root --------------------------------------------------------------------------------------------------------


def test_a_relative_root_inside_a_ray_job_is_refused(desk: Desk) -> None:
    ended = desk.ticlm("run", desk.yaml, "--root", "runs", RAY_JOB_CONFIG_JSON_ENV_VAR="{}")
    ended.in_one_line(2, "root runs is relative, inside a Ray job", "absolute path or a URI")


@pytest.mark.parametrize("verb", ["run", "train", "eval"])
def test_a_root_that_cannot_be_written_is_refused(desk: Desk, verb: str) -> None:
    (desk.root.parent / "file").write_text("")
    study = desk.write(desk.study | {"corpus": f"{desk.root}/corpora/toy@1"})
    ended = desk.ticlm(verb, study, "--root", f"{desk.root.parent}/file/root")
    ended.in_one_line(2, f"{desk.root.parent}/file/root", "is not writable")


def test_a_root_of_an_unknown_protocol_is_refused(desk: Desk) -> None:
    desk.ticlm("run", desk.yaml, "--root", "nope://bucket").in_one_line(2, "root nope://bucket")


@pytest.mark.parametrize("verb", ["run", "train", "eval"])
def test_a_second_writer_is_refused_and_the_first_goes_on(desk: Desk, verb: str) -> None:
    with lease(Store(desk.root), "run toy"):
        desk.ticlm(verb, desk.yaml, "--root", str(desk.root)).in_one_line(
            1, "in use by another writer: run toy", f"process {os.getpid()}"
        )
    assert desk.run().code == 0


def fills(study: str, folder: str, size: str, errors: str) -> dict[str, Any]:
    """A run on a disk of `size` of its own, then the same with room enough: how the first ended, and what is done."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x00020000) or libc.mount(b"none", b"/", None, (1 << 14) | (1 << 18), None):
        return {"skip": "no mounts of our own"}
    if libc.mount(b"tmpfs", folder.encode(), b"tmpfs", 0, f"size={size}".encode()):
        return {"skip": "no tmpfs"}

    def run() -> int:
        try:
            command(("run", study, "--root", f"{folder}/root"), {}, errors)
        except SystemExit as end:
            return int(end.code or 0)
        except BaseException:
            traceback.print_exc()
            return 99
        return 0

    first = run()
    error = Path(errors).read_text()
    before = finished(f"{folder}/root")
    if libc.mount(b"tmpfs", folder.encode(), b"tmpfs", 32, b"size=100m"):
        return {"skip": "no remount"}
    second = run()
    return {
        "first": first,
        "error": error,
        "before": before,
        "second": second,
        "errors": Path(errors).read_text(),
        "after": finished(f"{folder}/root"),
    }


MORE_SIZES = (("300k", 2), ("8k", None), ("40k", None), ("72k", None))
"""Of disks, tried at night."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "cadence"),
    [
        *(("100k", 2), ("16k", None), ("56k", None), ("92k", None)),
        *(pytest.param(size, cadence, marks=pytest.mark.nightly) for size, cadence in MORE_SIZES),
    ],
)
def test_a_disk_that_fills_stops_the_run_in_one_line_and_loses_nothing(
    desk: Desk, size: str, cadence: int | None
) -> None:
    """In a mid-round checkpoint, in a model, in a record, in cells."""
    folder = desk.root.parent / "disk"
    folder.mkdir()
    resources = desk.study["resources"] | {"cadence": {"steps": cadence}}
    study = desk.write(desk.study | {"corpus": f"{desk.root}/corpora/toy@1", "resources": resources})
    log = desk.root.parent / "log"
    ((code, found),) = desk.forks(partial(fills, study, str(folder), size, f"{desk.root.parent}/errors"), log=log)
    assert code == 0, log.read_text()[-3000:]
    if "skip" in found:
        pytest.skip(found["skip"])
    Ended(found["first"], "", found["error"]).in_one_line(1, "No space left", "run the same command again")
    assert found["second"] == 0, found["errors"]
    assert found["before"].items() <= found["after"].items()
    assert desk.run().code == 0
    assert found["after"] == finished(desk.root)


def small_files() -> None:
    """No file of this process may have more than 20 kB: what a full disk is to those who write."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def test_a_disk_that_fills_in_the_middle_of_a_tensor_is_one_line_that_names_the_place(desk: Desk) -> None:
    """torch goes on after the error of the disk, and ends in `unexpected pos` of its archive."""
    model = desk.study["model"] | {"changes": {"hidden_size": 128, "intermediate_size": 32, "num_hidden_layers": 1}}
    study = desk.write(desk.study | {"model": model, "resources": desk.study["resources"] | {"cadence": {"steps": 2}}})
    arguments = ("train", study, "--root", str(desk.root))
    ended = desk.command(partial(command, arguments, {}, f"{desk.root.parent}/errors", small_files))
    ended.in_one_line(1, f"{desk.root}/rounds/", "/steps/", "File too large", "run the same command again")


@pytest.mark.slow
@pytest.mark.nightly
def test_a_storage_that_is_out_of_reach_for_a_while_costs_time_alone(
    desk: Desk, s3_bucket: str, s3_environment: int
) -> None:
    """Whatever the trainer is: this one has no restarts. For good, it is one line that names the path."""
    study = desk.write(desk.study | {"corpus": f"{desk.root}/corpora/toy@1"})
    root = ("--root", f"{s3_bucket}/root")
    began: list[float] = []
    with faulty(s3_environment) as faults:
        environment = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{faults.port}", "AWS_MAX_ATTEMPTS": "1"}

        def outage(method: str, path: str) -> str:
            if len(faults.seen) > 40 and not began:
                began.append(time.monotonic())
            return "500" if began and time.monotonic() - began[0] < 3 else ""

        faults.fate = outage
        ended = desk.ticlm("train", study, *root, **environment, TICLM_STORE_PATIENCE_S="60")
        assert ended.code == 0, ended.err
        assert faults.failed > 2
        assert desk.ticlm("train", study, "--root", f"{desk.root}").code == 0
        assert finished(f"{s3_bucket}/root") == finished(desk.root)
        faults.fate = lambda method, path: "500"
        lost = desk.ticlm("eval", study, *root, **environment, TICLM_STORE_PATIENCE_S="1")
        lost.in_one_line(1, f"{s3_bucket}/root/", "HTTP status 500", "TICLM_STORE_PATIENCE_S")


# --- commands --------------------------------------------------------------------------------------------------------


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "sys.argv = ['ticlm', '--help']\n"
        "from ticlm.platform.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "heavy = {'torch', 'ray', 'transformers', 'pandas', 'numpy', 'pyarrow', 'quickjs', 'fsspec', 'pydantic'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stderr.splitlines()[-1] == "[]"
    for verb in ("run", "train", "eval", "report", "plan", "generate", "clean", "check", "data"):
        assert verb in ended.stdout


@pytest.mark.slow
def test_commands_in_a_row_do_what_run_does(desk: Desk, tmp_path: Path) -> None:
    root = ("--root", str(desk.root))
    plan = desk.ticlm("plan", desk.yaml, *root, "--json")
    assert plan.code == 0 and not (desk.root / "rounds").exists(), "a plan writes nothing"
    json.loads(plan.out)
    desk.ticlm("report", desk.yaml, *root).in_one_line(2, "nothing to report yet")
    assert desk.ticlm("train", desk.yaml, *root).code == 0
    done = finished(desk.root)
    assert len(done) == 2
    assert not (desk.root / "cells").exists()
    assert desk.ticlm("eval", desk.yaml, *root).code == 0
    shown = desk.ticlm("report", desk.yaml, *root)
    assert shown.code == 0 and "cyclic-cosine" in shown.out and "set: " not in shown.out
    changed = desk.ticlm("report", desk.yaml, *root, "--set", "reference=raw")
    assert changed.code == 0 and "set: toy: --set reference=raw" in changed.out
    pages = {out.splitlines()[-1] for out in (shown.out, changed.out, desk.ticlm("report", desk.yaml, *root).out)}
    assert len(pages) == 2, "changed settings have a page of their own, and the same ones the same page"
    asked = ("eval", desk.yaml, *root, "--again", "cyclic-cosine@202302", "--on", "202301")
    again = desk.ticlm(*asked)
    assert again.code == 0 and "0.0e+00" in again.out and "202302" not in again.out
    desk.ticlm(*asked[:-2], "--seed", "7").in_one_line(2, "--seed 7", "seeds of cyclic-cosine")
    desk.ticlm("eval", desk.yaml, *root, "--on", "202301").in_one_line(2, "give --again METHOD@PERIOD")
    published = str(publishedfiles.write(tmp_path / "published", cutoffs=["202301", "202407"]))
    beside = desk.ticlm("report", desk.yaml, *root, "--import", published, "--as", "perplexity@1=tic-cc", "--json")
    assert beside.code == 0, beside.err
    studies = {row["study"] for row in json.loads(beside.out)["summary"] if row["task"] == "tic-cc"}
    assert studies == {"toy", "published-1b"}
    again = desk.run()
    assert again.code == 0 and finished(desk.root) == done
    assert desk.ticlm("data", "show", "toy", *root).code == 0

    first = sorted(done)[0]
    said = desk.ticlm("generate", first[:8], "w1 w2", *root, "--tokens", "5")
    assert said.code == 0 and said.out.startswith("w1 w2 w")
    assert desk.ticlm("generate", first[:8], "w1 w2", *root, "--tokens", "5").out == said.out
    warm = ("generate", first[:8], "w1 w2", *root, "--tokens", "12", "--temperature", "5")
    assert desk.ticlm(*warm, "--seed", "1").out != desk.ticlm(*warm, "--seed", "2").out
    desk.ticlm("generate", "zzz", "w1", *root).in_one_line(2, "zzz: no folder, no STUDY/METHOD@PERIOD, and no round in")


def test_check_finds_a_changed_byte_and_clean_removes_only_what_no_study_uses(desk: Desk) -> None:
    root = ("--root", str(desk.root))
    assert desk.run().code == 0
    assert desk.run("methods.0.schedule.max_rate=1e-3").code == 0
    assert len(finished(desk.root)) == 3
    ended = desk.ticlm("check", *root)
    assert ended.code == 0 and desk.ticlm("check", TICLM_ROOT=str(desk.root)).out == ended.out
    assert ", 0 problems" in ended.out
    desk.ticlm("check", "--root", str(desk.root / "nothing")).in_one_line(2, "there is nothing")
    (desk.root.parent / "photos").mkdir()
    (desk.root.parent / "photos/record.json").write_text("{}")
    desk.ticlm("check", "--root", str(desk.root.parent / "photos")).in_one_line(2, "photos is no root", "rounds, cells")

    listed = desk.ticlm("clean", desk.yaml, *root)
    assert listed.code == 0 and "--remove deletes them" in listed.out
    assert len(finished(desk.root)) == 3, "without --remove it only lists"
    assert desk.ticlm("clean", desk.yaml, *root, "--remove").code == 0
    assert len(finished(desk.root)) == 2
    assert desk.run().code == 0
    assert len(finished(desk.root)) == 2

    name = sorted(finished(desk.root))[0]
    (file,) = (desk.root / "rounds" / name).glob("*/model/model.safetensors")
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(bytes(data))
    ended = desk.ticlm("check", *root)
    assert ended.code == 1 and "1 problems" in ended.out and "model.safetensors" in ended.out


# --- classes of the user's own ---------------------------------------------------------------------------------------

OWN = """
from ticlm.methods.schedules import Constant
from ticlm.methods.seams import Replay
from ticlm.core.mixture import Mixture, allot
from ticlm.platform.tasks.packed_rows import Perplexity


class Recent(Replay):
    window: int = 3

    def mixture(self, seen, budget):
        return Mixture.of(allot(budget, dict.fromkeys(seen[-self.window :], 1)))


class Breaks(Constant):
    def rate(self, step, position):
        return 1.0 / (position.steps - position.steps)


class Scores(Perplexity):
    def measure(self, answerer, data, label, rows):
        return answerer[label]
"""


def test_a_fault_of_a_users_class_is_one_line_that_names_its_place(desk: Desk) -> None:
    here = desk.root.parent
    (here / "own_parts.py").write_text(OWN)
    base = {"base": "cyclic-cosine"}

    def ticlm(*arguments: str, **environment: str) -> Ended:
        words = (*arguments, "--root", str(desk.root))
        return desk.command(partial(command, words, environment, f"{here}/errors", partial(os.chdir, here)))

    replays = desk.write(desk.study | {"methods": [base | {"replay": {"kind": "own_parts:Recent", "window": -2}}]})
    said = ("own_parts:Recent.mixture raised ValueError: weights must not be negative", "(own_parts.py:12)")
    ticlm("plan", replays).in_one_line(2, *said)
    whole = ticlm("plan", replays, TICLM_TRACEBACK="1")
    assert whole.code == 2 and "Traceback" in whole.err and said[0] in whole.err.splitlines()[-1]
    trains = desk.write(
        desk.study | {"methods": [base | {"schedule": {"kind": "own_parts:Breaks", "warmup_steps": 1}}]}
    )
    # every rate is looked at before anything is trained
    ticlm("run", trains).in_one_line(2, "own_parts:Breaks.rate raised ZeroDivisionError", "own_parts.py:17")
    scores = desk.write(desk.study | {"evaluations": [{"kind": "own_parts:Scores", "name": "scores"}]})
    ticlm("run", scores).in_one_line(1, "own_parts:Scores.measure raised TypeError", "own_parts.py:22")


# --- what is said plainly --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["plan", "run", "report", "clean"])
def test_a_root_that_is_a_file_or_nothing_is_refused(desk: Desk, verb: str) -> None:
    file = desk.root.parent / "notes.txt"
    file.write_text("x")
    desk.ticlm(verb, desk.yaml, "--root", str(file)).in_one_line(2, f"root {file} is a file", "give a folder")
    desk.ticlm(verb, desk.yaml, "--root", "").in_one_line(2, "--root (or TICLM_ROOT) is empty", "give a folder")


def test_an_empty_root_has_nothing_to_clean_and_stays_empty(desk: Desk) -> None:
    empty = desk.root.parent / "empty"
    empty.mkdir()
    desk.ticlm("clean", desk.yaml, "--root", str(empty)).in_one_line(2, f"root {empty}: there is nothing to clean")
    assert list(empty.iterdir()) == []


def test_a_corpus_that_is_packaged_is_said_to_be_built_by_its_name(desk: Desk) -> None:
    root = ("--root", str(desk.root))
    desk.ticlm("data", "show", "synthetic", *root).in_one_line(2, "build one with: ticlm data build synthetic")
    desk.ticlm("data", "show", "mine", *root).in_one_line(2, "build one with: ticlm data build RECIPE")


def test_a_typo_is_named_before_the_key_that_is_missing_for_it(desk: Desk) -> None:
    study = {"batch_row" if key == "batch_rows" else key: value for key, value in desk.study.items()}
    desk.run(study=desk.write(study)).in_one_line(2, "batch_row: unknown key (did you mean batch_rows?)")


def test_a_period_without_training_rows_is_told_by_the_plan(desk: Desk, toy_corpus: MakeCorpus) -> None:
    toy_corpus(desk.root / "corpora/bare@1", periods=("202301",))
    toy_corpus(desk.root / "corpora/bare@1", periods=("202301", "202302"), rows=0)
    study = desk.write(desk.study | {"corpus": "bare"})
    ended = desk.ticlm("plan", study, "--root", str(desk.root))
    assert ended.code == 0 and "bare@1/202302/train has no row to train on" in " ".join(ended.out.split())
    desk.ticlm("run", study, "--root", str(desk.root)).in_one_line(2, "bare@1/202302/train has no row to train on")


def test_a_model_that_sees_few_tokens_per_parameter_is_told_by_the_plan(desk: Desk) -> None:
    root = ("--root", str(desk.root))
    enough = desk.study | {"initial": desk.study["initial"] | {"budget": 10_000_000}, "max_epochs": None}
    ended = desk.ticlm("plan", desk.write(enough), *root)
    assert ended.code == 0 and "tokens per parameter" not in ended.out
    ended = desk.ticlm("plan", desk.write(desk.study), *root)
    assert ended.code == 0 and "tokens per parameter; below 5 it has hardly begun" in " ".join(ended.out.split())


def test_a_model_is_scored_by_its_address_and_the_table_says_what_it_shows(desk: Desk) -> None:
    assert desk.run().code == 0
    tasks = desk.write({"evaluations": [{"kind": "perplexity-on", "name": "own", "corpus": "toy"}]}, "tasks")
    address = f"{desk.yaml}/cyclic-cosine@202301"
    ended = desk.ticlm("eval", address, "--tasks", tasks, "--root", str(desk.root))
    text = " ".join(ended.out.split())
    assert ended.code == 0, ended.err
    for part in (f"Scores of {address}", "nats", "own: lower is better", f"kept in {desk.root}/cells/"):
        assert part in text, text


def test_a_run_says_where_its_curves_are(desk: Desk) -> None:
    ended = desk.run("resources.tensorboard=true")
    assert f"curves: tensorboard --logdir {desk.root}/tensorboard" in ended.out and ended.code == 0
    (folder,) = (desk.root / "tensorboard").iterdir()
    assert folder.name.startswith("cyclic-cosine-202301-202302-")
    assert "curves:" not in desk.run("resources.tensorboard=true").out, "nothing is left to train"
