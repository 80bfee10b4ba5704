"""Mix-Review: how many old rows each epoch gets, where they come from, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ticlm.core.errors import FutureMonthError, InputError
from ticlm.core.mixture import Mixture, Source
from ticlm.core.settings import parse
from ticlm.methods.catalog import CATALOG
from ticlm.methods.method import Continual
from ticlm.methods.mix_review import MixReview
from ticlm.methods.timeline import MethodTimeline

LENGTH, ROWS = 16, 1000
PERIODS = ("202301", "202302", "202303")
SIZES = dict.fromkeys(PERIODS, ROWS)


def timeline(epochs: float, sizes: Mapping[str, int] | None = SIZES) -> MethodTimeline:
    return MethodTimeline(
        sources={label: Source(corpus="news@1", period=label) for label in PERIODS},
        start=PERIODS[0],
        initial=64,
        continual=PERIODS[1:],
        later=PERIODS[1:],
        budget=lambda label: int(epochs * ROWS * LENGTH),
        budget_upto=lambda label, total: 0,
        sizes=sizes,
        length=LENGTH,
    )


def rows(mixtures: tuple[Mixture, ...]) -> list[tuple[float, float]]:
    """Old and new rows of each mixture, which has the old ones first."""
    shares = [[share.tokens / LENGTH for share in mixture.shares] for mixture in mixtures]
    return [(old, new) for old, new in shares]


@pytest.mark.parametrize(
    ("epochs", "old"),
    [
        (4, [4000, 2800, 1960, 1372]),
        (8, [4000, 2800, 1960, 1372, 960, 672, 470, 329]),
    ],
)
def test_each_epoch_has_a_sample_and_the_samples_decay(epochs: int, old: list[int]) -> None:
    """CKL's sums are 10.13 N over four epochs and 12.56 N over eight; each sample is rounded down."""
    found = rows(MixReview().mixtures("202302", timeline(epochs)))
    assert found == [(sample, ROWS) for sample in old]
    assert sum(old) / ROWS == pytest.approx({4: 10.132, 8: 12.563}[epochs], abs=1e-3)


def test_the_catalogue_has_the_published_ratio_and_decay_and_a_constant_one_to_one() -> None:
    published, constant = (CATALOG[name] for name in ("mix-review", "mix-review-1-1"))
    assert isinstance(published, Continual) and isinstance(constant, Continual)
    assert published.replay == MixReview(ratio=4, decay=0.7)
    assert rows(constant.replay.mixtures("202302", timeline(3.5))) == [(3500, 3500)]


def test_the_last_part_of_an_epoch_has_that_part_of_its_sample() -> None:
    assert rows(MixReview().mixtures("202302", timeline(1.5))) == [(4000, 1000), (1400, 500)]
    assert rows(MixReview().mixtures("202302", timeline(0.25))) == [(1000, 250)]


def test_epochs_without_a_sample_come_as_one() -> None:
    """Else a budget of thousands of epochs would have thousands of segments."""
    *mixed, rest = MixReview(ratio=0.002, decay=0.5).mixtures("202302", timeline(1000))
    assert rows(tuple(mixed)) == [(2, 1000), (1, 1000)]
    assert [share.tokens / LENGTH for share in rest.shares] == [998 * ROWS]


def test_samples_are_exact_decimals() -> None:
    """In floats 1000 · 4 · 0.7² is 1959.99…"""
    assert int(1000 * 4 * 0.7**2) == 1959
    assert rows(MixReview().mixtures("202302", timeline(3)))[2] == (1960, 1000)


def test_old_rows_are_those_of_the_first_period_or_of_what_is_named() -> None:
    def old(**changes: Any) -> str:
        return str(MixReview(**changes).mixtures("202303", timeline(1))[0].sources[0])

    assert old() == "news@1/202301/train"
    assert old(period="202302") == "news@1/202302/train"
    assert old(corpus="s3://there/wiki@2", period="202302") == "wiki@2/202302/train"
    assert old(corpus="wiki", period="dump", as_of="202303") == "wiki@1/dump/train"
    assert old(corpus="wiki", period="dump", as_of="outside") == "wiki@1/dump/train"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"corpus": "wiki", "period": "202303"}, "replay mix-review at period 202302 would read period 202303"),
        ({"period": "202303"}, "replay mix-review at period 202302 would read period 202303"),
        (
            {"corpus": "wiki", "period": "dump", "as_of": "202303"},
            "from corpus wiki as of 202303, at period 202302 would read period 202303",
        ),
    ],
)
def test_old_rows_are_not_later_than_the_round(changes: dict[str, str], said: str) -> None:
    with pytest.raises(FutureMonthError, match=said):
        MixReview(**changes).mixtures("202302", timeline(1))


@pytest.mark.parametrize(
    ("changes", "label", "sizes", "said"),
    [
        ({}, "202301", SIZES, "replay mix-review has no old corpus at period 202301: give replay.corpus and "),
        ({"period": "202302"}, "202302", SIZES, "replay mix-review has no old corpus at period 202302"),
        ({"corpus": "wiki", "period": "dump"}, "202302", SIZES, "from outside the timeline is declared with as_of"),
        ({}, "202302", None, "samples old rows by the rows of 202302, which no corpus has yet: build it first"),
        ({}, "202302", SIZES | {"202302": 0}, "of 202302, a period without any row to train on"),
    ],
)
def test_what_cannot_be_mixed_is_one_line(
    changes: dict[str, str], label: str, sizes: dict[str, int] | None, said: str
) -> None:
    with pytest.raises(InputError) as caught:
        MixReview(**changes).mixtures(label, timeline(1, sizes))
    assert said in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"corpus": "wiki"}, "replay mix-review: give the period of its corpus too"),
        ({"period": "202301", "as_of": "202301"}, "as_of declares a corpus from outside the timeline: give corpus"),
        ({"ratio": 0}, "ratio: must be greater than 0"),
        ({"decay": 1.5}, "decay: must be less than or equal to 1"),
        ({"buffer_tokens": 64}, "buffer_tokens: unknown key"),
        ({"expire_after": 2}, "expire_after: unknown key"),
    ],
)
def test_settings_without_meaning_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(MixReview, changes, "here")
    assert said in str(caught.value)
