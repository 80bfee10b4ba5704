from collections.abc import Callable
from typing import Any

import pytest

from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.settings import parse
from ticlm.platform.papers.ckl.part import Fuar
from ticlm.platform.study.settings import Study, load

WHOLE: dict[str, Any] = {
    "kind": "fuar",
    "name": "ckl",
    "invariant": ["perplexity/invariant"],
    "new": ["perplexity/new"],
}


def test_a_fuar_is_read_from_a_study_and_one_without_keeps_its_fingerprint(toy_study: Callable[..., Study]) -> None:
    plain, asked = toy_study(), toy_study(tables=[WHOLE])
    (fuar,) = asked.tables
    assert isinstance(fuar, Fuar) and fuar.base == "first"
    assert list(fuar.named()) == [("", "perplexity/invariant"), ("", "perplexity/new")]
    assert fingerprint(plain) != fingerprint(asked)
    assert plain.without_meaning() - asked.without_meaning() == {"tables"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"new": []}, "name the scores of what is gained"),
        ({"invariant": ["lama/invariant"]}, "tables.ckl: no evaluation lama; there are perplexity@1"),
        ({"metric": "nll"}, "tables.ckl: of nll \\(perplexity@1\\) less is better; name another"),
        ({"new": ["perplexity/a b"]}, "a score is TASK, TASK/SET, TASK/PERIOD or TASK/SET/PERIOD, got"),
        ({"new": ["perplexity", "perplexity"]}, "a score is named twice"),
        ({"chain": "phases", "phases": [{"period": 202301, "scores": ["perplexity"]}]}, "leave phases out"),
        ({"phases": [{"period": 203001, "scores": ["perplexity"]}]}, "tables.ckl.phases: 203001 is not a period"),
        ({"base": 203001}, r"tables.ckl.base: 203001 is not a period \(202301 … "),
    ],
)
def test_a_fuar_that_cannot_be_taken_is_refused(
    toy_study: Callable[..., Study], change: dict[str, Any], said: str
) -> None:
    data = toy_study().model_dump(mode="json") | {"tables": [WHOLE | change]}
    with pytest.raises(InputError, match=said) as found:
        parse(Study, data, "study.yaml")
    assert "\n" not in str(found.value)


def test_a_span_may_be_written_as_in_a_calendar_and_copies_of_seeds_have_one_name() -> None:
    phases = [{"period": "202005..202010", "scores": ["lama"]}]
    assert parse(Fuar, WHOLE | {"phases": phases}, "test").phases[0].period == "202005-202010"
    assert [one.name for one in load("ckl-light-tuning").tables] == ["fuar", "probes"]


def test_a_name_that_two_versions_of_a_task_share_is_refused(toy_study: Callable[..., Study]) -> None:
    data = toy_study(evaluations=[{}, {"version": 2}]).model_dump(mode="json")
    with pytest.raises(InputError, match="perplexity may be perplexity@1 or perplexity@2"):
        parse(Study, data | {"tables": [WHOLE]}, "study.yaml")
    named = {"kind": "fuar", "invariant": ["perplexity@1/invariant"], "new": ["perplexity@2/new"]}
    (fuar,) = parse(Study, data | {"tables": [named]}, "study.yaml").tables
    assert [name for _, name in fuar.named()] == ["perplexity@1/invariant", "perplexity@2/new"]


def test_two_fuars_of_one_name_are_refused(toy_study: Callable[..., Study]) -> None:
    data = toy_study().model_dump(mode="json") | {"tables": [WHOLE, WHOLE]}
    with pytest.raises(InputError, match="ckl is named twice"):
        parse(Study, data, "study.yaml")
