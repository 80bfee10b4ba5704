"""A server that fails for a while costs time and nothing else; one that fails for good, one line."""

from __future__ import annotations

import errno
import hashlib
import io
import pickle
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError
from faulty import Faults, faulty

from ticlm.core.errors import InputError, RunError, TiclmWarning
from ticlm.core.remote import patient
from ticlm.core.remote.passing import passing
from ticlm.core.store import Store


@pytest.fixture
def s3(s3_bucket: str, s3_environment: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Faults]:
    """The S3 of these tests with faults, for a patience of 20 seconds; fsspec keeps filesystems, so it must forget."""
    from s3fs import S3FileSystem

    with faulty(s3_environment) as faults:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{faults.port}")
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")  # botocore's own patience is added to ours
        monkeypatch.setenv(patient.VARIABLE, "20")
        monkeypatch.setattr(patient, "FIRST_S", 0.01)
        S3FileSystem.clear_instance_cache()
        yield faults
        S3FileSystem.clear_instance_cache()


def first(count: int, fate: str) -> Callable[[str, str], str]:
    """A fate of the first requests, and of no later one."""
    left = [count]

    def decide(method: str, path: str) -> str:
        if left[0]:
            left[0] -= 1
            return fate
        return ""

    return decide


def test_calls_are_repeated_until_they_succeed(s3: Faults, s3_bucket: str, tmp_path: Path) -> None:
    root = Store(f"{s3_bucket}/root")
    (tmp_path / "up").mkdir()
    (tmp_path / "up/file").write_bytes(b"up")
    data = bytes(range(256)) * 400
    for fate in ("500", "cut"):
        steps: list[tuple[Callable[[], Any], Any]] = [
            (lambda: root.write("a/b", data), None),
            (lambda: root.read("a/b"), data),
            (lambda: root.exists("a/b"), True),
            (lambda: root.exists("a/c"), False),
            (lambda: root.size("a/b"), len(data)),
            (lambda: len(root.state("a/b")) > 0, True),
            (lambda: root.sha256("a/b"), hashlib.sha256(data).hexdigest()),
            (lambda: root.upload(tmp_path / "up", "a/up"), None),
            (lambda: root.walk("a"), ["b", "up/file"]),
            (lambda: root.files("a"), ["b"]),
            (lambda: root.remove("a/up"), None),
            (lambda: root.folders("a"), []),
        ]
        for do, expected in steps:
            before = s3.failed
            s3.fate = first(3, fate)
            assert do() == expected
            assert s3.failed == before + 3, fate
    s3.fate = first(2, "500")
    with root.local("a") as folder:
        assert (folder / "b").read_bytes() == data


def test_what_is_read_bit_by_bit_goes_on_where_it_was(
    s3: Faults, s3_bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patient, "BLOCK", 1 << 16)
    root = Store(f"{s3_bucket}/root")
    data = b"".join(number.to_bytes(4, "big") for number in range(48 << 10))
    root.write("big", data)
    with root.fs.open(root.path("big"), "rb") as file:
        assert isinstance(file, io.BufferedReader)
        read = file.read(70 << 10)
        s3.fate = first(2, "500")
        assert read + file.read() == data
        s3.fate = first(2, "cut")
        assert file.seek(-8, io.SEEK_END) == len(data) - 8 and file.read() == data[-8:] and file.read() == b""
        assert file.seek(4) == 4 and file.read(4) == data[4:8]
    assert s3.failed == 4 and len(s3.seen) <= 14, "in large blocks"


def test_the_end_of_patience_is_one_line_with_the_path_the_answer_and_the_time(
    s3: Faults, s3_bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Store(f"{s3_bucket}/root")
    monkeypatch.setenv(patient.VARIABLE, "0.5")
    monkeypatch.setattr(patient, "TOLD_S", 0.0)
    s3.fate = lambda method, path: "500"
    with pytest.warns(TiclmWarning) as told, pytest.raises(RunError) as caught:
        root.write("record.json", b"{}")
    assert "root/record.json: HTTP status 500; trying again for up to 0.5 s" in str(told[0].message)
    assert re.match(r"s3://.*root/record.json: no good answer in \d+ tries within", str(caught.value))
    assert "HTTP status 500" in str(caught.value) and "\n" not in str(caught.value)
    with pytest.raises(RunError):
        root.exists("record.json")
    monkeypatch.setenv(patient.VARIABLE, "soon")
    with pytest.raises(InputError, match="TICLM_STORE_PATIENCE_S must be a number of seconds, got 'soon'"):
        root.read("record.json")


def test_what_is_not_there_is_told_at_once_and_so_is_impatience(s3: Faults, s3_bucket: str) -> None:
    root = Store(f"{s3_bucket}/root")
    began = time.monotonic()
    with pytest.raises(FileNotFoundError):
        root.read("nothing")
    assert not root.exists("nothing")
    assert Store(f"{s3_bucket}").exists() and not Store("s3://no-such-bucket-here").exists()
    root.create("once", b"1")
    assert not root.create("once", b"2") and root.read("once") == b"1"
    s3.fate = lambda method, path: "500"
    with patient.patience(0), pytest.raises(OSError):
        root.write("x", b"")
    assert time.monotonic() - began < 15, "none of these waits"


def test_a_filesystem_stays_patient_on_its_way_to_another_process(s3: Faults, s3_bucket: str) -> None:
    root = pickle.loads(pickle.dumps(Store(f"{s3_bucket}/root")))
    root.write("x", b"1")
    fs = pickle.loads(pickle.dumps(root.fs))
    s3.fate = first(2, "500")
    assert fs.cat_file(root.path("x")) == b"1"


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (OSError(errno.EREMOTEIO, "Internal Server Error"), True),
        (OSError(errno.EBUSY, "Please reduce your request rate"), True),
        (ConnectionResetError(), True),
        (TimeoutError(), True),
        (EndpointConnectionError(endpoint_url="http://127.0.0.1:1"), True),
        (OSError(errno.ENOSPC, "No space left on device"), False),
        (OSError(errno.EINVAL, "Invalid argument"), False),
        (FileNotFoundError(), False),
        (FileExistsError(), False),
        (PermissionError(), False),
        (ZeroDivisionError(), False),
    ],
)
def test_errors_that_pass_are_told_from_those_that_do_not(error: Exception, passes: bool) -> None:
    assert passing(error) is passes
