"""The synthetic world: the same for everyone, month by month, with a truth that its texts really state."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ticlm.core.errors import InputError
from ticlm.core.periods import Calendar, Period, Timeline
from ticlm.core.settings import load
from ticlm.core.store import Store
from ticlm.datasets.io.documents import Document
from ticlm.datasets.synthetic.tables import tables
from ticlm.datasets.synthetic.truth import KnownFact
from ticlm.datasets.synthetic.world import SyntheticWorld

TEXT = "5f85c4fdd5ab351e2d1daf4641789c8ff02a12a5c5378a2d88cc4ed74f5a4dbf"
YEAR = Calendar(initial="202301", last="202312").timeline()


def small(**changes: object) -> SyntheticWorld:
    return SyntheticWorld.model_validate({"initial_documents": 80, "documents_per_month": 40} | changes)


def month(label: str) -> Period:
    return Calendar().period(label)


def documents(world: SyntheticWorld, periods: Iterable[Period]) -> list[Document]:
    return [document for period in periods for document in world.documents(period)]


def test_the_same_seed_gives_the_same_world_and_another_seed_another() -> None:
    once, again, other = (list(small(seed=s).documents(month("202304"))) for s in (3, 3, 4))
    assert once == again
    assert {d.text for d in once}.isdisjoint(d.text for d in other)


def test_a_version_always_reads_the_same() -> None:
    text = "".join(f"{d.id} {d.timestamp} {d.text}" for d in small().documents(month("202303")))
    assert hashlib.sha256(text.encode()).hexdigest() == TEXT, (
        "the world reads differently: raise the version of SyntheticWorld"
    )


def test_a_month_needs_no_other_month_to_have_been_written() -> None:
    all_in_order, backwards = small(), small()
    written = {p.label: list(all_in_order.documents(p)) for p in YEAR.periods}
    assert {p.label: list(backwards.documents(p)) for p in reversed(YEAR.periods)} == written
    assert list(small().documents(month("202307"))) == written["202307"]


def test_a_longer_future_changes_nothing_that_was_written_or_known() -> None:
    near, far = small(), small()
    far.facts(Calendar(initial="202301", last="202612").timeline())
    half = YEAR.periods[:6]
    assert documents(far, half) == documents(near, half)
    assert far.facts(half) == near.facts(half)
    assert all(known.fact.start < half[-1].end for known in near.facts(half))
    ends = [known.fact.end for known in far.facts(half) if known.fact.end is not None]
    assert ends and max(ends) < half[-1].end


def test_time_cut_otherwise_holds_the_same_documents() -> None:
    world = small()
    months = documents(world, YEAR.periods)
    for calendar in (
        Calendar(initial="202301..202306", step="quarter", last="202310..202312"),
        Calendar(initial="20230101..20230129", step="week", last="20231225..20231231"),
        Calendar(initial="202301..202312", last="202301..202312"),
    ):
        assert documents(world, calendar.timeline().periods) == months


@pytest.mark.parametrize("step", ["week", "month", "quarter"])
def test_documents_lie_in_their_period_in_order(step: str) -> None:
    calendar = Calendar.model_validate({"initial": "202301" if step != "week" else "20230101..20230131", "step": step})
    period = calendar.place(month("202305").start + timedelta(days=9))
    assert period is not None
    found = list(small().documents(period))
    moments = [d.timestamp for d in found]
    assert found and moments == sorted(moments)
    assert all(m.tzinfo is UTC and period.start <= m.date() < period.end for m in moments)


def test_the_first_month_is_larger_and_sizes_are_exact() -> None:
    assert [len(list(small().documents(p))) for p in YEAR.periods[:3]] == [80, 40, 40]


def test_a_period_before_the_epoch_is_refused_in_one_line() -> None:
    with pytest.raises(InputError, match=r"period 202212 begins before .* \(epoch 2023-01-01\)"):
        next(small().documents(month("202212")))
    with pytest.raises(InputError, match="begins before"):
        small().facts([month("202212")])


def test_an_epoch_inside_a_month_is_refused() -> None:
    with pytest.raises(ValueError, match="first day of a month, got 2023-01-05"):
        small(epoch="2023-01-05")


def test_pages_come_back_under_their_url_with_another_text() -> None:
    found = documents(small(rewritten=0.25), YEAR.periods)
    per_url = Counter(d.id for d in found)
    assert sum(n - 1 for n in per_url.values()) == 11 * int(40 * 0.25)
    recurring = next(url for url, n in per_url.items() if n > 1)
    versions = [d for d in found if d.id == recurring]
    assert len({d.text for d in versions}) == len({(d.timestamp.year, d.timestamp.month) for d in versions}) > 1
    assert len({d.source for d in versions}) == 1
    per_month = Counter((d.id, d.timestamp.month) for d in found)
    assert max(per_month.values()) == 1


def test_nothing_is_rewritten_where_that_is_not_wanted() -> None:
    ids = [d.id for d in documents(small(rewritten=0), YEAR.periods[:4])]
    assert len(set(ids)) == len(ids)


def test_every_fact_that_a_text_states_holds_that_day_and_its_sentence_is_there() -> None:
    world = small(changing=0.3)
    truth = {known.fact.id: known for known in world.facts(YEAR)}
    stated = 0
    for document in documents(world, YEAR.periods):
        for id in document.extra["facts"]:
            assert truth[id].fact.holds(document.timestamp.date())
            assert any(sentence in document.text for sentence in sentences(truth[id])), (id, document.text)
            stated += 1
    assert stated > 500


def test_no_text_states_a_fact_that_does_not_hold() -> None:
    world = small(changing=0.3)
    statements = [(s, known.fact) for known in world.facts(YEAR) for s in known.fact.statements]
    for document in list(world.documents(month("202308"))):
        for sentence, fact in statements:
            assert sentence not in document.text or fact.holds(document.timestamp.date()), (sentence, document)


def sentences(known: KnownFact) -> list[str]:
    found = known.row()["sentences"]
    assert isinstance(found, list)
    return found


def test_changes_are_reported_as_news() -> None:
    world = small(changing=0.3)
    text = "\n".join(d.text for d in documents(world, YEAR.periods))
    updated = [known.fact for known in world.facts(YEAR) if known.category == "updated"]
    assert sum(any(sentence in text for sentence in fact.news) for fact in updated) > len(updated) / 3


@pytest.mark.parametrize(
    "timeline",
    [YEAR, Calendar(initial="202301..202306", step="quarter", last="202310..202312").timeline()],
    ids=["months", "quarters"],
)
def test_categories_follow_from_what_held_at_the_close_of_each_period(timeline: Timeline) -> None:
    truth = small(changing=0.4).facts(timeline)
    first, *_ = timeline.periods

    def answer(fact: KnownFact, period: Period) -> str | None:
        """What a reader would answer on the last day of a period."""
        slot = [k.fact for k in truth if (k.fact.subject, k.fact.relation) == (fact.fact.subject, fact.fact.relation)]
        return next((f.object for f in slot if f.holds(period.end - timedelta(days=1))), None)

    by_label = dict(zip(timeline.labels, timeline.periods))
    for known in truth:
        period = by_label[known.period]
        assert known.fact.start < period.end
        if known.category == "invariant":
            assert {answer(known, p) for p in timeline.periods} == {known.fact.object}
        elif known.category != "ended":
            before = timeline.periods[timeline.index(known.period) - 1]
            assert period != first and answer(known, period) == known.fact.object
            assert answer(known, before) == known.previous != known.fact.object
            assert (known.previous is None) == (known.category == "new")
        else:
            assert known.fact.end is not None
    assert set(Counter(known.category for known in truth)) == {"invariant", "updated", "new", "ended"}


def test_an_office_never_goes_back_to_a_former_answer() -> None:
    slots = Counter((k.fact.subject, k.fact.relation, k.fact.object) for k in small(changing=1.0).facts(YEAR))
    assert max(slots.values()) == 1


def test_facts_whose_relation_never_changes_never_change() -> None:
    for known in small(changing=1.0).facts(YEAR):
        assert tables().relation[known.fact.relation].changes or known.category != "updated"


def test_a_still_world_has_no_updates() -> None:
    still = small(changing=0, turnover=0, stories=0, drift=0.1).facts(YEAR)
    assert {known.category for known in still} == {"invariant"}


def test_the_truth_lies_beside_a_corpus_as_parquet(tmp_path: object) -> None:
    store = Store(str(tmp_path))
    small().write_truth(store, "truth/facts.parquet", YEAR)
    rows = pq.read_table(store.path("truth/facts.parquet")).to_pylist()
    assert [row["id"] for row in rows] == [known.fact.id for known in small().facts(YEAR)]
    assert len({row["id"] for row in rows}) == len(rows)
    for row in rows:
        assert f"{row['cloze']} {row['object']}." == row["sentences"][0]
        assert row["subject"] in row["question"] and row["object"] not in row["question"]


def test_vocabulary_drifts_further_with_time_and_not_without_drift() -> None:
    near, far = (_distance(small(documents_per_month=150), "202302", later) for later in ("202303", "202310"))
    assert far > 1.3 * near
    still = small(documents_per_month=150, drift=0, changing=0, turnover=0, stories=1)
    assert _distance(still, "202302", "202310") < 0.6 * far


def test_an_edition_gives_what_is_not_given_itself() -> None:
    slow, fast = small(), small(edition="fast")
    assert slow == small(edition="slow") == small(waves=(24, 72), stories=8)
    assert (fast.waves, fast.stories, fast.turnover) == ((8.0, 24.0), 16, 0.06)
    assert small(edition="fast", stories=2).stories == 2 and small(edition="fast", stories=2).waves == fast.waves
    near, far = (_distance(small(documents_per_month=150, edition=e), "202302", "202308") for e in ("slow", "fast"))
    assert far > 1.2 * near


def test_a_larger_vocabulary_has_more_words_and_noise_states_no_facts() -> None:
    few, many = (len(_words(small(vocabulary=size), "202301")) for size in (100, 3000))
    assert many > 1.1 * few
    quiet, noisy = (documents(small(noise=noise), YEAR.periods[:1]) for noise in (0.0, 0.9))
    sizes = [sum(len(d.text) for d in found) for found in (quiet, noisy)]
    assert sizes[1] > 4 * sizes[0]
    assert all(d.extra["facts"] for d in noisy)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"drift": 0, "changing": 0, "turnover": 0, "stories": 0}, "nothing in this world ever changes: give drift"),
        ({"initial_documents": 0}, "initial_documents"),
        ({"documents_per_month": 0}, "documents_per_month"),
        ({"waves": (30, 20)}, "a shortest and a longest wave of a month or more, got \\(30.0, 20.0\\)"),
        ({"waves": (0, 20)}, "a shortest and a longest wave"),
        ({"noise": 1}, "noise"),
        ({"edition": "glacial"}, "edition"),
    ],
)
def test_a_world_without_text_or_change_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small(**changes)


def test_a_recipe_whose_months_lie_before_its_world_is_refused(tmp_path: Path) -> None:
    from ticlm.datasets.corpus.recipe import FOLDER, CorpusRecipe

    recipe = tmp_path / "early.yaml"
    recipe.write_text("extends: synthetic\nname: early\nperiods: {initial: 202201, last: 202212}\n")
    with pytest.raises(InputError, match=r"period 202201 begins before the synthetic world does \(epoch 2023-01-01\)"):
        load(CorpusRecipe, str(recipe), FOLDER)


def test_new_names_keep_coming() -> None:
    world = small()
    before = set().union(*(_words(world, p.label) for p in YEAR.periods[:6]))
    names = {word for word in _words(world, "202312") if word[0].isupper()}
    assert len(names - before) > 0.1 * len(names)


def test_all_papers_write_about_all_topics_in_whole_sentences() -> None:
    found = documents(small(documents_per_month=100), YEAR.periods)
    assert {d.source for d in found} == {paper.name for paper in tables().papers}
    assert len({d.extra["topic"] for d in found}) == 11
    for document in found:
        assert not re.search(r"[{}]|None|  | [.,]|\ba [aeiou]", document.text), document.text
        headline, *paragraphs = document.text.split("\n")
        assert headline[0].isupper() or headline[0].isdigit()
        assert all(p[0].isupper() or p[0] in '"(' for p in paragraphs) and len(paragraphs) == 2


def test_the_packaged_recipe_is_the_default_world() -> None:
    from ticlm.datasets.corpus.recipe import FOLDER, CorpusRecipe

    recipe = load(CorpusRecipe, "synthetic", FOLDER)
    assert recipe.documents == SyntheticWorld()
    assert recipe.periods.timeline() == YEAR


def _words(world: SyntheticWorld, label: str) -> Counter[str]:
    return Counter(word for d in world.documents(month(label)) for word in re.findall(r"\w+", d.text))


def _distance(world: SyntheticWorld, one: str, other: str) -> float:
    """Jensen-Shannon divergence (nats) of the words of two months."""
    p, q = _words(world, one), _words(world, other)
    sides = [(counts, counts.total()) for counts in (p, q)]
    mean = {w: sum(counts[w] / total for counts, total in sides) / 2 for w in p | q}
    return sum(n / total / 2 * math.log(n / total / mean[w]) for counts, total in sides for w, n in counts.items())
