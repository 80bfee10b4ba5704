"""Credentials in URLs: the reader has them, and nothing that is shown, recorded or hashed does."""

from __future__ import annotations

import json
import pickle
import string
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticlm.core import errors
from ticlm.core.errors import InputError, RunError, TiclmWarning
from ticlm.core.fingerprint import fingerprint
from ticlm.core.remote import passing
from ticlm.core.remote.credentials import (
    MaskedUrl,
    address,
    json_without_credentials,
    plain_without_credentials,
    whole,
    without_credentials,
)
from ticlm.datasets.io.documents import Input
from ticlm.datasets.io.fetching import Unreachable
from ticlm.datasets.io.file_documents import FileDocuments
from ticlm.platform.cli.console import PlainConsole
from ticlm.platform.results.setup import StudyRequest

SIGNED = "X-Amz-Algorithm=A&X-Amz-Credential=ID%2F2026&X-Amz-Expires=60&X-Amz-Signature=ab%3D&X-Amz-Security-Token=T"
CASES = {
    "http://me:pw@h:80/x.jsonl": "http://h:80/x.jsonl",
    "https://TOKEN@h/x": "https://h/x",
    "http://u:p@ss@h/x": "http://h/x",
    "HTTP://u:p@h": "HTTP://h",
    "sftp://me:pw@h/x": "sftp://h/x",
    "git+https://u:p@h/x": "git+https://h/x",
    f"https://b.s3.amazonaws.com/x.jsonl?{SIGNED}": "https://b.s3.amazonaws.com/x.jsonl",
    f"https://b.s3.amazonaws.com/x.jsonl?versionId=3&{SIGNED}": "https://b.s3.amazonaws.com/x.jsonl?versionId=3",
    "https://h/x?AWSAccessKeyId=A&Expires=9&Signature=s": "https://h/x",
    "https://h/x?X-Goog-Algorithm=a&X-Goog-Signature=s&alt=media": "https://h/x?alt=media",
    "https://a.blob.core.windows.net/c/x?sv=2022&st=1&se=2&sr=b&sp=r&sig=s%2B": "https://a.blob.core.windows.net/c/x",
    "https://h/x?a=1&access_token=t#part": "https://h/x?a=1#part",
    "zip://m.csv::http://me:pw@h/x.zip?token=t": "zip://m.csv::http://h/x.zip",
    "two: http://a:b@h/x?sig=1, http://c@i/y.": "two: http://h/x, http://i/y.",
}
KEPT = (
    "",
    "no url, a@b.c",
    "/local/x?sig=1",
    "s3://bucket/corpora/news@1",
    "http://h/@scope/x@2?st=north&se=south&sv=1&expires=never",
    "abfs://container@account.dfs.core.windows.net/x",
    "sftp://me@h/x",
    "hf://datasets/user/name@revision/x",
    "https://h/x?q=token&key=202301",
)
WORD = st.text(string.ascii_letters + string.digits + "-._~%!$'()*+,;=", min_size=4).map(lambda text: f"S{text}S")


@pytest.mark.parametrize(("text", "expected"), CASES.items())
def test_credentials_are_left_out_of_a_text(text: str, expected: str) -> None:
    assert without_credentials(text) == expected == without_credentials(expected)


@pytest.mark.parametrize("text", KEPT)
def test_a_text_without_credentials_stays(text: str) -> None:
    assert without_credentials(text) == text
    assert type(address(text)) is str and json_without_credentials(json.dumps({text: [text]})) == json.dumps(
        {text: [text]}
    )


@given(WORD, WORD, WORD, st.sampled_from(["sig", "X-Amz-Signature", "Signature", "token", "X-Goog-Credential"]))
def test_no_credential_stands_in_what_is_shown(user: str, password: str, value: str, name: str) -> None:
    url = f"https://{user}:{password}@example.org/a/b.jsonl?v=1&{name}={value}&w=2"
    shown = without_credentials(f"input {url} cannot be read")
    assert shown == "input https://example.org/a/b.jsonl?v=1&w=2 cannot be read"
    assert json.loads(json_without_credentials(json.dumps({"a": [url]}))) == {
        "a": ["https://example.org/a/b.jsonl?v=1&w=2"]
    }


def test_long_texts_take_no_longer_than_their_length() -> None:
    """A pattern that looks for the end of a query from each URL took seven minutes for the first of these."""
    for text in ("://" * 10**5, "x://a@" * 10**5, "x://" + "a@" * 10**5, "x://?" + "&sig" * 10**5, "x" * 10**6 + "://"):
        without_credentials(text)


def test_an_address_opens_with_its_credentials_and_shows_none() -> None:
    url = f"http://me:pw@h/x.jsonl?{SIGNED}"
    found = pickle.loads(pickle.dumps(Input(path=url, size=1, stamp="")))  # as it travels to another process
    assert found.path == "http://h/x.jsonl" and whole(found.path) == url and isinstance(found.path, MaskedUrl)
    for text in (repr(found), str(found), found.model_dump_json(), str(found.model_dump()), f"{found.path}:3"):
        assert "pw" not in text and "Amz" not in text
    again = found.model_copy(update={"group": "a"})
    assert whole(again.path) == url and Input.model_validate(again.model_dump()).path == "http://h/x.jsonl"
    rotated = Input(path=url.replace("pw", "new").replace("ab%3D", "cd"), size=1, stamp="")
    assert rotated == found and hash(rotated) == hash(found) and fingerprint(rotated) == fingerprint(found)


def test_a_changed_password_changes_no_fingerprint() -> None:
    def documents(login: str) -> FileDocuments:
        return FileDocuments(paths=(f"http://{login}h/x.jsonl",))

    assert fingerprint(documents("me:pw@")) == fingerprint(documents("me:new@")) == fingerprint(documents(""))
    assert fingerprint(documents("")) == "47719955a089a074e98ea9586bdc413f06da0eddb1fe87254b4a6821cd5d57da"
    assert fingerprint("s3://bucket/a@1") != fingerprint("s3://bucket/a@2")


@pytest.mark.parametrize("kind", [InputError, RunError, TiclmWarning, Unreachable])
def test_no_message_holds_credentials(kind: type[Exception]) -> None:
    error = kind("http://me:pw@h/x?sig=abc cannot be read")
    assert str(error) == str(pickle.loads(pickle.dumps(error))) == "http://h/x cannot be read"


def test_the_console_shows_no_credentials(capsys: pytest.CaptureFixture[str]) -> None:
    PlainConsole(width=80).print("page: http://me:pw@h/x", soft_wrap=True)
    assert capsys.readouterr().out == "page: http://h/x\n"


def test_what_a_report_says_of_a_study_holds_no_credentials() -> None:
    typed = StudyRequest("http://me:pw@h/s.yaml", ("corpus=http://me:pw@h/c",), "http://h/root?sig=pw")
    assert typed.without_credentials() == StudyRequest("http://h/s.yaml", ("corpus=http://h/c",), "http://h/root")
    settings = {"corpus": "http://me:pw@h/c", "models": [{"path": "http://h/m?token=pw"}], "seeds": [0]}
    shown = {"corpus": "http://h/c", "models": [{"path": "http://h/m"}], "seeds": [0]}
    assert plain_without_credentials(settings) == shown


@pytest.mark.parametrize("shortened", [errors.in_one_line, passing.in_one_line])
def test_a_message_that_is_cut_within_a_url_leaves_no_half_of_a_password(shortened: Callable[[Exception], str]) -> None:
    for before in range(270, 301):
        assert "secr" not in shortened(ValueError(f"{'x' * before} http://me:secret-password@host/a.jsonl"))
