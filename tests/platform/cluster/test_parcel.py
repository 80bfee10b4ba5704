"""What `ticlm submit` sends: code and the data that somebody named, and no secrets."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from paths import ROOT

from ticlm.core.errors import InputError
from ticlm.platform.cluster.job import Job, prepare

MINE = """
from ticlm.methods.replay import NoReplay
from mine.deep import tables


class LastReplay(NoReplay):
    names: str = "mine/named.csv"
"""
SECRET = "ghp_do_not_send"
STUDY = ["methods=[{base: replay-half, replay: {kind: 'mine:LastReplay', names: mine/named.csv}}]"]


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a package as people have it: code, data, keys, notebooks, a checkout, links in and out."""
    folder, outside = tmp_path / "mine", tmp_path / "home"
    for path in ("mine/deep/data", "mine/.git", "mine/.ssh", "mine/venv/lib", "mine/__pycache__", "home/.ssh"):
        (tmp_path / path).mkdir(parents=True)
    (folder / "__init__.py").write_text(MINE)
    (folder / "deep/__init__.py").touch()
    (folder / "deep/tables.py").write_text("ROWS = 3\n")
    (folder / "deep/secrets.py").write_text("NAMES = ()\n")
    for name in ("table.yaml", "deep/data/rows.csv", "named.csv", "big.bin", "py.typed"):
        (folder / name).write_text("1\n")
    for name in (".env", ".git/config", ".ssh/id_ed25519", "notes.ipynb", "server.pem", "credentials.json", ".x.py"):
        (folder / name).write_text(SECRET)
    (folder / "venv/pyvenv.cfg").touch()
    (folder / "venv/lib/site.py").write_text(SECRET)
    (folder / "__pycache__/a.pyc").write_text(SECRET)
    (outside / ".ssh/id_rsa").write_text(SECRET)
    (outside / "other.py").write_text(SECRET)
    (folder / "home").symlink_to(outside)
    (folder / "other.py").symlink_to(outside / "other.py")
    (folder / "plain.py").symlink_to(folder / ".env")
    (folder / "lost.py").symlink_to(folder / "nothing.py")
    (folder / "alias").symlink_to("deep")
    (folder / "again").symlink_to(".")
    (folder / "short.py").symlink_to("deep/tables.py")
    os.mkfifo(folder / "pipe.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "mine"]:
        del sys.modules[name]


def _sent(job: Job, folder: Path) -> tuple[list[str], list[str]]:
    """Return what a job's folder holds, and the lines that say so."""
    folder.mkdir()
    lines = job.pack(folder)
    assert not any(path.is_symlink() for path in folder.rglob("*"))
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()), lines


CODE = [
    *("mine/__init__.py", "mine/alias/__init__.py", "mine/alias/secrets.py", "mine/alias/tables.py"),
    *("mine/deep/__init__.py", "mine/deep/secrets.py", "mine/deep/tables.py", "mine/named.csv", "mine/py.typed"),
    *("mine/short.py", "study.yaml"),
]


def test_a_package_travels_without_secrets_and_the_lines_say_what_stays(mine: Path, tmp_path: Path) -> None:
    found, lines = _sent(prepare("demo", "/shared", STUDY, installed=True), tmp_path / "sent")
    assert found == CODE
    assert not any(SECRET in path.read_text() for path in (tmp_path / "sent").rglob("*") if path.is_file())
    assert lines[0].startswith("sends study.yaml: ") and lines[1].startswith("sends mine: 10 files, ")
    assert "mine/deep/tables.py 9 B" in lines[1]
    assert lines[2:] == [
        "stays here, data (name what the code needs with --data): mine/alias/data/rows.csv, mine/big.bin, "
        "mine/deep/data/rows.csv, mine/table.yaml",
        "stays here, devices: mine/pipe.py",
        "stays here, hidden files, keys and notebooks: mine/.env, mine/.git, mine/.ssh, mine/.x.py, "
        "mine/credentials.json, mine/notes.ipynb, mine/plain.py, mine/server.pem",
        "stays here, links to nothing: mine/lost.py",
        "stays here, links to outside: mine/home, mine/other.py",
        "stays here, virtual environments: mine/venv",
    ]


