"""Servers that misbehave: each request has an end in time and in memory, what cannot be read is asked again, the key
stays here, and no answer is a traceback."""

from __future__ import annotations

import gzip
import json
import random
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from chatserver import Answer, Server, completion, dripping, head, saying, serving, silent

from ticlm.core.errors import InputError, RunError
from ticlm.datasets.llm.asking import Asker, BudgetUsedUp, ChatLimits
from ticlm.datasets.llm.chat import ChatRequest, Message, Replies
from ticlm.datasets.llm.journal import Journal
from ticlm.datasets.llm.openai_chat import OpenAIChat

KEY = "sk-test-0123456789-abcdefghij"
SOON_S = 1.0
"""The clock of requests that are to run out of time; answers here take several times as long."""
MORE = pytest.mark.nightly


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """Ask once without haste: the first request of a process imports half of a network library."""
    with serving() as made:
        remote(made).open().complete([Message("user", "hello")], 0.0, 0, 1)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def remote(server: Server, timeout_s: float = 60) -> OpenAIChat:
    address = f"http://127.0.0.1:{server.server_port}/v1"
    return OpenAIChat(model="m", as_of="202301", base_url=address, timeout_s=timeout_s)


def request(text: str = "hello", n: int = 1) -> ChatRequest:
    return ChatRequest((Message("user", text),), n=n)


def asked(
    server: Server, path: Path, *answers: Answer, timeout_s: float = 60, tries: int = 2, n: int = 1
) -> tuple[Replies | str, Asker]:
    """The replies of a server that gives these answers first, or the line with which the request ended."""
    server.answers = list(answers)
    with Journal(str(path / "r.jsonl")) as journal:
        asker = Asker(journal, ChatLimits(tries=tries), lambda seconds: None)
        try:
            return asker.ask(remote(server, timeout_s), request(n=n)), asker
        except (RunError, InputError) as error:
            assert "\n" not in str(error) and len(str(error)) < 1000
            return str(error), asker


def good(**changes: object) -> bytes:
    return json.dumps(completion("fine", **changes)).encode()


@pytest.mark.parametrize(
    "slow",
    [
        pytest.param(dripping(head(Content_Length=str(300 + len(good()))), b" " * 300, good()), id="body"),
        pytest.param(dripping(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"a" * 300, b"\r\n\r\n" + good()), id="header"),
        pytest.param(dripping(head(), b" " * 300, good()), id="no length", marks=MORE),
        pytest.param(dripping(b"HTTP/1.1 200 OK\r\n", b"A: b\r\n" * 50, b"\r\n" + good()), id="headers", marks=MORE),
        pytest.param(dripping(b"", head() * 3, good()), id="status", marks=MORE),
        pytest.param(
            dripping(head(Transfer_Encoding="chunked"), b"1\r\n \r\n" * 50, b"0\r\n\r\n"), id="chunks", marks=MORE
        ),
        pytest.param(dripping(head(500, Content_Length="300"), b" " * 300), id="error", marks=MORE),
        pytest.param(silent(6), id="silence", marks=MORE),
    ],
)
def test_a_request_ends_on_one_clock_and_is_sent_again(server: Server, tmp_path: Path, slow: Answer) -> None:
    """The pauses between bytes are short, so that no single read runs out of time; all of them take 5 s or more."""
    said, asker = asked(server, tmp_path, slow, timeout_s=SOON_S, tries=4)
    assert isinstance(said, Replies) and said.texts == ("HELLO",) and asker.costs.tries_again >= 1
    assert server.finished == 0, "the whole of the first answer was waited for"


def test_what_no_try_gets_in_time_is_a_line_that_says_the_seconds(server: Server, tmp_path: Path) -> None:
    said, _ = asked(server, tmp_path, silent(3), silent(3), timeout_s=0.2)
    assert "m: no whole answer within 0.2 s; no reply in 2 tries" in str(said)


