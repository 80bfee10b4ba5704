"""Asking models: every reply is kept once, passing errors are tried again, and a budget ends the work in one line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import chats
import pytest
from chatserver import Server, serving

from ticlm.core.errors import InputError, RunError
from ticlm.datasets.llm.asking import Asker, BudgetUsedUp, ChatLimits
from ticlm.datasets.llm.chat import ChatRequest, Message
from ticlm.datasets.llm.function_chat import DeterministicChat
from ticlm.datasets.llm.journal import Journal
from ticlm.datasets.llm.openai_chat import OpenAIChat
from ticlm.datasets.llm.prompts import Prompt, Unreadable, as_object
from ticlm.datasets.llm.union import RecordedChat

ECHO = DeterministicChat(function="chats:echo")


def requests(*texts: str) -> list[ChatRequest]:
    return [ChatRequest((Message("user", text),), prompt="say@1") for text in texts]


@pytest.fixture(autouse=True)
def quiet() -> None:
    chats.CALLS.clear()
    chats.FAILS_AT.clear()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


def remote(server: Server) -> OpenAIChat:
    return OpenAIChat(model="m", as_of="202301", base_url=f"http://127.0.0.1:{server.server_port}/v1")


def test_a_request_is_asked_once_and_its_reply_is_kept(tmp_path: Path) -> None:
    asked = requests("one", "two", "one")
    with Journal(str(tmp_path / "r.jsonl")) as journal:
        replies = Asker(journal, ChatLimits()).ask_all(ECHO, asked)
        assert [reply.texts for reply in replies] == [("one 0",), ("two 0",), ("one 0",)]
    with Journal(str(tmp_path / "r.jsonl")) as journal:
        again = Asker(journal, ChatLimits())
        assert again.ask_all(ECHO, asked) == replies
    assert sorted(chats.CALLS) == ["one", "two"]
    assert (again.costs.asked, again.costs.from_record, journal.tokens) == (0, 2, 2 * (1 + 2))
    line = json.loads((tmp_path / "r.jsonl").read_text().splitlines()[0])
    assert line["key"] == asked[0].key(ECHO) or line["key"] == asked[1].key(ECHO)
    assert line["prompt"] == "say@1" and line["parameters"]["temperature"] == 0


def test_everything_that_decides_a_reply_is_part_of_its_key() -> None:
    (one,) = requests("one")
    others = [
        *requests("two"),
        ChatRequest(one.messages, temperature=0.5, prompt=one.prompt),
        ChatRequest(one.messages, seed=1, prompt=one.prompt),
        ChatRequest(one.messages, n=2, prompt=one.prompt),
        ChatRequest(one.messages, prompt="say@2"),
        ChatRequest((Message("system", "one"),), prompt=one.prompt),
    ]
    models = [ECHO, DeterministicChat(function="chats:echo", version=2), DeterministicChat(function="chats:clerk")]
    keys = [one.key(model) for model in models] + [other.key(ECHO) for other in others]
    assert len(set(keys)) == len(keys)
    # a golden key: another one would make users pay for every reply again
    assert one.key(ECHO) == "16e92f54776f39387c5aa278b09c55668f2bcc6efe4038b2560ab5ccc17653c6"


def test_a_line_that_a_kill_cut_off_is_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with Journal(str(path)) as journal:
        Asker(journal, ChatLimits(at_once=1)).ask_all(ECHO, requests("one", "two"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    with Journal(str(path)) as journal:
        assert len(journal) == 1
        Asker(journal, ChatLimits(at_once=1)).ask_all(ECHO, requests("one", "two"))
    assert path.read_bytes() == whole
    path.write_bytes(b'{"key": 1}\n' + whole)
    with pytest.raises(InputError, match=r"r\.jsonl:1 is no reply to a request"):
        Journal(str(path))
    path.write_bytes(whole)  # without that line, as the message says
    with Journal(str(path)) as journal:
        assert len(journal) == 2


def test_two_processes_do_not_write_to_one_record(tmp_path: Path) -> None:
    with Journal(str(tmp_path / "r.jsonl")), pytest.raises(InputError, match="another process keeps its replies"):
        Journal(str(tmp_path / "r.jsonl"))
    with pytest.raises(InputError, match="local disk, got s3://b/r"):
        Journal("s3://b/r.jsonl")


@pytest.mark.parametrize("limits", [ChatLimits(requests=3, at_once=2), ChatLimits(tokens=9, at_once=1)])
def test_a_budget_ends_the_work_in_one_line_and_more_of_it_goes_on(tmp_path: Path, limits: ChatLimits) -> None:
    asked = requests(*"abcde")
    with Journal(str(tmp_path / "r.jsonl")) as journal:
        with pytest.raises(BudgetUsedUp, match=r"3 requests asked .* 2 requests of this step") as stopped:
            Asker(journal, limits).ask_all(ECHO, asked)
        assert len(journal) == 3 and "\n" not in str(stopped.value)
        more = Asker(journal, ChatLimits(requests=5))
        assert [reply.texts[0] for reply in more.ask_all(ECHO, asked)] == [f"{letter} 0" for letter in "abcde"]
    assert sorted(chats.CALLS) == list("abcde")


def test_busy_and_failing_servers_are_asked_again_and_wait_as_long_as_they_say(tmp_path: Path, server: Server) -> None:
    server.statuses = [429, 500, 503]
    waits: list[float] = []
    with Journal(str(tmp_path / "r.jsonl")) as journal:
        asker = Asker(journal, ChatLimits(first_wait_s=0.5), waits.append)
        reply = asker.ask(remote(server), ChatRequest((Message("user", "hello"),), seed=4, n=2))
    assert reply.texts == ("HELLO", "HELLO") and (reply.prompt_tokens, reply.completion_tokens) == (7, 3)
    assert asker.costs.tries_again == 3 and waits[0] == 2.0
    sent = server.bodies[-1]
    assert sent["path"] == "/v1/chat/completions"
    assert (sent["model"], sent["seed"], sent["n"], sent["max_tokens"]) == ("m", 4, 2, 512)
    kept = json.loads((tmp_path / "r.jsonl").read_text())
    assert kept["raw"]["choices"][0]["message"]["content"] == "HELLO"


def test_a_refusal_is_not_tried_again_and_tries_have_an_end(tmp_path: Path, server: Server) -> None:
    with Journal(str(tmp_path / "r.jsonl")) as journal:
        asker = Asker(journal, ChatLimits(tries=3), lambda seconds: None)
        server.statuses = [401]
        with pytest.raises(RunError, match="m: the server answered 401"):
            asker.ask(remote(server), *requests("a"))
        assert len(server.bodies) == 1
        server.statuses = [500] * 9
        with pytest.raises(RunError, match=r"answered 500.*no reply in 3 tries; what was answered is kept"):
            asker.ask(remote(server), *requests("a"))
        assert len(server.bodies) == 4 and len(journal) == 0
        server.statuses = []
        assert asker.ask(remote(server), *requests("a")).texts == ("A",)


def test_many_requests_at_once_are_each_asked_and_kept_once(tmp_path: Path) -> None:
    asked = requests(*[str(number % 50) for number in range(200)])
    with Journal(str(tmp_path / "r.jsonl")) as journal:
        replies = Asker(journal, ChatLimits(at_once=8, requests=50)).ask_all(ECHO, asked)
    assert [reply.texts[0] for reply in replies] == [f"{number % 50} 0" for number in range(200)]
    kept = [json.loads(line)["key"] for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert len(kept) == len(set(kept)) == len(chats.CALLS) == 50


def test_a_filtered_reply_is_empty_and_no_reply_or_html_is_tried_again(tmp_path: Path, server: Server) -> None:
    server.contents = [None]
    with Journal(str(tmp_path / "r.jsonl")) as journal:
        asker = Asker(journal, ChatLimits(tries=2), lambda seconds: None)
        assert asker.ask(remote(server), *requests("a")).texts == ("",)
        for content, said in (("<html>", "what the server answered cannot be read"), ("<nothing>", "gave 0 replies")):
            server.contents = [content, content]
            with pytest.raises(RunError, match=f"{said}.*no reply in 2 tries"):
                asker.ask(remote(server), *requests("b"))
        assert len(journal) == 1
        server.contents = ["<nothing>"]
        assert asker.ask(remote(server), *requests("b")).texts == ("B",) and asker.costs.tries_again == 3


def test_a_rate_spaces_the_requests(tmp_path: Path) -> None:
    waits: list[float] = []
    with Journal(str(tmp_path / "r.jsonl")) as journal:
        Asker(journal, ChatLimits(per_minute=60, at_once=1), waits.append).ask_all(ECHO, requests(*"abcd"))
    assert [round(seconds) for seconds in waits] == [1, 2, 3]  # nobody slept, so each turn lies a second further on


def test_a_replay_gives_the_same_replies_and_names_what_it_lacks(tmp_path: Path, server: Server) -> None:
    model, asked = remote(server), requests("a", "b")
    with Journal(str(tmp_path / "r.jsonl")) as journal:
        live = Asker(journal, ChatLimits()).ask_all(model, asked)
    before = len(server.bodies)
    recorded = RecordedChat(path=str(tmp_path / "r.jsonl"), of=model)
    assert recorded.identity == model.identity
    with Journal(str(tmp_path / "new.jsonl")) as journal:
        asker = Asker(journal, ChatLimits())
        assert asker.ask_all(recorded, asked) == live
        (other,) = requests("c")
        with pytest.raises(InputError, match=rf"r\.jsonl has no reply to the request {other.key(model)}"):
            asker.ask(recorded, other)
    assert len(server.bodies) == before and (tmp_path / "new.jsonl").read_text() == ""


def test_a_model_without_a_key_or_a_function_is_refused_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(InputError, match="the environment has no OPENAI_API_KEY"):
        OpenAIChat(model="m", as_of="202301").open()
    with pytest.raises(InputError, match=r"chat\.function: chats:nobody: .* has no nobody"):
        DeterministicChat(function="chats:nobody").open()
    wrong = {"os:getcwd": "failed: TypeError: .*arguments", "operator:mul": r"returned \[\]; it has to return a text"}
    for function, said in wrong.items():
        with pytest.raises(InputError, match=rf"chat\.function: {function} {said}"):
            DeterministicChat(function=function).open().complete([Message("user", "hello")], 0.0, 0, 1)


def test_prompts_fill_their_slots_and_replies_are_read_strictly() -> None:
    prompt = Prompt(version=3, system="Be brief.", user='$day: answer with {"a": "$$5"}')
    request = prompt.request("ask", day="today")
    assert request.prompt == "ask@3"
    assert [message.content for message in request.messages] == ["Be brief.", 'today: answer with {"a": "$5"}']
    with pytest.raises(KeyError):
        prompt.request("ask")
    assert as_object('```json\n{"a": "x"}\n```', a=str) == {"a": "x"}
    lone = '{"a": "\\ud800"}'  # half a character, which no file can hold
    deep = ('{"a": ' + "[" * 10**5, "[" * 10**5 + "]" * 10**5, '{"a":' * 10**5 + "1" + "}" * 10**5)
    for reply in ('Sure! {"a": "x"}', '{"a": 1}', '{"a": "x", "b": 2}', "[]", "", lone, *deep):
        with pytest.raises(Unreadable):
            as_object(reply, a=str)
