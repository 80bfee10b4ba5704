"""The models that judge, as settings: one chat model, or several different ones."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from ticlm.core.settings import Settings
from ticlm.datasets.llm.union import AnyChat, RecordedChat


def each(judge: AnyChat | tuple[AnyChat, ...] | None) -> tuple[AnyChat, ...]:
    """Return the judges one by one; none if nobody is named."""
    return judge if isinstance(judge, tuple) else () if judge is None else (judge,)


def identities(judge: AnyChat | tuple[AnyChat, ...] | None) -> Settings | tuple[Settings, ...] | None:
    """Return the identity of each judge; that of one judge is its own, as in sets from before there were several."""
    found = tuple(one.identity for one in each(judge))
    return found if len(found) > 1 else found[0] if found else None


def _different(judge: AnyChat | tuple[AnyChat, ...]) -> AnyChat | tuple[AnyChat, ...]:
    """Return a list of one as that one. Raises ValueError for a model twice, which would agree with itself."""
    models = [one.of if isinstance(one, RecordedChat) else one for one in each(judge)]
    for place, model in enumerate(models):
        if model in models[:place]:
            raise ValueError(f"judge {place + 1} is the same model as judge {models.index(model) + 1}")
    return judge[0] if isinstance(judge, tuple) and len(judge) == 1 else judge


AnyJudges = Annotated[
    AnyChat | Annotated[tuple[AnyChat, ...], Field(min_length=1)],
    AfterValidator(_different),
]