@pytest.mark.parametrize(
    "large",
    [
        saying(json.dumps(completion("a" * 5 * 2**20)).encode()),
        saying(b" " * 5 * 2**20 + good()),
        saying(gzip.compress(b" " * 5 * 2**20 + good()), Content_Encoding="gzip"),
        saying(good(), Content_Encoding="zstd"),
    ],
    ids=["text", "spaces", "gzip", "zstd"],
)
def test_an_answer_without_measure_is_not_kept(server: Server, tmp_path: Path, large: Answer) -> None:
    said, asker = asked(server, tmp_path, large)
    assert isinstance(said, Replies) and said.texts == ("HELLO",) and asker.costs.tries_again == 1
    assert (tmp_path / "r.jsonl").stat().st_size < 10_000
    said, _ = asked(server, tmp_path / "again", large, large)
    assert "larger than 4 MiB" in str(said) or "compressed" in str(said)


def test_an_endless_answer_ends(server: Server, tmp_path: Path) -> None:
    def endless(handler: object) -> None:
        handler.wfile.write(head())  # type: ignore[attr-defined]
        for _ in range(1000):  # 64 MB, then it gives up
            handler.wfile.write(b" " * 2**16)  # type: ignore[attr-defined]
        sent_all.append(True)

    sent_all: list[bool] = []
    for status in (200, 500):
        said, _ = asked(server, tmp_path / str(status), endless)
        assert isinstance(said, Replies) and said.texts == ("HELLO",)
    assert not sent_all, "64 MB were read"


MALFORMED = (
    b'{"choices": ["a"]}',
    b'{"choices": "a"}',
    b'{"choices": {"a": 1}}',
    b'{"choices": 5}',
    b'{"choices": null}',
    b"{}",
    b"[]",
    b"5",
    b"null",
    b'"text"',
    b"",
    b"<html>",
    b'{"choices": [null]}',
    b'{"choices": [{"message": "a"}]}',
    b'{"choices": [{"message": null}]}',
    b'{"choices": [{"message": {"content": 5}}]}',
    b'{"choices": [{"message": {"content": ["a"]}}]}',
    b'{"choices": [{"message": {"content": {"text": "a"}}}]}',
    b'{"choices": [[[]]]}',
    b"[" * 10**5 + b"]" * 10**5,
    b'{"choices": ' + b"[" * 10**5 + b"]" * 10**5 + b"}",
    b'{"a": ' * 10**5 + b"1" + b"}" * 10**5,
    good()[:-1] + b', "x": ' + b"[" * 500 + b"]" * 500 + b"}",
    good()[:-9],
    b"\xff\xfe\xfd" + good(),
    b'{"choices": [{"message": {"content": "caf\xe9"}}]}',
    good() + good(),
    b'{"n": ' + b"9" * 5000 + b", " + good()[1:],
)


def test_malformed_answers_are_asked_again(server: Server, tmp_path: Path) -> None:
    with Journal(str(tmp_path / "r.jsonl")) as journal:
        asker, model = Asker(journal, ChatLimits(tries=2), lambda seconds: None), remote(server)
        for number, body in enumerate(MALFORMED):
            server.answers = [saying(body)]
            assert asker.ask(model, request(f"again {number}")).texts == (f"AGAIN {number}",), body[:80]
            assert asker.costs.tries_again == 2 * number + 1, body[:80]
            server.answers = [saying(body)] * 2
            with pytest.raises(RunError, match="no reply in 2 tries") as caught:
                asker.ask(model, request(f"never {number}"))
            assert "\n" not in str(caught.value) and len(str(caught.value)) < 1000
        assert len(journal) == len(MALFORMED)


def test_a_body_that_is_cut_off_is_asked_again(server: Server, tmp_path: Path) -> None:
    def cut(handler: object) -> None:
        handler.wfile.write(head(Content_Length="999") + good())  # type: ignore[attr-defined]

    said, asker = asked(server, tmp_path, cut)
    assert isinstance(said, Replies) and asker.costs.tries_again == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_nothing_is_sent_where_a_server_points_to(server: Server, tmp_path: Path, status: int) -> None:
    with serving() as other:
        where = f"http://user:{KEY}@127.0.0.1:{other.server_port}/v1/chat/completions?signature={KEY}"
        said, _ = asked(server, tmp_path, saying(b"", status, Location=where))
        assert f"answered {status} and points to http://127.0.0.1:{other.server_port}/v1/chat/completions" in str(said)
        assert "chat.base_url" in str(said) and KEY not in str(said) and other.bodies == []
        assert isinstance(asked(other, tmp_path / "followed")[0], Replies), "chat.base_url names it"
    assert len(server.bodies) == 1, "asking again would not help"


