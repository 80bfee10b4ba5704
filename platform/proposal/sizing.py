"""The choice of sizes: model, budgets, evaluation rows and rates, for some text and some minutes of a machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ticlm.core.errors import InputError
from ticlm.platform.proposal import prompts
from ticlm.platform.proposal.ladder import LADDER, SizedModel, TinyModel
from ticlm.platform.proposal.periods import ChosenPeriods
from ticlm.platform.proposal.speed import Pace

LENGTH = 128
"""Tokens of a row, as in the packaged small studies: small models learn little from farther away."""
PER_PARAMETER = (20, 25)
"""Tokens for each parameter that the first model should see, and at most sees; TiC-LM's first model has 40."""
LEAST_PER_PARAMETER = 5
"""Tokens for each parameter at the very least: with fewer, plans warn (docs/sizing.md)."""
EPOCHS = 3.0
"""Passes over the text of the first span at most: what is seen more often is learnt by heart."""
UPDATE_EPOCHS = 2.0
"""Passes over the text of an update: with replay of a half, one over the new text and as many tokens of old text."""
ROWS = 200
"""Evaluation rows of a period: with so many, two methods that differ by .01 nats can be told apart (docs/sizing.md)."""
LANES = 2
"""Chains that train side by side, and checkpoints that are scored side by side."""
SEARCHED = 3
"""Periods, the base's among them, on which the peak of a model that exists is searched."""
RAY_S = 40.0
"""Seconds in which Ray, its workers and evaluators start, and the page is written."""
PROCESS_S = 12.0
"""Seconds of the same without Ray."""
RAY_FROM = 3.0
"""Minutes from which Ray's start pays."""
BUILD_BYTES = 2 << 20
"""Bytes of text that a build reads, encodes and packs in a second."""
REACHED = 0.7
"""Share of the measured speed that a run reaches: data, checkpoints, and chains that wait for one another."""
LEAST_STEPS = 12
"""Steps of the smallest update at least: plans warn below 10, and a build may have a tenth less text."""
FEW_ROWS = 96
"""Evaluation rows of a period where time is short: errors are 1.4 times those of ROWS."""


AVERAGES = ("anchor", "ema")
"""Methods that deploy averages of the checkpoints of replay ½, and train nothing."""
SAMPLING = 3
"""Times as long as scoring it a token takes to be written, 32 rows side by side (SmolLM2-135M on one core: 2 to 4)."""
FACTS_TOKENS = 60_000
"""Tokens that the 2,816 changes of world-facts take to be asked, by the time that they take."""


@dataclass(frozen=True)
class Clock:
    """How long work takes on this machine: `fixed` seconds by what they are for, and the pace of training and scoring
    on one core, of which a run has `lanes`."""

    fixed: dict[str, float]
    pace: Pace
    lanes: float

    @staticmethod
    def of(chosen: ChosenPeriods, ray: bool, cores: int, pace: Pace) -> Clock:
        whole = sum(amount.bytes for amount in chosen.amounts)
        fixed = {"build": 3 + whole / BUILD_BYTES, "start and page": RAY_S if ray else PROCESS_S}
        return Clock(fixed, pace, (min(LANES, cores) if ray else 1) * REACHED)


