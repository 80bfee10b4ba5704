"""Prompts that every checkpoint continues, so that a report can show what models say, month by month."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, field_validator

from ticlm.platform.tasks.base import NOT_A_NUMBER, Measurement, Prediction, Reads, Task
from ticlm.platform.tasks.cells.cell import Axis
from ticlm.platform.tasks.documents import left_out
from ticlm.platform.tasks.shown_prompts import ShownPrompt

if TYPE_CHECKING:
    from ticlm.platform.tasks.answerer import Answerer
    from ticlm.platform.tasks.base import Data

CHARACTERS = "characters"


def _prompt(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value


class Continuations(Task):
    """What a model writes after each of some prompts, always by the likeliest token: texts to look at, not a score.

    The texts are kept on the root, and the section "What the models say" of a report shows them by month and method
    (`tables: [{kind: says}]` says how). The one number of a cell is the length of the text in characters. Prompts are
    yours and no model is trained on them. A prompt that does not fit the model's window loses its beginning.
    """

    kind: Literal["continuations"] = "continuations"
    name: str = "continuations"
    """Name of the task in results."""
    prompts: tuple[Annotated[ShownPrompt, BeforeValidator(_prompt, json_schema_input_type=str | ShownPrompt)], ...] = (
        Field(min_length=1, max_length=50)
    )
    """The texts to continue: each a text, or `{text: TEXT, answers: {PERIOD: TEXT, …}}`."""
    tokens: int = Field(24, gt=0, le=1024)
    """The largest number of tokens that a model writes."""
    reads: ClassVar[Reads] = "nothing"
    unit: ClassVar[str] = "prompts"
    metric: ClassVar[str] = CHARACTERS

    @field_validator("prompts")
    @classmethod
    def _differ(cls, prompts: tuple[ShownPrompt, ...]) -> tuple[ShownPrompt, ...]:
        texts = [one.text for one in prompts]
        if twice := next((text for text in texts if texts.count(text) > 1), None):
            raise ValueError(f"{twice[:60]!r} stands twice; give each prompt once")
        return prompts

    @property
    def keeps_predictions(self) -> bool:
        return True

    @property
    def axis(self) -> Axis:
        return "probe"

    @property
    def shown_prompts(self) -> tuple[ShownPrompt, ...]:
        return self.prompts

    def labels(self, data: Data, periods: Sequence[str]) -> tuple[str, ...]:
        return tuple(one.text for one in self.prompts)

    def hashes(self, data: Data, labels: Sequence[str]) -> dict[str, str]:
        return {label: hashlib.sha256(label.encode()).hexdigest() for label in labels}

    def identity_at(self, label: str) -> Continuations:
        """Return the task without its prompts: that of the cell is its data, so one more prompt is one more cell."""
        return self.model_copy(update={"prompts": (), "name": "continuations"})

    def measure(self, answerer: Answerer, data: None, label: str, rows: int) -> Iterator[Measurement]:
        # One prompt at a time: in a batch, padding changes the last bits of logits, and so perhaps a close choice.
        text = answerer.generate([label], self.tokens)[0]
        if text is None:
            yield from left_out(Counter({NOT_A_NUMBER: 1}))
        else:
            kept = (Prediction(label, text, math.nan, math.nan),)
            yield Measurement(CHARACTERS, len(text), 1, predictions=kept)

    def table(self, cells: Sequence[Any]) -> list[Measurement]:
        """Return no number: texts do not compete."""
        return []