def test_a_usage_that_cannot_be_is_not_believed(
    server: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    told = {"prompt_tokens": 7, "completion_tokens": 3}
    with Journal(str(tmp_path / "r.jsonl")) as journal, warnings.catch_warnings():
        warnings.simplefilter("error")
        asker, model = Asker(journal, ChatLimits(tries=1), lambda seconds: None), remote(server)
        for number, count in enumerate(
            ["-5", "1e999", "Infinity", "-Infinity", "NaN", "1e300", "999999999999", "0", '"7"', "[7]", "true", "7.5"]
        ):
            for which, text in (("prompt_tokens", f"hello {number}"), ("completion_tokens", "fine")):
                body = good().replace(f'"{which}": {told[which]}'.encode(), f'"{which}": {count}'.encode())
                assert count.encode() in body
                server.answers = [saying(body)]
                said = asker.ask(model, ChatRequest((Message("user", f"hello {number}"),), prompt=which))
                expected = told | {which: len(text)}
                assert (said.prompt_tokens, said.completion_tokens) == tuple(expected.values()), (which, count)
    kept = (tmp_path / "r.jsonl").read_text()
    assert "NaN" not in kept and "Infinity" not in kept, "no JSON but Python's"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("usage", [None, {}, [], "many", {"prompt_tokens": -10, "completion_tokens": -10}])
def test_a_budget_of_tokens_ends_whatever_is_said_of_them(server: Server, tmp_path: Path, usage: object) -> None:
    server.answers = [saying(good(usage=usage))] * 9
    with Journal(str(tmp_path / "r.jsonl")) as journal:
        asker = Asker(journal, ChatLimits(tokens=20, at_once=1))
        with pytest.raises(BudgetUsedUp, match="those of 2 answers estimated"):
            asker.ask_all(remote(server), [request(f"hello{n}") for n in range(9)])
    assert len(server.bodies) == 2, "their texts have 10 bytes each"
    assert [json.loads(line)["usage"]["estimated"] for line in (tmp_path / "r.jsonl").read_text().splitlines()] == [
        True,
        True,
    ]


@pytest.mark.parametrize("status", [200, 400, 401, 429, 500])
def test_a_key_that_a_server_echoes_is_neither_kept_nor_said(server: Server, tmp_path: Path, status: int) -> None:
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in KEY)
    echo = good(headers={"Authorization": f"Bearer {KEY}", KEY: [KEY]}, echo="ESCAPED", model=KEY)
    answer = saying(echo.replace(b"ESCAPED", escaped.encode()), status, X_Echo=KEY, Retry_After=KEY)
    said, _ = asked(server, tmp_path, answer, answer)
    assert f"Bearer {KEY}" in server.sent_headers[0].values()
    kept = (tmp_path / "r.jsonl").read_text()
    assert (
        KEY not in str(said) + kept
        and escaped not in kept
        and KEY not in json.dumps([*map(json.loads, [*kept.splitlines()])])
    )
    if status == 200:
        assert isinstance(said, Replies) and said.texts == ("fine",) and json.loads(kept)["raw"]["echo"] == "[key]"


