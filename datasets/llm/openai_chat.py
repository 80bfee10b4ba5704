"""Chat models behind a server that speaks OpenAI's protocol: OpenAI's own, vLLM, llama.cpp, Ray Serve."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field

from ticlm.core.errors import InputError, RunError
from ticlm.core.extras import Extra, require
from ticlm.core.periods import Label
from ticlm.core.remote.passing import AGAIN, passing
from ticlm.core.settings import Settings
from ticlm.core.signals import result_of
from ticlm.datasets.llm.chat import Message, Passing, Replies
from ticlm.datasets.llm.completions import LARGEST_BYTES, UnusableCompletion, read_completion, without_key


class OpenAIChat(Settings):
    """A model behind a server that speaks OpenAI's protocol (`/v1/chat/completions`).

    The key is read from the environment and never written anywhere; where a server repeats it, it is struck out.
    Redirects are not followed. An answer may have 4 MiB. The model comes from outside the timeline.
    """

    kind: Literal["openai"] = "openai"
    model: str = Field(min_length=1)
    """Name of the model, as the server knows it."""
    as_of: Label
    """The last period whose text the model may have seen; it comes from outside the timeline."""
    base_url: str = ""
    """Address of the server, such as http://127.0.0.1:8000/v1; by default OPENAI_BASE_URL, else OpenAI's own."""
    key_variable: str = "OPENAI_API_KEY"
    """Name of the environment variable that holds the key."""
    max_tokens: int = Field(512, gt=0)
    """Largest number of tokens of a reply."""
    timeout_s: float = Field(120, gt=0)
    """Seconds until the whole answer must be there; then the request is sent again."""

    def extras(self) -> tuple[Extra, ...]:
        return (Extra("llm", ("openai",)),)

    @property
    def identity(self) -> OpenAIChat:
        """Return what decides the replies: not where the server stands."""
        return OpenAIChat(model=self.model, as_of=self.as_of, max_tokens=self.max_tokens)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Return the largest number of tokens of a reply."""
        return {"max_tokens": self.max_tokens}

    @property
    def external_inputs(self) -> str:
        """Return a line that names the model, which comes from outside the timeline."""
        return f"replies of {self.model}, as of {self.as_of}"

    def open(self) -> OpenAIClient:
        """Return a client. Raises InputError without the package or the key (a server of one's own needs none), and for
        a key or an address that cannot be one."""
        require("chat: kind openai", "llm", "openai")
        import openai

        address = self.base_url or os.environ.get("OPENAI_BASE_URL") or None
        given = os.environ.get(self.key_variable, "").strip()
        if not given and not address:
            raise InputError(
                f"chat.model {self.model}: the environment has no {self.key_variable}; set it, or give chat.base_url"
            )
        if not (given.isascii() and given.isprintable()):
            raise InputError(f"{self.key_variable}: the key has characters that no header of HTTP may have")
        if address is not None:
            _check_address(address)
        try:
            connection = openai.AsyncOpenAI(
                api_key=given or "none",
                base_url=address,
                # `complete` has one clock for the whole request; these clocks begin anew with every byte
                timeout=None,
                # retries are those of `asking`, which also counts them
                max_retries=0,
                # a few bytes of zstd are gigabytes
                default_headers={"Accept-Encoding": "identity"},
                http_client=openai.DefaultAsyncHttpxClient(
                    follow_redirects=False, timeout=None, event_hooks={"response": [_close_refusal]}
                ),
            )
        except Exception as error:  # of addresses, proxies and certificates, in kinds of httpx or httpx2
            reason = " ".join(str(error).split())[:200]
            raise InputError(f"chat.model {self.model}: no connection can be made: {reason}") from None
        return OpenAIClient(connection, self, given)


class OpenAIClient:
    """A connection to such a server."""

    def __init__(self, connection: Any, settings: OpenAIChat, key: str) -> None:
        self._settings, self._key = settings, key
        self._create = connection.chat.completions.with_streaming_response.create  # imports a part of openai
        self._loop = _loop(os.getpid())  # one for good: connections that stay open belong to it

    def complete(self, messages: Sequence[Message], temperature: float, seed: int, n: int) -> Replies:
        """Return `n` replies. Raises Passing for a server that is busy, slow, cannot be reached or answers something
        else, and RunError for a refusal."""
        import openai

        model = self._settings.model
        request = {
            "model": model,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "temperature": temperature,
            "seed": seed,
            "n": n,
            "max_tokens": self._settings.max_tokens,
        }
        try:
            replies = read_completion(self._waited_for(request), self._key, messages)
        except openai.APIStatusError as error:
            raise self._refusal(error.status_code, error.response.headers) from None
        except TimeoutError:
            raise Passing(f"{model}: no whole answer within {self._settings.timeout_s:g} s") from None
        except UnusableCompletion as error:
            raise Passing(self._said(f"what the server answered cannot be read: {error}")) from None
        except Exception as error:
            # of openai, and of httpx or httpx2 below it, by its version
            if not (isinstance(error, openai.APIError) or passing(error)):
                raise
            cause = error.__cause__ or error
            raise Passing(self._said(str(cause) or type(cause).__name__)) from None
        if len(replies.texts) != n:
            raise Passing(f"{model}: the server gave {len(replies.texts)} replies to a request for {n}")
        return replies

    def _waited_for(self, request: Mapping[str, Any]) -> bytes:
        waiting = asyncio.run_coroutine_threadsafe(self._body(request), self._loop)
        try:
            return result_of(waiting)
        except BaseException:
            waiting.cancel()
            raise

    async def _body(self, request: Mapping[str, Any]) -> bytes:
        """Return the body of an answer. Raises TimeoutError after `timeout_s`, whatever has come by then, Unusable if
        it is too large or compressed, and the errors of openai and httpx."""
        body = bytearray()
        async with asyncio.timeout(self._settings.timeout_s):
            async with self._create(**request) as answer:
                if (coding := answer.headers.get("content-encoding", "identity")) != "identity":
                    raise UnusableCompletion(f"it is compressed ({coding[:20]}), though it was asked not to be")
                async for part in answer.iter_bytes():
                    body += part
                    if len(body) > LARGEST_BYTES:
                        raise UnusableCompletion(f"it is larger than {LARGEST_BYTES >> 20} MiB")
        return bytes(body)

    def _refusal(self, status: int, headers: Mapping[str, str]) -> Passing | RunError:
        """Return the error for a status; the body was not read."""
        if status in AGAIN or status >= 500:
            return Passing(self._said(f"the server answered {status}"), _wait(headers.get("retry-after")))
        if 300 <= status < 400 and (place := headers.get("location")):
            return RunError(
                self._said(
                    f"the server answered {status} and points to {_shown(place)}, where nothing is sent; "
                    "chat.base_url may name that server, if it is to be asked"
                )
            )
        return RunError(self._said(f"the server answered {status}"))

    def _said(self, what: str) -> str:
        """Return a message in one line, without the key and without what would steer a terminal."""
        line = " ".join(without_key(what, self._key).split())[:400]
        return f"{self._settings.model}: {''.join(c if c.isprintable() else '?' for c in line)}"


async def _close_refusal(response: Any) -> None:
    """Close an answer that is no completion before its body is read: it may be endless, or hold the key."""
    if not response.is_success:
        await response.aclose()


@cache
def _loop(process: int) -> asyncio.AbstractEventLoop:
    """Return the loop in which all requests of this process run, in a thread of its own. A fork needs another one."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="requests to chat models", daemon=True).start()
    return loop


def _check_address(address: str) -> None:
    try:
        parts = urlsplit(address)
        possible = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port or an IPv6 address that is none
        possible = False
    if not possible:
        got = "" if "@" in address else f", got {address[:80]!r}"  # a password may stand before the @
        raise InputError(f"chat.base_url must be an address such as http://127.0.0.1:8000/v1{got}")


def _shown(place: str) -> str:
    """Return an address without its user, query and fragment, which may hold a secret."""
    try:
        parts = urlsplit(place)
    except ValueError:
        return "no address"
    host = parts.netloc.rpartition("@")[2]
    return (f"{parts.scheme}://{host}{parts.path}" if host else parts.path or "nowhere")[:200]


def _wait(header: str | None) -> float | None:
    """Return the seconds of a Retry-After header, if it says seconds."""
    with suppress(TypeError, ValueError):
        return max(0.0, float(header or ""))
    return None
