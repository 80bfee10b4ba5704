"""The choice among the settings that were tried: a rule, the Pareto front, and the comparison with all periods."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from ticlm.core.errors import RunError

RULE = "lowest mean of backward, in-distribution and forward; the first on ties"


class PeriodScores(NamedTuple):
    """The three mean losses or regrets of a trial, in nats; lower is better. None for what the periods of a study
    cannot have, which is then the same for all trials: of a single continual period, nothing is forward."""

    backward: float | None
    in_distribution: float
    forward: float | None

    @property
    def there(self) -> tuple[float, ...]:
        """Those that the study has."""
        return tuple(number for number in self if number is not None)

    @property
    def mean(self) -> float:
        """The mean of those that the study has."""
        return float(self.total / len(self.there)) if self.comparable else sum(self.there) / len(self.there)

    @property
    def total(self) -> Fraction:
        """The exact sum of those there are as they are written, by which settings are compared.

        So a setting that is worse in one number and equal in the others never ties, and settings whose numbers in a
        printed table have the same sum do.
        """
        return sum((Fraction(repr(float(number))) for number in self.there), Fraction())

    @property
    def comparable(self) -> bool:
        """Whether all that the study has are finite numbers."""
        return all(map(math.isfinite, self.there))

    def dominates(self, other: PeriodScores) -> bool:
        """Return whether this is no worse in all numbers and better in one."""
        return all(a <= b for a, b in zip(self.there, other.there)) and self != other


@dataclass(frozen=True)
class TrialScores:
    """A setting that was tried, and its scores.

    `scores`: on the periods that tuning sees; None if the trial was stopped early or failed, which `note` then says.
    `whole`: on all periods, if it was trained on them. `forecast`: on all periods, if the choice is by forecasts.
    """

    name: str
    setting: str
    scores: PeriodScores | None
    whole: PeriodScores | None = None
    note: str = ""
    forecast: PeriodScores | None = None


Of = Callable[[TrialScores], PeriodScores | None]


def on_tuning(trial: TrialScores) -> PeriodScores | None:
    """Return the scores on the periods that tuning sees."""
    return trial.scores


def on_all(trial: TrialScores) -> PeriodScores | None:
    """Return the scores on all periods."""
    return trial.whole


def on_forecast(trial: TrialScores) -> PeriodScores | None:
    """Return the forecast of the scores on all periods."""
    return trial.forecast


def deciding(trials: Iterable[TrialScores]) -> Of:
    """Return the scores that a choice is made by: forecasts if there are any, else scores on tuning's periods."""
    return on_forecast if any(trial.forecast is not None for trial in trials) else on_tuning


def compared(trials: Iterable[TrialScores], of: Of = on_tuning) -> list[tuple[TrialScores, PeriodScores]]:
    """Return the trials that have three finite scores, with these."""
    found = [(trial, of(trial)) for trial in trials]
    return [(trial, scores) for trial, scores in found if scores is not None and scores.comparable]


def choose(trials: Sequence[TrialScores], of: Of | None = None) -> TrialScores:
    """Return the trial that RULE picks, by default by the `deciding` scores. Raises RunError if no trial has scores."""
    of = of or deciding(trials)
    having = compared(trials, of)
    if not having:
        why = "; ".join(f"{trial.setting}: {_missing(trial, of)}" for trial in trials) or "there are no trials"
        raise RunError(f"no trial has scores to choose by ({why})")
    return min(having, key=lambda pair: pair[1].total)[0]  # min() takes the first of equals, as RULE says


def worst(trials: Sequence[TrialScores], of: Of | None = None) -> TrialScores:
    """Return the trial with the highest mean, the last on ties. Raises RunError if no trial has scores."""
    of = of or deciding(trials)
    choose(trials, of)
    return max(reversed(compared(trials, of)), key=lambda pair: pair[1].total)[0]


def front(trials: Sequence[TrialScores], of: Of = on_tuning) -> tuple[TrialScores, ...]:
    """Return the Pareto front: the trials that no other trial dominates, in their order."""
    having = compared(trials, of)
    return tuple(trial for trial, scores in having if not any(other.dominates(scores) for _, other in having))


def describe(trials: Sequence[TrialScores]) -> list[str]:
    """Describe the choice in lines: the rule and its pick, the front, and the trials that could not be compared.

    If two or more trials were trained on all periods, further lines say what the rule would pick there. Raises RunError
    if no trial has scores.
    """
    of = deciding(trials)
    chosen = choose(trials, of)
    predicted = "predicted for all periods, " if of is on_forecast else ""
    lines = [f"the rule ({predicted}{RULE}) picks {_picked(trials, chosen, of)}"]
    if of is on_forecast and compared(trials):
        lines.append(
            f"by the first periods alone it would pick {_picked(trials, choose(trials, on_tuning), on_tuning)}"
        )
    lines.append(f"on the Pareto front: {_listed(front(trials))}")
    without = [f"{trial.setting} ({_missing(trial, on_tuning)})" for trial in trials if not compared([trial])]
    if without:
        lines.append(f"not compared: {'; '.join(without)}")
    return lines + (_in_hindsight(trials, chosen) if len(compared(trials, on_all)) > 1 else [])


def decimals(values: Iterable[float], least: int = 4, most: int = 8) -> int:
    """Return how many decimals, from `least` to `most`, make different values look different."""
    different = {value for value in values if math.isfinite(value)}
    enough = (n for n in range(least, most) if len({f"{value:.{n}f}" for value in different}) == len(different))
    return next(enough, most)


def _in_hindsight(trials: Sequence[TrialScores], chosen: TrialScores) -> list[str]:
    best, means = choose(trials, on_all), _means(trials, on_all)
    where = f"on all periods ({len(means)} of {len(trials)} settings were run on them)"
    where = "on all periods" if len(means) == len(trials) else where
    own = chosen.whole
    if own is None or not own.comparable:
        line = f"{where} the rule would pick {_picked(trials, best, on_all)}; {chosen.setting} was not scored on them"
    elif best.whole is not None and best.whole.total < own.total:
        line = (
            f"{where} the rule would prefer {best.setting} ({_mean(best.whole, means)} against {_mean(own, means)}): "
            "what is best on the first periods is not best in hindsight"
        )
    else:
        line = f"{where} the choice holds: {_picked(trials, chosen, on_all)}"
    return [line, f"on the Pareto front of all periods: {_listed(front(trials, on_all))}"]


def _picked(trials: Sequence[TrialScores], chosen: TrialScores, of: Of) -> str:
    """Return the setting of the chosen trial, its mean, and the settings that tie with it."""
    having = compared(trials, of)
    own = next(scores for trial, scores in having if trial is chosen)
    ties = [trial.setting for trial, scores in having if scores.total == own.total and trial is not chosen]
    tied = f", tied with {'; '.join(ties)}" if ties else ""
    return f"{chosen.setting} (mean {_mean(own, _means(trials, of))}{tied})"


def _means(trials: Sequence[TrialScores], of: Of) -> list[float]:
    return [scores.mean for _, scores in compared(trials, of)]


def _mean(scores: PeriodScores, among: Sequence[float]) -> str:
    return f"{scores.mean:.{decimals(among, least=5)}f}"


def _missing(trial: TrialScores, of: Of) -> str:
    scores = of(trial)
    reason = "no scores" if scores is None else f"scores that are no finite numbers: {', '.join(map(str, scores))}"
    return f"{reason}; {trial.note}" if trial.note and scores is not None else trial.note or reason


def _listed(trials: Sequence[TrialScores]) -> str:
    return "; ".join(trial.setting for trial in trials)
