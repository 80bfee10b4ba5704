"""Claims beside what was measured: an entry `kind: claims` of a study's `tables`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ticlm.platform.analysis.numbers import signed
from ticlm.platform.analysis.probe_scores import ScoreReader
from ticlm.platform.display.claims.settings import ClaimsRequest
from ticlm.platform.display.claims.verdicts import FAILS, HOLDS, OPEN, ClaimPair, Judged, judge, known_before
from ticlm.platform.display.parts import Part, Section, Tables
from ticlm.platform.display.text_tables import TextCell, TextLine, TextTable
from ticlm.platform.results.study_result import StudyResult, as_frame

TITLE = "Claims, and what was measured"
COLUMNS = (
    *("study", "claims", "claim", "says", "source", "compared", "within", "higher", "lower"),
    *("difference", "low", "high", "first_models", "runs", "pair_verdict", "verdict"),
)
MEANING = (
    "Of each pair of methods, the difference of what the claim compares: the change of a score from the first "
    "checkpoint of a run to its last, in points, or one number of a run, as it is. Below it is the 95 % interval."
)
RULE = (
    "A claim holds if the intervals of all its pairs say so, and does not hold if that of one pair says the contrary; "
    "else it cannot be told here. No interval is widened for the number of pairs."
)
TONES = {HOLDS: "right", FAILS: "wrong", OPEN: ""}


class Claims(ClaimsRequest, Tables):
    def part(self, study: StudyResult) -> Part:
        return self.of_all([(study, self)])

    @classmethod
    def of_all(cls, asked: Sequence[tuple[StudyResult, ClaimsRequest]]) -> Part:
        others = [study for study, _ in asked]
        found = [(study, one, [judge(c, one, study, others) for c in one.claims]) for study, one in asked]
        tables = tuple(_table(study, one, judged, len(asked) > 1) for study, one, judged in found)
        missing = tuple(line for study, one in asked for line in _knows_less(study, one))
        rows = [row for study, one, judged in found for row in _rows(study, one, judged)]
        sentences = tuple((study.name, _sentence(one, judged)) for study, one, judged in found)
        section = Section("claims", TITLE, tables, short="Claims")
        frames = {"claims": as_frame(rows, COLUMNS)}
        return Part(TITLE, frames, (section,), sentences, missing=missing, counts_as_benchmark=False)


def _rows(study: StudyResult, asked: ClaimsRequest, judged: Sequence[Judged]) -> Iterator[dict[str, Any]]:
    for place, one in enumerate(judged, 1):
        claim = one.claim
        for pair in one.pairs:
            yield {
                "study": study.name,
                "claims": asked.name,
                "claim": place,
                "says": claim.says,
                "source": claim.source,
                "compared": claim.score or claim.number,
                "within": claim.within,
                "higher": pair.higher,
                "lower": pair.lower,
                "difference": pair.difference,
                "low": pair.low,
                "high": pair.high,
                "first_models": pair.models,
                "runs": pair.runs,
                "pair_verdict": pair.verdict(claim.within),
                "verdict": one.verdict,
            }


def _table(study: StudyResult, asked: ClaimsRequest, judged: Sequence[Judged], several: bool) -> TextTable:
    title = f"{asked.name} ({study.name})" if several else asked.name
    lines = tuple(line for place, one in enumerate(judged, 1) for line in _lines(place, one))
    return TextTable(
        title,
        ("claim", "methods"),
        ("difference", "of this pair"),
        lines,
        (MEANING, _over(judged), RULE, *_bases(study, asked)),
        main=True,
    )


def _lines(place: int, one: Judged) -> Iterator[TextLine]:
    """Yield a line for each pair of a claim, below the claim and its verdict."""
    claim = one.claim
    by = f" ({claim.source})" if claim.source else ""
    for pair in one.pairs:
        verdict = pair.verdict(claim.within)
        what = f"{pair.higher} {'≈' if claim.within else '>'} {pair.lower}"
        cells = (_cell(pair, claim.number), TextCell(verdict, tone=TONES[verdict]))
        block = f"{place}. {claim.says}{by}: {one.verdict}"
        yield TextLine((claim.score or claim.number, what), cells, block=block)


def _cell(pair: ClaimPair, number: str) -> TextCell:
    if not math.isfinite(pair.difference):
        return TextCell("–", hint="a number is missing")
    digits = 2 if number else 1
    around = f"{signed(pair.low, digits)} to {signed(pair.high, digits)}" if math.isfinite(pair.low) else "one run"
    return TextCell(signed(pair.difference, digits, plus=True), around)


def _over(judged: Sequence[Judged]) -> str:
    """Say what the intervals are over."""
    pairs = [pair for one in judged for pair in one.pairs]
    models, runs = (max((getattr(pair, of) for pair in pairs), default=0) for of in ("models", "runs"))
    if models > 1:
        return f"Intervals are Student's t over {models} first models, with up to {runs} runs of a method."
    if runs > 1:
        return f"Intervals are Student's t over {runs} seeds of one first model: another one may differ by more."
    return "Each method was run once, so that nothing can be told: give initial.seed a list, and methods seeds."


def _bases(study: StudyResult, asked: ClaimsRequest) -> Iterator[str]:
    """Yield what the first models know."""
    if asked.base is not None:
        known = known_before(ScoreReader(study, asked.metric), asked.base.score)
        told = ", ".join(f"{signed(value, 1)} ({seed})" for seed, value in known.items())
        yield f"{asked.base.score} of the first models: {told or 'not known'}."


def _knows_less(study: StudyResult, asked: ClaimsRequest) -> Iterator[str]:
    """Yield a line for each first model that knows less than is asked of it."""
    if asked.base is not None:
        score, least = asked.base.score, asked.base.at_least
        for seed, value in known_before(ScoreReader(study, asked.metric), score).items():
            if value < least:
                told = f"the first model of {seed} reached {signed(value, 1)} of {score}, not the {least:g} asked"
                yield f"{study.name}, claims {asked.name}: {told}"


def _sentence(asked: ClaimsRequest, judged: Sequence[Judged]) -> str:
    found = Counter(one.verdict for one in judged)
    told = ", ".join(f"{verdict} {found[verdict]}" for verdict in (HOLDS, FAILS, OPEN))
    return f"{asked.name}: of {len(judged)} claims, {told}."
