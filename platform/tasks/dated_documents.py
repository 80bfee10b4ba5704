"""Texts behind a date: the right one, a wrong one, or none (Dhingra et al., 2022)."""

from __future__ import annotations

from calendar import monthrange
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import Field, model_validator

from ticlm.core.errors import InputError
from ticlm.core.periods import span
from ticlm.datasets.text.date_lines import DateForm, dated
from ticlm.platform.tasks.answerer import Cut, TokenLosses
from ticlm.platform.tasks.base import Measurement
from ticlm.platform.tasks.documents import ExamplesTask, are_finite, blocks, left_out

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ticlm.core.examples import Example, Examples
    from ticlm.platform.tasks.answerer import Answerer

ROOM = 24
"""Tokens that are read of a text beyond those that are scored, so that a date line has room before them."""
NO_DATE = "none"
OTHER_TOKENS = "tokens that depend on the date"


class DatedPerplexity(ExamplesTask):
    """How the loss of a text depends on the date before it. Each text is read behind a line with its own date, with
    dates that are some months off, and without one; the line is not scored, and the tokens that are, are the same.

    `nll` is the mean −ln P per token behind the right date, `nll+12` that behind a date twelve months too late,
    `nll-none` that without one; `difference+12` is by how much it is above `nll`, with a standard error by bootstrap
    over the same texts. The date of a text is its `about.date`; without one, the last day of its period.
    """

    kind: Literal["dated-perplexity"] = "dated-perplexity"
    line: DateForm = "Date: %B %Y"
    """The line before each text, as the corpus has it: see `date-line` among the filters of a recipe."""
    shifts: tuple[int, ...] = (-24, -12, -3, 3, 12, 24)
    """By how many months the wrong dates are off: below 0 too early, above 0 too late."""
    without: bool = True
    """Whether texts are read without a date, too."""
    first_tokens: int = Field(96, gt=0)
    """Tokens of a text that are scored, from its beginning; with its line they must fit the model's window, or the
    model does not see the date before the last of them."""

    @model_validator(mode="after")
    def _wrong(self) -> DatedPerplexity:
        if 0 in self.shifts or len({*self.shifts}) < len(self.shifts):
            raise ValueError(f"shifts must be different, and none may be 0, the right date; got {list(self.shifts)}")
        return self

    def measure(self, answerer: Answerer, data: Examples, label: str, rows: int) -> Iterator[Measurement]:
        import numpy as np

        from ticlm.platform.tasks.statistics import ratio, ratios

        reasons: Counter[str] = Counter()
        sums: list[list[float]] = []
        tokens: list[int] = []
        for block in blocks(data, label, self.split, rows):
            for losses in self._read(answerer, block, label, reasons):
                sums.append([float(one.sum(dtype=np.float64)) for one in losses])
                tokens.append(len(losses[0]))
        if tokens and are_finite([sum(each) for each in sums], reasons):
            found, counts = np.asarray(sums), np.asarray(tokens)
            whole = int(counts.sum())
            right = ratio(found[:, 0], counts)
            yield Measurement("nll", right.value, whole, right.stderr)
            for number, name in enumerate(self._names(), 1):
                loss, above = ratios((found[:, number], counts), (found[:, number] - found[:, 0], counts))
                yield Measurement(f"nll{name}", loss.value, whole, loss.stderr)
                yield Measurement(f"difference{name}", above.value, whole, above.stderr)
        yield from left_out(reasons)

    def _names(self) -> list[str]:
        return [f"{shift:+d}" for shift in self.shifts] + ([f"-{NO_DATE}"] if self.without else [])

    def _read(
        self, answerer: Answerer, block: Sequence[Example], label: str, reasons: Counter[str]
    ) -> Iterator[list[NDArray[np.float32]]]:
        """Yield, for each text, the losses of its scored tokens in nats, float32[tokens]: behind the right date, then
        in the order of `_names`. Texts whose tokens depend on the date are counted in `reasons`."""
        lines = [self._lines(example, label) for example in block]
        texts = [line + example.text for example, own in zip(block, lines, strict=True) for line in own]
        found = iter(answerer.read(texts, Cut(first=self.first_tokens + ROOM)))
        for own in lines:
            parts = [_behind(next(found), len(line), self.first_tokens) for line in own]
            if not len(parts[0].losses):
                reasons["no token to score"] += 1
            elif any(part.ends != parts[0].ends for part in parts):
                reasons[OTHER_TOKENS] += 1
            else:
                yield [part.losses for part in parts]

    def _lines(self, example: Example, label: str) -> list[str]:
        day = self._day(example, label)
        days = [day, *(_moved(day, shift) for shift in self.shifts)]
        return [dated(self.line, one) for one in days] + ([""] if self.without else [])

    def _day(self, example: Example, label: str) -> date:
        try:
            if "date" in example.about:
                return date.fromisoformat(example.about["date"])
            return span(label)[1] - timedelta(days=1)
        except ValueError as error:
            raise InputError(f"{self.name}: example {example.id} of {label} has no date: {error}") from None


class _Part(NamedTuple):
    """The scored tokens of a text: their losses, and where each begins and ends in the text."""

    losses: NDArray[np.float32]
    ends: list[list[int]]


def _behind(reading: TokenLosses, line: int, count: int) -> _Part:
    """Return the first `count` tokens of a text that stands behind a line of `line` characters. A token that reaches
    over the border counts as the text's, so that the caller sees that it is another token."""
    chosen = reading.offsets[:, 1] > line
    offsets = reading.offsets[chosen][:count] - line
    return _Part(reading.losses[chosen][:count], offsets.tolist())


def _moved(day: date, months: int) -> date:
    """Return the day `months` later (earlier if below 0), or the last day of that month if it is shorter."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))