def test_a_key_in_a_reply_itself_is_struck_out_and_a_word_in_place_of_a_key_is_not(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, _ = asked(server, tmp_path, saying(json.dumps(completion(f"It is {KEY}.")).encode()))
    assert isinstance(said, Replies) and said.texts == ("It is [key].",)
    for word in ("EMPTY", "none", "password", "x1"):
        monkeypatch.setenv("OPENAI_API_KEY", word)
        said, _ = asked(server, tmp_path / word, saying(json.dumps(completion(f"It is {word}.")).encode()))
        assert isinstance(said, Replies) and said.texts == (f"It is {word}.",)


@pytest.mark.parametrize("value", ["sk-ключ", "sk-a\nb", "sk-\x07"])
def test_a_key_that_no_header_may_have_is_refused_unseen(
    server: Server, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", value)
    with pytest.raises(InputError, match="OPENAI_API_KEY") as caught:
        remote(server).open()
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        *("http://[::1", "http://127.0.0.1:99999/v1", "ftp://127.0.0.1/v1", "not an address", "127.0.0.1:8000/v1"),
        *("http://127.0.0.1:1/\0", "http://[v1.x]/", "http://\ud800/", "http://127.0.0.1:1/\ud800"),
    ],
    ids=range(9),
)
def test_an_address_that_is_none_is_refused_before_anything_is_asked(address: str) -> None:
    with pytest.raises(InputError, match=r"chat\.base_url must be|no connection can be made") as caught:
        OpenAIChat(model="m", as_of="202301", base_url=address).open()
    assert "\n" not in str(caught.value)


# mixtures

Drawn = Callable[[random.Random], Answer]


def _body(draw: random.Random) -> bytes:
    """A body: sound, malformed, with an absurd usage, large, or bytes of any kind."""
    body = draw.choice(
        [
            good(),
            draw.choice(MALFORMED),
            good(usage=draw.choice([-1, {"prompt_tokens": -(10**30)}, {"prompt_tokens": [1]}, "x"])),
            good(headers={"authorization": f"Bearer {KEY}"}),
            good().replace(b"7", draw.choice([b"NaN", b"-Infinity", b"1e999", b"7" * 400])),
            json.dumps(completion(*["x"] * draw.randrange(4))).encode(),
            json.dumps(completion(draw.choice(["\ud800", "\0", "\u202e", "a" * 10**6, None, KEY]))).encode(),
            draw.randbytes(draw.randrange(2000)),
        ]
    )
    if draw.random() < 0.3 and body:
        damaged = bytearray(body)
        for _ in range(draw.randrange(1, 6)):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        body = bytes(damaged)
    return body[: draw.randrange(len(body) + 1)] if draw.random() < 0.2 else body


def hostile(draw: random.Random) -> Answer:
    """An answer of any kind: status, headers, length, pace and body are drawn one by one."""
    body, status = _body(draw), draw.choice([200] * 20 + [204, 302, 307, 400, 401, 429, 500, 503, 599, 999])
    headers = draw.choice(
        [
            *[{}] * 6,
            {"Retry_After": draw.choice(["1e9", "-5", "nan", KEY])},
            {"Location": draw.choice(["http://127.0.0.1:1/", "//", "\x7f", KEY, "http://[", "x" * 5000])},
            {"Content_Encoding": draw.choice(["gzip", "br", "zstd", "x"])},
            {f"X_{n}": "y" * 50 for n in range(draw.choice([10, 3000]))},
        ]
    )
    begin = head(status, Content_Length=str(len(body) + draw.choice([0] * 8 + [9, -9])), **headers)
    whole = draw.choice([begin] * 8 + [head(status, **headers), b"HTTP/1.1 ", b"\r\n", b""]) + body
    match draw.randrange(12):
        case 0:
            return dripping(whole[:20], whole[20:220], whole[220:])
        case 1:
            return dripping(begin, body[:200] or b" " * 200)
        case 2:
            return silent(draw.choice([0, 3]))
    return lambda handler: (handler.wfile.write(whole), None)[1]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=MORE) for seed in range(1, 8))])
def test_a_mixture_of_hostile_answers_costs_lines_and_nothing_else(server: Server, tmp_path: Path, seed: int) -> None:
    """Each request meets one to three hostile answers, then a sound one."""
    draw = random.Random(seed)
    ends = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number in range(4):
            answers = [hostile(draw) for _ in range(draw.randrange(1, 4))]
            said, asker = asked(server, tmp_path / str(number), *answers, timeout_s=SOON_S, tries=4)
            kept = (tmp_path / str(number) / "r.jsonl").read_text()
            assert KEY not in kept + str(said) and asker.journal.tokens >= 0
            ends.append(type(said).__name__)
            Journal(str(tmp_path / str(number) / "r.jsonl")).close()  # what was kept can be read
    assert set(ends) <= {"Replies", "str"}
