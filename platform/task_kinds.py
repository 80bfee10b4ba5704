"""Every kind of task a study can name."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Tag

from ticlm.platform.asking import DocumentPerplexity
from ticlm.platform.tasks import Perplexity, PerplexityOn

KINDS = ("perplexity", "perplexity-on", "document-perplexity")


def _kind(value: Any) -> str:
    given = value.get("kind", "perplexity") if isinstance(value, dict) else getattr(value, "kind", "perplexity")
    return str(given)


AnyTask = Annotated[
    Annotated[Perplexity, Tag("perplexity")]
    | Annotated[PerplexityOn, Tag("perplexity-on")]
    | Annotated[DocumentPerplexity, Tag("document-perplexity")],
    Discriminator(_kind, custom_error_type="kind", custom_error_message=f"kind must be one of {', '.join(KINDS)}"),
]
