"""Asking models: every reply is kept before it is used; with retries, a rate, a budget and counts."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pydantic import Field

from ticlm.core.errors import InputError, RunError, TiclmError
from ticlm.core.settings import Settings
from ticlm.core.signals import Threads, first_done, result_of
from ticlm.core.store import Store
from ticlm.datasets.llm.chat import ChatClient, ChatModel, ChatRequest, Passing, Replies
from ticlm.datasets.llm.journal import REPLIES, Journal, ReplayClient

LONGEST_WAIT_S = 60.0  # between two tries, even where a server's Retry-After asks for more


class ChatLimits(Settings):
    """How models are asked, and what that may cost. None of it changes a reply."""

    record: str = ""
    """File on a local disk that keeps every reply; by default `replies.jsonl` in the folder of the set."""
    requests: int | None = Field(None, gt=0)
    """Largest number of replies in the record; a build that needs more stops with a line. By default no limit."""
    tokens: int | None = Field(None, gt=0)
    """Tokens that the replies in the record may cost; a build that has used them up stops with a line. Where a server
    does not tell them, or tells what cannot be, the bytes of the texts count."""
    per_minute: float | None = Field(None, gt=0)
    """Largest number of requests per minute, evenly spaced; by default no limit."""
    at_once: int = Field(4, ge=1)
    """Number of requests that are on their way at the same time."""
    tries: int = Field(8, ge=1)
    """So often a request is sent, if the server is busy, fails or cannot be reached."""
    first_wait_s: float = Field(1.0, ge=0)
    """Longest wait before the second try, in seconds; it doubles with each try, up to a minute."""


def record_of(limits: ChatLimits, store: Store) -> str:
    """Return the file that keeps the replies of a build in a store. Raises InputError if it would be no local file."""
    if not limits.record and not store.is_local:
        raise InputError("examples.limits.record: the set is not on a local disk; name a local file for the replies")
    return limits.record or store.path(REPLIES)


@dataclass
class ChatCosts:
    """What was asked: requests sent and answered now, answers taken from the record, tries again, tokens, and answers
    whose tokens are estimated."""

    asked: int = 0
    from_record: int = 0
    tries_again: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: int = 0
    by_prompt: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        again = f", {self.tries_again:,} tries again" if self.tries_again else ""
        guessed = f", those of {self.estimated:,} answers estimated" if self.estimated else ""
        tokens = f"{self.prompt_tokens:,} + {self.completion_tokens:,} tokens{guessed}"
        return f"{self.asked:,} requests asked ({tokens}{again}), {self.from_record:,} answers from the record"


class BudgetUsedUp(RunError):
    """The replies have cost what they may cost, by one of the limits; what was answered is kept."""

    def __init__(self, limit: str, line: str) -> None:
        super().__init__(line)
        self.limit = limit

    def __reduce__(self) -> tuple[type[BudgetUsedUp], tuple[str, str]]:
        return BudgetUsedUp, (self.limit, str(self))


class Asker:
    """Asks models through a journal. Several threads may use it."""

    def __init__(self, journal: Journal, limits: ChatLimits, sleep: Callable[[float], None] = time.sleep) -> None:
        self.journal, self.limits, self.costs = journal, limits, ChatCosts()
        self._sleep = sleep
        self._lock = threading.Lock()
        self._used = len(journal)
        self._next = 0.0
        self._clients: dict[int, tuple[ChatModel, ChatClient]] = {}

    def ask(self, model: ChatModel, request: ChatRequest) -> Replies:
        """Return the replies to a request: those in the journal, or new ones, which are in the journal by then.

        Raises BudgetUsedUp, RunError after too many tries, and InputError for a replay that lacks the request.
        """
        known = self.journal.get(request.key(model))
        with self._lock:
            self.costs.by_prompt[request.prompt] += 1
            if known is not None:
                self.costs.from_record += 1
                return known
        client = self._client(model)
        if isinstance(client, ReplayClient):  # costs nothing, and keeps nothing twice
            with self._lock:
                self.costs.from_record += 1
            return client.recorded(request)
        self._reserve()
        try:
            answer = self._tried(client, request)
            replies = self.journal.add(model, request, answer)
        except BaseException:
            with self._lock:
                self._used -= 1
            raise
        with self._lock:
            self.costs.asked += 1
            self.costs.prompt_tokens += replies.prompt_tokens
            self.costs.completion_tokens += replies.completion_tokens
            self.costs.estimated += answer.estimated
        return replies

    def ask_all(self, model: ChatModel, requests: Sequence[ChatRequest]) -> list[Replies]:
        """Return the replies to each request, in their order, with `at_once` of them on their way at the same time.

        Raises the first error once the requests that are on their way have ended; no further one is sent.
        """
        stop = threading.Event()

        def one(request: ChatRequest) -> Replies | None:
            if stop.is_set():
                return None
            try:
                return self.ask(model, request)
            except BaseException:
                stop.set()
                raise

        distinct = list(dict.fromkeys(requests))  # two threads would both ask the same
        with Threads(self.limits.at_once) as pool:
            futures = [pool.submit(one, request) for request in distinct]
            try:
                for future in futures:
                    first_done([future])
            except BaseException:  # the build is told to end while it waits here
                stop.set()
                raise
        errors = [error for future in futures if (error := future.exception()) is not None]
        for error in errors:
            if isinstance(error, BudgetUsedUp):
                left = sum(self.journal.get(request.key(model)) is None for request in distinct)
                raise self._used_up(error.limit, f", {left:,} requests of this step are left") from None
        if errors:
            raise min(errors, key=lambda error: not isinstance(error, TiclmError))
        found = {request: result_of(future) for request, future in zip(distinct, futures)}
        return [replies for request in requests if (replies := found[request]) is not None]

    def _client(self, model: ChatModel) -> ChatClient:
        with self._lock:
            if id(model) not in self._clients:
                self._clients[id(model)] = (model, model.open())  # the model too, so that its id stays its own
            return self._clients[id(model)][1]

    def _used_up(self, limit: str, left: str = "") -> BudgetUsedUp:
        most = getattr(self.limits, limit)
        return BudgetUsedUp(
            limit,
            f"limits.{limit}: the budget of {most:,} is used up: {self.costs}, {len(self.journal):,} replies "
            f"({self.journal.tokens:,} tokens) in {self.journal.path}{left}; raise limits.{limit} and run the same "
            f"command to go on",
        )

    def _reserve(self) -> None:
        """Wait for this request's turn. Raises BudgetUsedUp if the journal is at its limit."""
        limits = self.limits
        with self._lock:
            for name, used in (("requests", self._used), ("tokens", self.journal.tokens)):
                most = getattr(limits, name)
                if most is not None and used >= most:
                    raise self._used_up(name)
            self._used += 1
            now = time.monotonic()
            turn = max(self._next, now)
            self._next = turn + (60 / limits.per_minute if limits.per_minute else 0)
        if turn > now:
            self._sleep(turn - now)

    def _tried(self, client: ChatClient, request: ChatRequest) -> Replies:
        import tenacity

        backoff = tenacity.wait_random_exponential(multiplier=self.limits.first_wait_s, max=LONGEST_WAIT_S)

        def wait(state: tenacity.RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome is not None else None
            after = error.after_s if isinstance(error, Passing) else None
            return backoff(state) if after is None else min(after, LONGEST_WAIT_S)

        def again(_: tenacity.RetryCallState) -> None:
            with self._lock:
                self.costs.tries_again += 1

        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(Passing),
            stop=tenacity.stop_after_attempt(self.limits.tries),
            wait=wait,
            sleep=self._sleep,
            before_sleep=again,
            reraise=True,
        )
        try:
            return retrying(client.complete, request.messages, request.temperature, request.seed, request.n)
        except Passing as error:
            raise RunError(
                f"{error}; no reply in {self.limits.tries} tries; what was answered is kept in {self.journal.path}: "
                f"run the same command to go on"
            ) from None
