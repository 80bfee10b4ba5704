"""Methods of two studies are compared by raw values, where both measured the same rows."""

import dataclasses

import numpy as np
import pytest
from report_kinds import MONTHS, made_up

from ticlm.platform.analysis.conventions import named
from ticlm.platform.display.across_studies import sentences
from ticlm.platform.report.report import Report
from ticlm.platform.report.write import as_json, as_markdown
from ticlm.platform.results.study_result import StudyResult

TASK = "perplexity@1"


def asked(study: StudyResult, **other: str) -> StudyResult:
    """The study with a hash of what each period asks, which is that of its label where no other one is given."""
    return dataclasses.replace(study, asked={TASK: {label: label for label in study.evaluated} | other})


@pytest.fixture(scope="module")
def first() -> StudyResult:
    return asked(made_up("demo", MONTHS, cutoffs=(0, 5, 11)))


@pytest.fixture(scope="module")
def second() -> StudyResult:
    """A study with one method, which is worse by 0.05 than the first one's of this name, and with another reference."""
    whole = made_up("other", MONTHS, cutoffs=(0, 5), shift=0.05)
    cells = whole.cells[whole.cells["method"] != "cyclic-cosine"]
    return asked(dataclasses.replace(whole, methods=whole.methods[1:], cells=cells))


def row(report: Report, a: str, b: str, mean: str = "backward") -> dict[str, object]:
    frame = report.across.frame
    found = frame[(frame["method_a"] == a) & (frame["method_b"] == b) & (frame["mean"] == mean)]
    return {str(name): value for name, value in found.to_dict("records")[0].items()}


def test_the_difference_is_that_of_raw_values_whatever_the_references_are(
    first: StudyResult, second: StudyResult
) -> None:
    found = row(Report([first, second]), "demo/replay-half", "other/replay-half")
    assert found["study"] == "" and found["missing"] == 0 and found["cells"] == 66
    assert [found["difference"], found["low"], found["high"]] == pytest.approx([-0.05] * 3)


def test_the_best_of_each_study_stand_in_the_sentence_and_every_pair_in_the_files(
    first: StudyResult, second: StudyResult
) -> None:
    report = Report([first, second])
    sentence = report.answers[-1].sentence
    assert sentence.startswith(
        "Across studies (held-out text, the same rows): demo/replay-half is 0.050 nats better than other/replay-half "
        "on past periods (Bwd.) (95\u00a0% interval 0.050 to 0.050), for the same 15.0M tokens of training; on new text"
    )
    assert not any("no other method" in answer.sentence for answer in report.answers)
    assert len(report.every_difference) == 3 * (3 + 1 + 3 * 2)
    assert '"method_b": "other/oracle"' in as_json(report)
    assert "demo − other" in as_markdown(report)


def test_only_periods_with_the_same_rows_count_and_the_sentence_says_how_many(
    first: StudyResult, second: StudyResult
) -> None:
    report = Report([first, asked(second, **{"202301": "changed"})])
    assert row(report, "demo/replay-half", "other/replay-half")["cells"] == 55
    assert "the same rows in 11 of 12 periods" in report.answers[-1].sentence


def test_a_line_says_why_two_studies_are_not_compared(first: StudyResult, second: StudyResult) -> None:
    unlike = asked(second, **{label: "changed" for label in second.evaluated})
    unknown = dataclasses.replace(second, asked={})
    for other, why in ((unlike, "their held-out text differs"), (unknown, "it is not known on which rows other was")):
        report = Report([first, other])
        assert report.across.reasons[0].startswith(f"demo and other are not compared, because {why}")
        assert not len(report.across.frame) and not sentences(report.compared)


def test_methods_with_equal_values_are_said_to_be_equal(first: StudyResult) -> None:
    again = dataclasses.replace(first, name="again", cells=first.cells.assign(study="again"))
    assert "have equal values there" in Report([first, again]).answers[-1].sentence


def test_a_period_that_one_study_has_in_another_place_of_the_calendar_is_not_shared(first: StudyResult) -> None:
    ahead = dataclasses.replace(first, name="late", checkpoints=first.checkpoints[3:])
    ahead = dataclasses.replace(ahead, cells=ahead.cells.assign(study="late"))
    (found,) = [one for one in Report([first, ahead]).across.alike]
    assert found.trained == first.checkpoints[3:]
    assert np.isfinite(found.values(1, found.views[1].methods[0])).all()
    assert found.mask("in_distribution", named()).sum() == 9
