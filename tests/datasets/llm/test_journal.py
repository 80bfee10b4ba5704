"""The journal of replies: what a line holds is what was answered, or the line is named with what to do."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import chats
import pytest

from ticlm.core.errors import InputError
from ticlm.datasets.llm.asking import Asker, ChatLimits
from ticlm.datasets.llm.chat import ChatRequest, Message, Replies
from ticlm.datasets.llm.function_chat import DeterministicChat
from ticlm.datasets.llm.journal import Journal, damaged_lines
from ticlm.datasets.llm.union import RecordedChat

ECHO = DeterministicChat(function="chats:echo")
ASKED = [ChatRequest((Message("user", text),), prompt="say@1") for text in ("one", "two", "three")]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "r.jsonl"
    with Journal(str(path)) as opened:
        Asker(opened, ChatLimits(at_once=1)).ask_all(ECHO, ASKED)
    chats.CALLS.clear()
    return path


def without_hash(line: bytes) -> bytes:
    """A line as it was written before lines had a hash."""
    value = json.loads(line)
    del value["sha256"]
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"


def answers(path: Path) -> list[str]:
    with Journal(str(path)) as opened:
        return [reply.texts[0] for reply in Asker(opened, ChatLimits(at_once=1)).ask_all(ECHO, ASKED)]


def test_a_line_hashes_what_stands_before_its_hash(journal: Path) -> None:
    for line in journal.read_bytes().splitlines():
        before, _, rest = line.rpartition(b', "sha256": "')
        assert rest == hashlib.sha256(before).hexdigest().encode() + b'"}'


def test_a_damaged_byte_anywhere_is_named_and_the_line_is_asked_again_once_it_is_removed(journal: Path) -> None:
    """Each byte of the second line in turn; a line feed there ends the line, and both of its parts are named."""
    whole = journal.read_bytes()
    first, second, third = whole.splitlines(keepends=True)
    for place in range(len(second) - 1):
        damaged = bytearray(second)
        damaged[place] ^= 1 << place % 8
        journal.write_bytes(first + damaged + third)
        assert damaged_lines(str(journal)), (place, bytes(damaged))
        with pytest.raises(InputError, match=r"r\.jsonl:2 .*; remove .*, and it is asked again"):
            Journal(str(journal))
    journal.write_bytes(first + third)  # without that line, as the message says
    assert answers(journal) == ["one 0", "two 0", "three 0"] and chats.CALLS == ["two"]
    assert sorted(journal.read_bytes().splitlines()) == sorted(whole.splitlines())


def test_lines_without_a_hash_stay_readable_and_a_hash_is_not_left_out_unseen(journal: Path) -> None:
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(without_hash(lines[0]) + lines[1] + without_hash(lines[2]))
    assert damaged_lines(str(journal)) == [] and answers(journal) == ["one 0", "two 0", "three 0"]
    assert chats.CALLS == []
    renamed = lines[1].replace(b'"sha256"', b'"sha257"').replace(b"two 0", b"two 1")
    journal.write_bytes(lines[0] + renamed + lines[2])
    assert len(damaged_lines(str(journal))) == 1


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 10**5,
        b'{"key": "k", "replies": ["a"], "raw": ' + b"[" * 10**5 + b"]" * 10**5 + b"}",
        b'{"a":' * 10**5 + b"1" + b"}" * 10**5,
        b'{"key": "k", "replies": "text"}',
        b'{"key": "k", "replies": []}',
        b'{"key": "k", "replies": ["a"], "usage": 5}',
        b'{"key": "k", "replies": 5}',
        b'{"key": ["k"], "replies": ["a"]}',
        b'{"key": "k", "replies": ["a"], "usage": {"prompt_tokens": ' + b"9" * 5000 + b"}}",
        b'["key"]',
        b"5",
        b"",
        b"\xff\xfe",
        b"\0\0\0",
    ],
    ids=range(14),
)
def test_a_line_that_is_no_reply_is_named_in_one_line_and_asked_again_once_it_is_removed(
    journal: Path, line: bytes
) -> None:
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(lines[0] + line + b"\n" + lines[2])
    with pytest.raises(InputError, match=r"r\.jsonl:2 is no reply to a request; remove this line, and") as caught:
        Journal(str(journal))
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300
    journal.write_bytes(lines[0] + lines[2])
    assert answers(journal) == ["one 0", "two 0", "three 0"] and chats.CALLS == ["two"]


def test_all_damaged_lines_are_named_at_once_and_a_cut_one_is_none(journal: Path) -> None:
    lines = journal.read_bytes().splitlines(keepends=True)
    bad = [lines[0].replace(b"one", b"won"), lines[1].replace(b"two", b"owt")]
    journal.write_bytes(b"".join(bad) + lines[2][:-5])
    assert len(damaged_lines(str(journal))) == 2
    with pytest.raises(InputError, match=r"r\.jsonl:1 .* 1 more line"):
        Journal(str(journal))
    journal.write_bytes(lines[2][:-5])
    assert damaged_lines(str(journal)) == []
    assert answers(journal) == ["one 0", "two 0", "three 0"]


def test_a_damaged_record_of_an_earlier_build_is_mended_by_asking_its_model(journal: Path, tmp_path: Path) -> None:
    """A replay asks nobody, so its message says how the line comes back."""
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(lines[0] + lines[1].replace(b"two 0", b"two 1") + lines[2])
    recorded = RecordedChat(path=str(journal), of=ECHO)
    with pytest.raises(
        InputError, match=r"r\.jsonl:2 is damaged .*; remove this line, and .* limits\.record"
    ) as caught:
        recorded.open()
    assert "\n" not in str(caught.value)
    journal.write_bytes(lines[0] + lines[2])
    assert answers(journal) == ["one 0", "two 0", "three 0"], "the model, with this file as limits.record"
    with Journal(str(tmp_path / "new.jsonl")) as new:
        replayed = Asker(new, ChatLimits()).ask_all(recorded, ASKED)
    assert [reply.texts[0] for reply in replayed] == ["one 0", "two 0", "three 0"]


def test_what_is_used_is_what_is_read_later(tmp_path: Path) -> None:
    """A lone surrogate cannot be written, so it is not used either."""
    said = Replies(("a\ud800b",), 1, 1, raw={"x": "\udfff", "y": float("inf")})
    with Journal(str(tmp_path / "r.jsonl")) as journal:
        used = journal.add(ECHO, ASKED[0], said)
    with Journal(str(tmp_path / "r.jsonl")) as journal:
        assert journal.get(ASKED[0].key(ECHO)) == used
    assert used.texts == ("a?b",)


@pytest.mark.parametrize("usage", ["-5", "-Infinity", "Infinity", "NaN", "1e300", "true", '"7"', "null", "2.5"])
def test_tokens_that_nobody_can_have_used_do_not_hold_a_budget_open(journal: Path, usage: str) -> None:
    """Older releases kept what a server said of its tokens."""
    key = ASKED[0].key(ECHO)
    asked = '"messages": [{"role": "user", "content": "some words"}], "replies": ["a text"]'
    line = f'{{"key": "{key}", {asked}, "usage": {{"prompt_tokens": {usage}, "completion_tokens": 3}}}}'
    journal.write_text(line + "\n")
    with Journal(str(journal)) as opened:
        assert opened.tokens == len("some words") + 3
