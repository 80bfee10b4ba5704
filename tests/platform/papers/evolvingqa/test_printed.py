"""The numbers that EvolvingQA prints: whole, and as consistent as the notes on them say."""

import re

import pytest
from paths import ROOT

from ticlm.platform.papers.evolvingqa.printed import QuestionSet, evolving_qa, may_be_of

PAPER = evolving_qa()
CLOSED = ("initial", "full", "k-adapter", "lora")
EDITED: tuple[QuestionSet, ...] = ("OUTDATED", "UPDATED")


def test_every_cell_of_the_four_tables_is_there() -> None:
    assert list(PAPER.scores) == [*CLOSED, "dpr"] and list(PAPER.preferred) == list(CLOSED)
    assert all(list(sets) == ["UNCHANGED", "NEW", *EDITED] for sets in PAPER.scores.values())
    assert sum(len(one.em) + len(one.f1) for sets in PAPER.scores.values() for one in sets.values()) == 240
    assert sum(PAPER.questions["NEW"]) == 198109 and sum(PAPER.questions["EDITED"]) == 23283
    assert sum(PAPER.articles["changed"]) == 390055 and len(PAPER.articles) == 3
    sums = [sum(one.em) + sum(one.f1) for sets in PAPER.scores.values() for one in sets.values()]
    assert sum(sums) == pytest.approx(2319.80)  # of the table as it is printed
    assert PAPER.exact("dpr", "UPDATED", "202304") == 29.33 and PAPER.exact("lora", "NEW", "202308") == 4.13


def test_the_two_answers_of_table_5_sum_to_a_hundred() -> None:
    for held in PAPER.preferred.values():
        assert [round(a + b, 2) for a, b in zip(held["OUTDATED"], held["UPDATED"])] == [100.0] * 6
    below = [(m, i) for m, held in PAPER.preferred.items() for i, share in enumerate(held["OUTDATED"]) if share < 50]
    assert below == [("k-adapter", 2)]  # the paper: "more than 50 % of selecting OUTDATED"


def test_errors_follow_from_the_numbers_of_questions() -> None:
    assert PAPER.stderr("initial", "UPDATED", "202308") == pytest.approx(0.164, abs=0.001)
    assert PAPER.stderr("k-adapter", "UPDATED", "202307") == pytest.approx(0.389, abs=0.001)
    at = [100 * (0.025 * 0.975 / n) ** 0.5 for n in (8462, 1672)]
    assert [round(error, 2) for error in at] == [0.17, 0.38]
    apart = [abs(PAPER.exact(m, "OUTDATED", t) - PAPER.exact(m, "UPDATED", t)) for m in CLOSED for t in PAPER.months]
    assert max(apart) == pytest.approx(0.55)


def test_no_difference_of_outdated_and_updated_is_beyond_its_error_without_retrieval(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks.experiments import evolvingqa

    evolvingqa.main()
    found: dict[str, list[float]] = {}
    for line in capsys.readouterr().out.splitlines():
        if " difference " in line:
            found[line.split()[0]] = [float(number) for number in re.findall(r"([+-][\d.]+) errors", line)]
    assert list(found) == list(PAPER.scores) and all(len(held) == 6 for held in found.values())
    assert max(abs(number) for method in CLOSED for number in found[method]) == 1.3
    assert max(found["dpr"]) < -12


def test_most_cells_of_dpr_are_shares_of_three_hundred() -> None:
    sets: tuple[QuestionSet, ...] = ("NEW", *EDITED)
    found = {s: [t[-2:] for t in PAPER.months if may_be_of(PAPER.exact("dpr", s, t), 300)] for s in sets}
    later = ["04", "05", "06", "07", "08"]
    assert found == {"NEW": later, "UPDATED": later, "OUTDATED": ["05", "06", "07"]}
    assert may_be_of(24.67, 300) and not may_be_of(24.68, 300) and not may_be_of(101.0, 100)


def test_the_edited_cells_of_four_months_are_not_shares_of_their_questions() -> None:
    cells = [(m, s, t) for m in CLOSED for s in EDITED for t in PAPER.months[1:5]]
    fitting = [one for one in cells if may_be_of(PAPER.exact(*one), PAPER.asked(*one[1:]))]
    assert (len(fitting), len(cells)) == (3, 32)
    others: tuple[QuestionSet, ...] = ("UNCHANGED", "NEW")
    assert all(may_be_of(PAPER.exact(m, s, t), PAPER.asked(s, t)) for m in CLOSED for s in others for t in PAPER.months)


def test_all_shares_of_edited_in_a_month_are_of_one_number_of_questions_above_that_of_table_2() -> None:
    found = {month: PAPER.scored(month) for month in PAPER.months[1:5]}
    assert found == {"202304": (2649,), "202305": (2236,), "202306": (1987,), "202307": (1962,)}
    ratios = [n / PAPER.asked("UPDATED", month) for month, (n,) in found.items()]
    assert [round(ratio, 2) for ratio in ratios] == [1.17, 1.18, 1.16, 1.17]
    for month, (n,) in found.items():
        preferred = [one[PAPER.months.index(month)] for held in PAPER.preferred.values() for one in held.values()]
        shares = [*preferred, *(PAPER.exact(m, s, month) for m in CLOSED for s in EDITED)]
        assert len(shares) == 16 and all(may_be_of(share, n) for share in shares)
    assert min(len(PAPER.scored(month)) for month in ("202303", "202308")) > 100, "there, nothing follows"
    (said,) = (note for note in PAPER.notes if "one n alone" in note)
    assert "2,649, 2,236, 1,987 and 1,962, which are 1.16 to 1.18 times that count" in said
