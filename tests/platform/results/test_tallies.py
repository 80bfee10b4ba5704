"""What was counted of sets of examples, as charts can hold it."""

from collections.abc import Callable
from pathlib import Path

from ticlm.core.accounting import Lineage
from ticlm.core.examples import Example, Examples, ExamplesInfo, PeriodExamples, publish
from ticlm.core.periods import Calendar
from ticlm.core.store import Store
from ticlm.platform.report.figures import draw_examples
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.results.tallies import CountedExamples, CountTable, counted, tallies
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.settings import Study


def counts(*periods: dict[str, dict[str, int]]) -> dict[str, CountTable]:
    """The tallies of a set whose periods were counted so."""
    labels = tuple(f"20130{i + 1}" for i in range(len(periods)))
    found = CountedExamples("toy@1", labels, {label: {"all": 5} for label in labels}, dict(zip(labels, periods)))
    return {tally.name: tally for tally in tallies(found)}


def test_examples_of_subsets_are_the_first_count() -> None:
    rows = {"201301": {"changed": 3, "unchanged": 9}, "201302": {"changed": 4}}
    (tally,) = tallies(CountedExamples("toy@1", ("201301", "201302"), rows, {}))
    assert (tally.name, tally.classes) == ("examples", ("unchanged", "changed"))
    assert tally.counts.tolist() == [[9, 0], [3, 4]]
    assert tally.over_time and not tally.is_distribution


def test_classes_that_begin_with_numbers_go_from_small_to_large() -> None:
    sizes = {"100-199": 5, "< 100": 1, "1,000+": 2, "200-999": 7}
    tally = counts({"characters": sizes})["characters"]
    assert tally.classes == ("< 100", "100-199", "200-999", "1,000+") and tally.is_ordered
    assert tally.total.tolist() == [1, 5, 7, 2]


def test_versions_go_by_each_of_their_numbers() -> None:
    tally = counts({"releases": dict.fromkeys(["1.10", "2.0", "1.8.1", "1.8", "1.26.4"], 1)})["releases"]
    assert tally.classes == ("1.8", "1.8.1", "1.10", "1.26.4", "2.0") and tally.is_ordered
    mixed = counts({"size": dict.fromkeys(["< 1.10", "1.10", "1.9", "2+"], 1)})["size"]
    assert mixed.classes == ("1.9", "< 1.10", "1.10", "2+")


def test_classes_without_an_order_go_from_frequent_to_rare() -> None:
    tally = counts({"sites": {"math": 2, "gis": 900, "apple": 2}})["sites"]
    assert tally.classes == ("gis", "apple", "math") and not tally.is_ordered
    assert tally.is_log  # 900 and 2 on one scale
    assert not counts({"n": {"1": 1, "2": 900}})["n"].is_log


def test_counts_that_share_no_class_are_not_compared_over_time() -> None:
    months = counts({"by month": {"201301": 4, "201302": 5}}, {"by month": {"201303": 6}})["by month"]
    assert not months.over_time and months.is_distribution
    pages = counts({"pages": {"changed": 4}}, {"pages": {"changed": 5}})["pages"]
    assert pages.over_time and not pages.is_distribution


def test_the_rarest_classes_become_one_and_nothing_is_lost() -> None:
    tally = counts({"relation": {f"P{i}": 100 - i for i in range(30)}})["relation"]
    few = tally.at_most(8)
    assert len(few.classes) == 8 and few.classes[-1] == "all others (23)"
    assert few.total.sum() == tally.total.sum()
    assert tally.at_most(30) is tally


def built(root: Path) -> Examples:
    """A set of two periods on disk."""
    store = Store(root / "examples/toy@1")
    store.create("examples.json", ExamplesInfo(name="toy", version="1", recipe="r").model_dump_json().encode())
    for k, period in enumerate(Calendar(initial="201301", last="201302").timeline().periods):
        held = PeriodExamples(
            period=period, subsets={}, statistics={"pages": {"changed": 4 + k, "new": 1}}, lineage=Lineage()
        )
        publish(store, held, {"all": [Example(str(i), "text") for i in range(3 + k)]})
    return Examples.open(str(root / "examples/toy@1"))


def test_a_built_set_counts_itself_and_is_drawn_twice_the_same(tmp_path: Path) -> None:
    examples = built(tmp_path)
    found = counted(examples)
    assert (found.id, found.periods) == ("toy@1", ("201301", "201302"))
    assert found.rows == {"201301": {"all": 3}, "201302": {"all": 4}}
    assert found.statistics["201302"] == {"pages": {"changed": 5, "new": 1}}
    first, second = draw_examples(examples, tmp_path / "a"), draw_examples(examples, tmp_path / "b")
    assert [path.name for path in first] == [
        f"examples-toy-1-{name}.{kind}" for name in ("examples", "pages") for kind in ("png", "svg")
    ]
    assert all(one.read_bytes() == other.read_bytes() for one, other in zip(first, second))
    assert all(f">{text}<" in first[3].read_text() for text in ("new", "Jan", "Feb", "pages, by period, 2013"))


def test_a_study_carries_the_counts_of_the_sets_that_its_tasks_read(
    toy_root: Path, toy_study: Callable[..., Study]
) -> None:
    built(toy_root)
    tasks = [{"kind": "document-perplexity", "name": name, "examples": "toy@1"} for name in ("once", "twice")]
    method = {"base": "cyclic-cosine", "schedule": {"kind": "cosine", "max_rate": 1e-3, "warmup_steps": 1}}
    months = {"initial": "202301", "last": "202302"}
    made = plan.make(toy_study(methods=[method], periods=months, evaluations=[{}, *tasks]), str(toy_root))
    driver.train(made)
    assert study_result(made).examples == (counted(Examples.open(str(toy_root / "examples/toy@1"))),)