@dataclass(frozen=True)
class Sizes:
    """All numbers of a proposal."""

    shape: SizedModel
    bytes_per_token: float
    tokens: tuple[int, ...]
    """Tokens of text by period, held-out text included."""
    eval: float
    tune: float
    initial: int
    """Tokens of the first round."""
    update_epochs: float
    max_rows: int
    batch_rows: int
    oracle: bool
    ray: bool
    clock: Clock
    oracle_updates: int | None = None
    """Tokens that the last Oracle has in place of the updates', if those would show it a small period too often."""
    length: int = LENGTH
    """Tokens of a row."""
    repeats: float = 0.0
    """How often an Oracle would see the smallest period, if it is left out for that."""
    methods: tuple[str, ...] = ("cyclic-cosine", "replay-half")
    """The methods that are compared; of those in AVERAGES, the trunk is another one's."""
    samples: int = 0
    """Texts that the base writes, of a row's length at most, on which each checkpoint is scored."""
    has_facts: bool = False
    """Whether the first and the last checkpoints are asked for dated facts."""
    first: int = 1
    """Place of the first period that is an update; 0 if the model stands for no period of the calendar."""

    @property
    def usual(self) -> int:
        """Tokens of text of the median period after the first."""
        later = sorted(self.tokens[self.first :])
        return later[len(later) // 2]

    @property
    def expected_rows(self) -> int:
        """Training rows of the usual period."""
        return max(1, round(self.usual * (1 - self.eval - self.tune) / self.length))

    @property
    def warmup(self) -> int:
        """Steps over which the rate of an update rises."""
        return min(5, int(self.update_steps / 8))

    @property
    def chains(self) -> int:
        """Methods that train rounds of their own."""
        return len([one for one in self.methods if one not in AVERAGES])

    @property
    def train(self) -> tuple[int, ...]:
        """Tokens to train on by period."""
        return tuple(round(count * (1 - self.eval - self.tune)) for count in self.tokens)

    @property
    def updates(self) -> int:
        """Tokens of all updates of a method together."""
        return round(self.update_epochs * sum(self.train[self.first :]))

    @property
    def update_steps(self) -> float:
        """Steps of the smallest update."""
        return self.update_epochs * min(self.train[self.first :]) / self.batch_rows / self.length

    @property
    def per_parameter(self) -> float:
        return self.initial / self.shape.parameters

    @property
    def initial_epochs(self) -> float:
        return self.initial / self.train[0]

    @property
    def oracle_tokens(self) -> int:
        """Tokens of the last Oracle: those of a run, or fewer."""
        return self.initial + (self.updates if self.oracle_updates is None else self.oracle_updates)

    @property
    def trained(self) -> int:
        """Tokens that all rounds of the study train on: a first model, the methods, and the last Oracle."""
        return self.initial + self.chains * self.updates + (self.oracle_tokens if self.oracle else 0)

    @property
    def checkpoints(self) -> int:
        """Models that are scored."""
        return 1 + len(self.methods) * (len(self.tokens) - self.first) + self.oracle

    @property
    def scored(self) -> int:
        """Tokens that are scored: each checkpoint on each period."""
        rows = sum(min(self.max_rows, max(1, round(count * self.eval / self.length))) for count in self.tokens)
        facts = FACTS_TOKENS * (1 + len(self.methods)) if self.has_facts else 0
        return self.checkpoints * (rows + self.samples) * self.length + facts

    @property
    def sampled(self) -> int:
        """Tokens that models write: samples of the base, and half of what replay of a model's own samples reads."""
        own = self.updates // 2 if "replay-self" in self.methods else 0
        return own + self.samples * self.length

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds that building, training, scoring and the rest should take."""
        pace, parameters, step = self.clock.pace, self.shape.parameters, self.batch_rows * self.length
        written = self.checkpoints * prompts.MOST * prompts.TOKENS * pace.scoring_s(parameters, 1)
        training = self.trained / step * pace.training_s(parameters, self.batch_rows)
        scoring = self.scored / step * pace.scoring_s(parameters, self.batch_rows) + written
        training += SAMPLING * self.sampled / step * pace.scoring_s(parameters, self.batch_rows)
        lanes = self.clock.lanes
        return {**self.clock.fixed, "training": training / lanes, "scoring": scoring / lanes}

    @property
    def minutes(self) -> float:
        return sum(self.seconds.values()) / 60

    @property
    def search_minutes(self) -> float:
        """Minutes of a search of three peaks of one method, one after another, and of its choice on all periods; of a
        model that exists, of five peaks on the first updates."""
        step = self.batch_rows * self.length
        if self.samples:
            updates = 5 * self.update_epochs * sum(self.train[self.first : SEARCHED])
            training = updates / step * self.clock.pace.training_s(self.shape.parameters, self.batch_rows)
            return (RAY_S + 1.5 * training / REACHED) / 60  # half as much again to score what was trained
        training = 4 * self.updates / step * self.clock.pace.training_s(self.shape.parameters, self.batch_rows)
        return (RAY_S + training / REACHED + self.seconds["scoring"]) / 60

    @property
    def first_rate(self) -> float:
        """The peak of the first round."""
        return _round(self.shape.peak)

    @property
    def rates(self) -> tuple[float, float]:
        """The peaks of updates without and with replay: a sixteenth and an eighth of the first round's.

        On the posts of docs/sizing.md a 32nd and an eighth are best; higher ones forget more than they learn.
        """
        return _round(self.shape.peak / 16), _round(self.shape.peak / 8)


def fitted(
    chosen: ChosenPeriods, minutes: float, cores: int, bytes_per_token: Callable[[int], float], pace: Callable[[], Pace]
) -> Sizes:
    """Return the largest sizes that the text feeds and that fit into the minutes on so many cores.

    `bytes_per_token` is by the size of a vocabulary. If not even the smallest model that the text feeds fits, the last
    Oracle is left out first, then updates and evaluation rows become fewer, and then the first round shorter. Raises
    InputError if that leaves too little.
    """
    ray = minutes >= RAY_FROM and cores > 1
    clock = Clock.of(chosen, ray, cores, pace())
    for options in (_whole, _smaller):
        for shape in reversed(LADDER):
            sizes = _wanted(shape, chosen, bytes_per_token(shape.vocabulary), minutes, ray, clock)
            fed = sizes.initial >= PER_PARAMETER[0] * shape.parameters and sizes.update_steps >= LEAST_STEPS
            if shape != LADDER[0] and not fed:
                continue
            check_steps(sizes, chosen)
            fits = next((one for one in options(sizes) if one.minutes <= minutes), None)
            if fits is None and shape == LADDER[0] and options is _smaller:
                fits = _cut(sizes, minutes)
            if fits is not None:
                return fits
    raise AssertionError("the smallest shape is taken or refused")


def check_steps(sizes: Sizes, chosen: ChosenPeriods) -> None:
    """Raise InputError if the smallest update would have too few steps."""
    if sizes.update_steps < LEAST_STEPS:
        tokens, label = min(zip(sizes.tokens[sizes.first :], chosen.timeline.labels[sizes.first :]))
        raise InputError(
            f"the smallest {chosen.step}, {label}, has {tokens:,} tokens, too few for an update: it would have "
            f"{sizes.update_steps:.1f} steps, and should have {LEAST_STEPS}; add text of that {chosen.step}"
        )


def _wanted(shape: TinyModel, chosen: ChosenPeriods, size: float, minutes: float, ray: bool, clock: Clock) -> Sizes:
    """Return the sizes that a model of this shape should have, whatever the time."""
    tokens = tuple(round(amount.bytes / size) for amount in chosen.amounts)
    later = sorted(tokens[1:])
    held_out = ROWS * LENGTH / max(1, later[len(later) // 2])
    share = min(0.25, max(0.05, round(held_out, 2)))
    tune = max(0.02, round(share / 3, 2))
    sizes = Sizes(shape, size, tokens, share, tune, 0, 0.0, 256 if minutes > 15 else 192, 4, True, ray, clock)
    initial = min(PER_PARAMETER[1] * shape.parameters, round(EPOCHS * sizes.train[0]))
    # more updating than this is another training: the paper's chains take three times the tokens of the first model
    epochs = 3 * initial / max(1, sum(sizes.train[1:]))
    # a small period beside large ones needs more passes for its steps, and a twentieth more than these for rounding
    least = 1.05 * LEAST_STEPS * 2 * LENGTH / max(1, min(sizes.train[1:]))
    sizes = replace(sizes, initial=initial, update_epochs=_round(min(UPDATE_EPOCHS, max(epochs, least))))
    steps = sizes.update_steps
    return replace(sizes, batch_rows=16 if steps > 400 else 8 if steps > 200 else 4 if steps > 24 else 2)


def _whole(sizes: Sizes) -> list[Sizes]:
    """Return the sizes with all that a report needs, with many and with fewer evaluation rows."""
    return [sizes, replace(sizes, max_rows=FEW_ROWS)]


def _smaller(sizes: Sizes) -> list[Sizes]:
    """Return the sizes without the last Oracle, and then with updates of half the size."""
    less = replace(sizes, max_rows=FEW_ROWS, oracle=False)
    half = replace(less, update_epochs=_round(sizes.update_epochs / 2))
    return [less, half] if half.update_steps >= LEAST_STEPS else [less]


def _cut(sizes: Sizes, minutes: float) -> Sizes:
    """Return sizes that fit by fewer rows and shorter rounds. Raises InputError if they would teach nothing."""
    cut = replace(_smaller(sizes)[-1], max_rows=64)
    training = cut.seconds["training"] / 60
    share = min(1.0, (minutes - cut.minutes) / training + 1)
    enough = min(cut.initial, LEAST_PER_PARAMETER * cut.shape.parameters) / cut.initial
    least = min(1.0, max(enough, LEAST_STEPS / cut.update_steps))
    if share < least:
        needed = (cut.minutes - (1 - least) * training) * 1.1
        raise InputError(f"--minutes {minutes:g}: the smallest study of this text takes about {needed:.1f} here")
    return replace(cut, initial=round(cut.initial * share), update_epochs=_round(cut.update_epochs * share))


def _round(value: float) -> float:
    """Return a number with two digits, to be written into a file."""
    return float(f"{value:.2g}")
