"""Chat models behind a server that speaks OpenAI's protocol: OpenAI's own, vLLM, llama.cpp, Ray Serve."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

from pydantic import Field

from ticlm.datasets.llm.chat import Message, Passing, Replies
from ticlm.platform.core.errors import InputError, RunError
from ticlm.platform.core.periods import Label
from ticlm.platform.core.remote.passing import AGAIN, in_one_line
from ticlm.platform.core.settings import Settings


class OpenAIChat(Settings):
    """A model behind a server that speaks OpenAI's protocol (`/v1/chat/completions`).

    The key is read from the environment and never written anywhere. The model comes from outside the timeline.
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
    """Seconds after which a request without an answer is tried again."""

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
        """Return a client. Raises InputError without the package or the key; a server of one's own needs no key."""
        try:
            import openai
        except ImportError:
            raise InputError("chat.kind openai needs the package openai: pip install 'ticlm[llm]'") from None
        address = self.base_url or os.environ.get("OPENAI_BASE_URL") or None
        key = os.environ.get(self.key_variable) or ("none" if address else "")
        if not key:
            raise InputError(
                f"chat.model {self.model}: the environment has no {self.key_variable}; set it, or give chat.base_url"
            )
        # retries are those of `asking`, which also counts them
        made = openai.OpenAI(api_key=key, base_url=address, timeout=self.timeout_s, max_retries=0)
        return OpenAIClient(made, self.model, self.max_tokens)


class OpenAIClient:
    """A connection to such a server."""

    def __init__(self, connection: Any, model: str, max_tokens: int) -> None:
        self._connection, self._model, self._max_tokens = connection, model, max_tokens

    def complete(self, messages: Sequence[Message], temperature: float, seed: int, n: int) -> Replies:
        """Return `n` replies. Raises Passing for a server that is busy, cannot be reached or gives another number, and
        RunError for a refusal."""
        import openai

        try:
            answer = self._connection.chat.completions.create(
                model=self._model,
                messages=[{"role": message.role, "content": message.content} for message in messages],
                temperature=temperature,
                seed=seed,
                n=n,
                max_tokens=self._max_tokens,
            )
        except openai.APIStatusError as error:
            what = f"{self._model}: the server answered {error.status_code}: {in_one_line(error)}"
            if error.status_code in AGAIN or error.status_code >= 500:
                raise Passing(what, _wait(error.response.headers.get("retry-after"))) from None
            raise RunError(what) from None
        except openai.APIConnectionError as error:  # timeouts too
            raise Passing(f"{self._model}: {in_one_line(error)}") from None
        except (openai.APIError, ValueError) as error:  # half an answer, or one that is no JSON
            raise Passing(f"{self._model}: what the server answered cannot be read: {in_one_line(error)}") from None
        raw = answer.model_dump(mode="json") if hasattr(answer, "model_dump") else {}
        # a filtered reply has no text; it is kept as an empty one, which whoever asked counts as unusable
        texts = [(choice.get("message") or {}).get("content") or "" for choice in raw.get("choices") or ()]
        if len(texts) != n:
            raise Passing(f"{self._model}: the server gave {len(texts)} replies to a request for {n}")
        usage = raw.get("usage") or {}
        cost = int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)
        return Replies(tuple(map(str, texts)), *cost, raw=raw)


def _wait(header: str | None) -> float | None:
    """Return the seconds of a Retry-After header, if it says seconds."""
    with suppress(TypeError, ValueError):
        return max(0.0, float(header or ""))
    return None
