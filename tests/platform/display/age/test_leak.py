"""What a report says of the leak tests of a trained study: a table, a sentence, a file, and nothing without facts."""

from __future__ import annotations

import dataclasses
import math

import pytest
from datedstudies import dated_study
from parts import part_of, section_of
from report_kinds import MONTHS, made_up
from reports import page

from ticlm.core.errors import InputError
from ticlm.platform.analysis.age.vintages import leak_of, leak_tests
from ticlm.platform.display.age.leak import NAME, part, sentence
from ticlm.platform.report.report import Report
from ticlm.platform.results.study_result import StudyResult

LEAK = {("replay-half", "202306"): "2024-12"}


@pytest.fixture(scope="module")
def clean() -> StudyResult:
    return dated_study(facts=300)


def test_every_vintage_but_the_first_is_compared_with_the_first(clean: StudyResult) -> None:
    found = list(leak_tests(clean))
    assert [one.vintage for one in found if one.method == "oracle"] == ["202301", "202306", "202312"]
    assert {one.earlier for one in found} == {"", "202301"} and len(found) == 27
    assert all(one.is_clean for one in found if one.vintage >= "202304")
    assert sentence(found).startswith("24 of 24 vintages") or "of the other" in sentence(found)


def test_a_leak_stands_in_the_table_the_sentence_and_the_file() -> None:
    leaky = dated_study(LEAK, facts=300)
    (one,) = leak_of(leaky, "replay-half", "202306")
    assert one.is_leak and one.verdict.startswith("leak found")
    assert [each.vintage for each in leak_tests(leaky) if each.is_leak] == ["202306"]
    report = Report([leaky])
    counts, each = section_of(report, "leak").tables
    assert counts.main and not each.main
    assert [cell.text for cell in counts.lines[1].cells][-1] == "1"
    (line,) = (line for line in each.lines if line.names == ("replay-half", "2023-06"))
    assert [cell.text for cell in line.cells][-1] == "leak" and line.cells[-1].hint == one.verdict
    frame = part_of(report, NAME).frames["leak"]
    (row,) = frame[(frame["method"] == "replay-half") & (frame["vintage"] == "202306") & frame["month"].isna()].to_dict(
        "records"
    )
    assert (row["p"], row["changes"], row["verdict"]) == (one.p, one.changes, one.verdict)
    months = frame[(frame["method"] == "replay-half") & (frame["vintage"] == "202306") & frame["month"].notna()]
    assert months["changes"].sum() == one.changes and list(months["p_holm"]) == [m.p_holm for m in one.months]
    told = "Vintages prefer values of which they cannot have read: replay-half of 2023-06 (leak found"
    assert any(told in answer.detail or told in str(answer) for answer in report.answers)
    text = page(leaky)
    assert "What vintages know of later text" in text and told in text


def test_few_vintages_are_one_table(clean: StudyResult) -> None:
    few = dataclasses.replace(clean, methods=clean.methods[1:2])
    found = part([few])
    assert found is not None
    (table,) = found.sections[0].tables
    assert table.main and len(table.lines) == 11 and table.hints


def test_what_cannot_be_told_is_not_told_as_clean() -> None:
    found = list(leak_tests(dated_study(facts=6)))
    assert not any(one.is_clean for one in found)
    assert sentence(found).startswith("Whether vintages know later text cannot be told: 24 were tested")


def test_models_inside_a_round_are_no_vintages(clean: StudyResult) -> None:
    assert clean.predictions is not None
    inside = clean.predictions.assign(step=3, trained="202307")
    both = dataclasses.replace(clean, predictions=type(inside)(inside).iloc[:0])
    assert list(leak_tests(both)) == []
    only = dataclasses.replace(clean, predictions=inside.astype({"step": "Int64"}))
    assert list(leak_tests(only)) == []


def test_a_study_without_dated_facts_shows_nothing(clean: StudyResult) -> None:
    plain = made_up("demo", MONTHS, cutoffs=(0, 5, 11))
    assert part([plain]) is None
    assert not [one for one in Report([plain]).sections if one.id == "leak"]
    first = dataclasses.replace(clean, predictions=clean.predictions.query("trained == '202301'"))  # type: ignore[union-attr]
    assert part([first]) is None
    assert part([dataclasses.replace(clean, of_models=True)]) is None
    joined = part([plain, clean])
    assert joined is not None and set(joined.frames["leak"]["study"]) == {"dated"}


def test_a_start_from_outside_without_a_date_is_no_vintage(clean: StudyResult) -> None:
    assert clean.predictions is not None
    renamed = clean.predictions.assign(trained=clean.predictions["trained"].replace("202301", "outside"))
    assert {one.earlier for one in leak_tests(dataclasses.replace(clean, predictions=renamed))} >= {"", "202302"}


def test_a_method_that_is_not_there_is_refused(clean: StudyResult) -> None:
    with pytest.raises(InputError, match="method must be one of cyclic-cosine, replay-half, oracle, got other"):
        leak_of(clean, "other", "202306")
    assert leak_of(clean, "oracle", "202305") == []
    (first,) = leak_of(clean, "cyclic-cosine", "202301", 1)
    assert math.isnan(first.p)
