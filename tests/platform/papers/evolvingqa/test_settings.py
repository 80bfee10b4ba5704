from collections.abc import Callable
from typing import Any, ClassVar, Literal

import pytest

from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.settings import parse
from ticlm.platform.papers.evolvingqa.part import Evolving
from ticlm.platform.study.settings import Study
from ticlm.platform.study.tables import check_tables
from ticlm.platform.study.tree import rounds
from ticlm.platform.tasks.generated import GeneratedAnswers

WHOLE: dict[str, Any] = {
    "kind": "evolving",
    "new": "asks",
    "edited": "asks@1",
    "readers": [{"name": "DPR", "new": "asks"}],
}
ASKS: dict[str, Any] = {"kind": "generated-answers", "name": "asks", "examples": "questions", "form": "question"}


class Chooses(GeneratedAnswers):
    kind: Literal["chooses"] = "chooses"  # type: ignore[assignment]
    metric: ClassVar[str] = "updated"


def changed(study: Study, **block: Any) -> dict[str, Any]:
    return study.model_dump(mode="json") | {"evaluations": [{}, ASKS], "tables": [WHOLE | block]}


def test_the_block_is_read_from_a_study_and_is_part_of_no_round(toy_study: Callable[..., Study]) -> None:
    plain = toy_study(evaluations=[{}, ASKS])
    asked = parse(Study, changed(toy_study()), "study.yaml")
    (block,) = asked.tables
    assert [where for where, _ in block.named()] == ["new", "edited", "readers.DPR.new"]
    assert fingerprint(plain) != fingerprint(asked) and "tables" in plain.without_meaning()
    assert "tables" not in asked.without_meaning() and rounds(plain).rounds == rounds(asked).rounds


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"edited": "nothing"}, "tables.evolving.edited: no evaluation nothing; there are perplexity@1, asks@1"),
        ({"new": "perplexity"}, "new: perplexity@1 is compared by nll, this table needs exact-match"),
        ({"preferred": "asks"}, "preferred: asks@1 is compared by exact-match, this table needs updated"),
        (
            {"gradients": {"new": "asks", "edited": "asks"}},
            "gradients.new: asks@1 is .*, this table needs gradient-norm",
        ),
        ({"time_prompt": {"new": "dated"}}, "tables.evolving.time_prompt.new: no evaluation dated"),
        ({"readers": [{"name": "DPR", "edited": "open"}]}, "tables.evolving.readers.DPR.edited: no evaluation open"),
        ({"readers": [{"name": "DPR"}]}, "name a task, as unchanged, new or edited"),
        ({"new": "asks/a/b"}, "a task is named TASK or TASK/SET, got 'asks/a/b'"),
        ({"new": None, "edited": None}, "name a task, as unchanged, new or edited"),
    ],
)
def test_a_block_that_names_what_is_not_there_is_refused(
    toy_study: Callable[..., Study], change: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said) as found:
        parse(Study, changed(toy_study(), **change), "study.yaml")
    assert "\n" not in str(found.value)


def test_a_task_is_taken_by_its_metric_and_not_by_its_kind() -> None:
    asks, chooses = GeneratedAnswers(name="asks", examples="q"), Chooses(name="chooses", examples="q")
    check_tables([Evolving(new="asks", preferred="chooses/edited")], [asks, chooses], [])
    with pytest.raises(ValueError, match="edited: chooses@1 is compared by updated"):
        check_tables([Evolving(edited="chooses")], [asks, chooses], [])
    with pytest.raises(ValueError, match="asks may be asks@1 or asks@2"):
        check_tables([Evolving(new="asks")], [asks, asks.model_copy(update={"version": 2})], [])
    with pytest.raises(ValueError, match="tables: evolving is named twice"):
        check_tables([Evolving(new="asks")] * 2, [asks], [])


def test_a_task_that_is_shown_under_another_name_has_it_everywhere() -> None:
    asked = parse(Evolving, WHOLE | {"name": "asks", "sets": ["asks"], "unchanged": "asks/kept"}, "test")
    found = asked.with_task("asks@1", "theirs@2")
    assert (found.new, found.edited, found.unchanged) == ("theirs@2", "theirs@2", "theirs@2/kept")
    assert found.readers[0].new == "theirs@2" and (found.name, found.sets) == ("asks", ("asks",))