def test_data_that_is_named_travels_to_its_place(mine: Path, tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts/one.txt").write_text("?")
    (tmp_path / "prompts/.env").write_text(SECRET)
    job = prepare("demo", "/shared", STUDY, installed=True, data=["mine/deep/data", f"{mine}/table.yaml", "prompts"])
    found, lines = _sent(job, tmp_path / "sent")
    assert found == sorted([*CODE, "mine/deep/data/rows.csv", "mine/table.yaml", "prompts/one.txt"])
    assert "sends prompts: 1 file, 1 B (prompts/one.txt 1 B)" in lines
    assert any(
        line.startswith("stays here, data") and line.endswith("mine/alias/data/rows.csv, mine/big.bin")
        for line in lines
    )
    assert any("prompts/.env" in line for line in lines)


@pytest.mark.parametrize(
    "wrong", ["mine/.env", "mine/.git/config", "mine/server.pem", "mine/notes.ipynb", "mine/plain.py"]
)
def test_what_never_travels_is_refused_by_name(wrong: str, mine: Path) -> None:
    with pytest.raises(InputError, match=rf"^--data {wrong}: hidden files, keys and notebooks are never sent"):
        prepare("demo", "/shared", STUDY, data=[wrong])


@pytest.mark.parametrize("wrong", ["mine/.env", "mine/plain.py", "mine/credentials.json"])
def test_a_command_takes_no_file_along_that_never_travels(wrong: str, mine: Path) -> None:
    with pytest.raises(InputError, match="hidden files, keys and notebooks are never sent"):
        prepare("demo", "/shared", command=f"eval --tasks={wrong}")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [("nothing", "is not there"), ("/etc/hostname", "lies elsewhere"), (".", "is the current folder")],
)
def test_data_that_cannot_be_sent_is_refused_in_one_line(wrong: str, said: str, mine: Path) -> None:
    with pytest.raises(InputError, match=said) as caught:
        prepare("demo", "/shared", STUDY, data=[wrong])
    assert "\n" not in str(caught.value)


def test_all_of_ticlm_that_git_knows_is_sent(tmp_path: Path) -> None:
    folders = ("core", "platform", "methods", "datasets", "tune_spaces")
    done = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True)
    if done.returncode or not done.stdout:
        pytest.skip("not a git checkout")
    found, lines = _sent(prepare("demo", "/shared"), tmp_path / "sent")
    there = [name for name in done.stdout.splitlines() if (ROOT / name).is_file()]
    assert {f"ticlm/{name}" for name in there} <= set(found)
    assert next(line for line in lines if line.startswith("sends ticlm: ")).endswith("MB")


def test_a_job_shows_no_credentials_of_its_root() -> None:
    for asked in ({"root": "http://me:pw@h/root"}, {"root": "/r", "command": "report --import 'http://h/x?sig=pw'"}):
        with pytest.raises(InputError, match="put credentials into the environment") as caught:
            prepare("demo", **asked)  # type: ignore[arg-type]
        assert "pw" not in str(caught.value)


def test_a_study_with_credentials_is_sent_with_a_warning(tmp_path: Path) -> None:
    job = prepare("demo", "/shared", ["corpus=http://me:pw@h/news"], installed=True)
    lines = _sent(job, tmp_path / "sent")[1]
    assert "http://me:pw@h/news" in (tmp_path / "sent/study.yaml").read_text()
    assert len(lines) == 1 and "with credentials in its URLs" in lines[0] and "pw" not in lines[0]
    assert job.metadata == prepare("demo", "/shared", ["corpus=http://me:new@h/news"]).metadata
