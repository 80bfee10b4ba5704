"""What is claimed of the methods of a study."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field, model_validator

from ticlm.core.settings import Settings
from ticlm.platform.study.tables import TableRequest

BASE = "base"
"""Stands for the first checkpoint in a claim about scores: nothing has changed since."""


class Claim(Settings):
    """One claim: each method of `higher` scores above each one of `lower`, or, with `within`, like it.

    A method is one of the study, `base` for the first checkpoint, or `STUDY/METHOD` of another study of the report that
    asks for claims too.
    """

    says: str = Field(min_length=1)
    """The claim, in a sentence."""
    source: str = ""
    """Where it is made: a section or a table of a paper."""
    score: str = ""
    """The score that is compared, `TASK` or `TASK/SET`: its change from the first checkpoint of a run to the last."""
    number: str = ""
    """What is compared in place of a score: the name of an entry of `tables` that has one number for each run, such as
    a FUAR, or with a part (`temporalwiki/Un.`) its change from the first checkpoint."""
    higher: tuple[str, ...] = Field(min_length=1)
    """The methods that are claimed to have the higher values."""
    lower: tuple[str, ...] = Field(min_length=1)
    """The methods that are claimed to have the lower values."""
    within: float | None = Field(None, gt=0)
    """The claim is that the two are alike: that they differ by less than this, in percent points for shares."""

    @model_validator(mode="after")
    def _compares(self) -> Claim:
        if bool(self.score) == bool(self.number):
            raise ValueError("give a score or a number, one of the two")
        if both := next((name for name in self.higher if name in self.lower), None):
            raise ValueError(f"{both} stands on both sides")
        if self.number and "/" not in self.number and BASE in (*self.higher, *self.lower):
            raise ValueError(f"{BASE} has scores alone: a {self.number} is of what comes after it")
        return self


class KnownBefore(Settings):
    """What first models must know for the claims to mean much."""

    score: str
    """A score, `TASK` or `TASK/SET`."""
    at_least: float
    """The least value at the first checkpoint, in percent for shares."""


class ClaimsRequest(TableRequest):
    """Claims about the methods of a study, each with what was measured: the difference of each pair of methods, and a
    verdict. A claim holds if the 95 % intervals of all its pairs say so, and does not hold if that of one pair says the
    contrary; else this study cannot tell.

    Intervals are Student's t over the means of the first models (`initial.seed` with a list); of a study with one first
    model they are over its seeds. Runs that start from the same first models are compared one by one.
    """

    not_tasks = frozenset(
        {"kind", "name", "metric", "says", "source", "number", "higher", "lower", "within", "at_least"}
    )
    kind: Literal["claims"] = "claims"
    name: str = "claims"
    """Whose claims they are, as the report says it."""
    claims: tuple[Claim, ...] = Field(min_length=1)
    """The claims, in the order of the report."""
    metric: str = "exact-match"
    """The metric of all scores."""
    base: KnownBefore | None = None
    """What first models are asked to know. The report says what each knows, and which one knows less."""

    def named(self) -> Iterator[tuple[str, str]]:
        yield from () if self.base is None else (("base.score", self.base.score),)
        yield from ((f"claims.{place}.score", one.score) for place, one in enumerate(self.claims) if one.score)

    def named_entries(self) -> Iterator[tuple[str, str]]:
        yield from ((f"claims.{place}.number", one.number) for place, one in enumerate(self.claims) if one.number)

    def named_methods(self) -> Iterator[tuple[str, str]]:
        for place, one in enumerate(self.claims):
            for side in ("higher", "lower"):
                for name in getattr(one, side):
                    if name != BASE and "/" not in name:
                        yield f"claims.{place}.{side}", name
