"""What `ticlm data show` says of corpora whose manifests are written by hand."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from rich.console import Console

from ticlm.core.accounting import Accounting, Deduplication, Host, Lineage, Overlap, Step
from ticlm.core.corpus import Corpus, CorpusInfo, PeriodManifest, SplitManifest, TokenizerInfo
from ticlm.core.errors import InputError
from ticlm.core.integrity.records import Attempt
from ticlm.core.periods import TIC_CC_MONTHS, Calendar
from ticlm.core.store import Store
from ticlm.core.token_rows import Column
from ticlm.datasets.corpus.pack import BEYOND, TAIL
from ticlm.datasets.corpus.show import as_json, overview
from ticlm.datasets.corpus.totals import Totals


def corpus_of(folder: Path, *manifests: PeriodManifest) -> Corpus:
    store = Store(str(folder))
    info = CorpusInfo(
        name="web",
        version="1",
        columns=(Column(name="tokens", length=2049),),
        calendar=Calendar(),
        tokenizer=TokenizerInfo(name="toy", vocab_size=64, end_of_text=63, sha256="0" * 64),
        recipe="toy",
    )
    store.create("corpus.json", info.model_dump_json().encode())
    for manifest in manifests:
        Attempt(store, f"periods/{manifest.period.label}").publish(manifest.model_dump(mode="json"))
    return Corpus.open(str(folder))


def month(label: str, documents: Mapping[str, int], dropped: Mapping[str, int], **more: object) -> PeriodManifest:
    """`read` is what was kept and dropped, unless it is given."""
    splits = {
        name: SplitManifest(files=(), rows=3 * count, tokens=6147 * count, documents=count, bytes=25_000 * count)
        for name, count in documents.items()
    }
    lost = sum(count for reason, count in dropped.items() if reason not in (TAIL, BEYOND))
    read = lost + sum(count for name, count in documents.items() if "." not in name)
    given = {"read": read, "period": Calendar().period(label), "splits": splits, "dropped": dict(dropped)}
    return PeriodManifest.model_validate(given | more)


FILTERED = (
    Step(name="read", read=1000, dropped={"not UTF-8": 40}),
    Step(name="language", read=960, dropped={"not English": 500, "below 0.65": 60}, edited=0),
    Step(name="newlines", read=400, edited=123),
    Step(name="deduplicate", read=400, dropped={"repeats": 100}, edited=30),
)
CENSUS = Accounting(
    steps=FILTERED,
    tokens=10_000,
    subsets={"wiki": 250, "news": 1500},
    hosts=(Host(name="a.org", documents=60, tokens=4000), Host(name="b.org", documents=20, tokens=1000)),
    deduplication=(
        Deduplication(
            split="train",
            documents=380,
            documents_dropped=95,
            documents_edited=30,
            paragraphs=3800,
            paragraphs_dropped=380,
            ngrams=100_000,
            contained=31_400,
            inserted=68_600,
            filter_bytes=123_456,
            expected_rate=0.0098,
            measured_rate=0.0101,
        ),
    ),
    overlap=(
        Overlap(
            split="eval",
            documents=20,
            documents_dropped=3,
            paragraphs=200,
            paragraphs_dropped=30,
            ngrams=5000,
            contained=600,
        ),
    ),
)
REASONS = {"not UTF-8": 40, "not English": 500, "below 0.65": 60, "repeats": 100}
JANUARY = month("202301", {"train": 250, "eval": 30, "tune": 20}, REASONS | {TAIL: 77}, accounting=CENSUS)
FEBRUARY = month(
    "202302",
    {"train": 500, "eval": 30, "tune": 20, "eval.wiki": 8, "eval.clean": 25},
    {"not English": 50, TAIL: 3, BEYOND: 1234},
    accounting=Accounting(
        steps=(Step(name="read", read=600), Step(name="language", read=600, dropped={"not English": 50})),
        tokens=30_000,
        subsets={"wiki": 150},
        hosts=(Host(name="b.org", documents=400, tokens=5000),),
        deduplication=(CENSUS.deduplication[0].model_copy(update={"filter_bytes": 99, "measured_rate": 0.02}),),
    ),
    lineage=Lineage(inputs=("crawl/b.warc.gz",), recipe="{}", code={"ticlm": "0.1", "resiliparse": "0.15"}),
)


def shown(corpus: Corpus, period: str | None = None, width: int = 100) -> str:
    console = Console(width=width, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(overview(corpus, period))
    return console.export_text()


def words(text: str, *starts: str) -> list[str]:
    """The words of the first line that starts so, of those after it for every further start."""
    lines = iter(text.splitlines())
    for start in starts:
        found = next((line for line in lines if line.strip().startswith(start)), None)
        assert found is not None, f"no line starts with {start!r}"
    return found.split() if found is not None else []


def test_every_document_is_kept_or_dropped_for_a_reason(tmp_path: Path) -> None:
    text = shown(corpus_of(tmp_path, JANUARY, FEBRUARY))
    assert words(text, "202301")[1:4] == ["1,000", "700", "300"]
    assert words(text, "2 periods")[2:5] == ["1,600", "750", "850"]
    assert "documents: 1,600 read = 850 kept + 750 dropped" in text
    assert "dropped in periods: 60 below 0.65, 550 not English, 40 not UTF-8, 100 repeats" in text
    assert f"in no row: 1,234 {BEYOND}, 80 tokens left over at the ends of periods" in text


def test_of_many_sources_the_ten_largest_are_named(tmp_path: Path) -> None:
    names = tuple(f"source {number:02}" for number in range(12))
    counts = Accounting(subsets={name: 100 + number for number, name in enumerate(names)})
    manifest = month("202301", {"train": 90}, {}, accounting=counts)
    for asked, line in (
        (names, "sources: 12, the largest: source 11, source 10, source 09, source 08,"),
        (names[:10], "sources: source 00, source 01,"),
    ):
        corpus = corpus_of(tmp_path / str(len(asked)), manifest)
        text = shown(Corpus(corpus.store, corpus.info.model_copy(update={"sources": asked})), width=300)
        assert line in text and ("source 01" in text) is (len(asked) == 10)


def test_documents_that_are_nowhere_are_named(tmp_path: Path) -> None:
    text = shown(corpus_of(tmp_path / "few", month("202301", {"train": 90}, {"bad": 5}, read=100)))
    assert "documents: 100 read ≠ 90 kept + 5 dropped: 5 are nowhere" in text
    text = shown(corpus_of(tmp_path / "many", month("202301", {"train": 90}, {"bad": 5}, read=92)))
    assert "92 read ≠ 90 kept + 5 dropped: 3 too many" in text


def test_parts_of_held_out_text_hold_no_documents_of_their_own(tmp_path: Path) -> None:
    total = Totals.of([FEBRUARY])
    assert (total.kept, total.adds_up) == (550, True)
    text = shown(corpus_of(tmp_path, JANUARY, FEBRUARY))
    # rows of eval.wiki and eval.clean; then the shares of wiki and news
    assert words(text, "Rows of parts", "202301")[1:] == ["–", "–", "15.00%", "2.50%"]
    assert words(text, "Rows of parts", "202302")[1:] == ["24", "75", "0.00%", "0.50%"]
    assert words(text, "Rows of parts", "all")[1:] == ["24", "75", "3.75%", "1.00%"]


def test_steps_are_added_up_in_their_order_with_their_reasons_below(tmp_path: Path) -> None:
    text = shown(corpus_of(tmp_path, FEBRUARY, JANUARY))
    assert "steps: 1,600 read = 850 kept + 750 dropped" in text  # February ends with its second step
    names = ("read", "not UTF-8", "language", "not English", "below 0.65", "newlines", "deduplicate", "repeats", "all")
    found = [words(text, "Steps", *names[: place + 1]) for place in range(len(names))]
    assert found[0] == ["read", "1,600", "40", "2.5%", "97.5%", "0"]
    assert found[2] == ["language", "1,560", "610", "39.1%", "60.9%", "0"]
    assert found[3] == ["not", "English", "550", "35.3%"]
    assert found[5] == ["newlines", "400", "0", "0.0%", "100.0%", "123"]
    assert found[6] == ["deduplicate", "400", "100", "25.0%", "75.0%", "30"]
    assert found[8] == ["all", "1,600", "750", "46.9%", "53.1%", "153"]


def test_the_sum_of_the_steps_says_what_came_in_and_what_was_kept(tmp_path: Path) -> None:
    text = shown(corpus_of(tmp_path / "one", JANUARY))
    assert "steps: 1,000 read = 300 kept + 700 dropped" in text
    assert words(text, "Steps", "all") == ["all", "1,000", "700", "70.0%", "30.0%", "153"]
    leaking = (*FILTERED[:2], Step(name="deduplicate", read=390, dropped={"repeats": 90}))
    odd = JANUARY.model_copy(update={"accounting": Accounting(steps=leaking)})
    assert "steps: 1,000 read ≠ 300 kept + 690 dropped: 10 are nowhere" in shown(corpus_of(tmp_path / "two", odd))


def test_hosts_deduplication_and_overlap_are_those_of_all_periods(tmp_path: Path) -> None:
    text = shown(corpus_of(tmp_path, JANUARY, FEBRUARY))
    assert words(text, "Hosts", "b.org") == ["b.org", "420", "6,000", "15.0%"]
    assert words(text, "Hosts", "b.org", "a.org") == ["a.org", "60", "4,000", "10.0%"]
    repeated = ["train", "760", "190", "25.0%", "7,600", "760", "10.0%", "31.4%", "123", "kB", "0.980%", "2.000%"]
    assert words(text, "Deduplication", "train") == repeated
    assert words(text, "Held-out text", "eval") == ["eval", "20", "3", "15.0%", "200", "30", "15.0%", "12.0%"]


def test_only_the_first_hosts_are_shown() -> None:
    hosts = tuple(Host(name=f"{i:02}.org", documents=1, tokens=i) for i in range(30))
    total = Totals.of([month("202301", {"train": 1}, {}, accounting=Accounting(hosts=hosts))])
    assert [host.name for host in total.hosts] == [f"{i}.org" for i in range(29, 19, -1)]


def test_one_period_is_shown_alone(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, JANUARY, FEBRUARY)
    text = shown(corpus, "202302")
    assert "202301" not in text and "600 read = 550 kept + 50 dropped" in text
    assert "made with ticlm 0.1, resiliparse 0.15: 202302 (1)" in text
    assert "made from 1 input: crawl/b.warc.gz" in text
    with pytest.raises(InputError, match=r"no period 202303; it has 202301 … 202302 \(2\)"):
        overview(corpus, "202303")
    with pytest.raises(InputError, match="it has none"):
        as_json(corpus_of(tmp_path / "empty"), "202303")


def test_the_json_holds_what_is_shown_in_full(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, JANUARY, FEBRUARY)
    found = json.loads(as_json(corpus))
    assert list(found) == ["info", "total", "periods", "nowhere", "notes", "builds"]
    assert PeriodManifest.model_validate(found["periods"]["202301"]) == JANUARY
    total = found["total"]
    assert (total["read"], total["kept"], total["adds_up"]) == (1600, 850, True)
    assert total["dropped"]["not English"] == 550 and total["tokens_left"] == {TAIL: 80, BEYOND: 1234}
    assert total["subsets"] == {"wiki": 400, "news": 1500} and total["tokens"] == 40_000
    assert total["deduplication"][0]["filter_bytes"] == 123_456
    assert list(json.loads(as_json(corpus, "202302"))["periods"]) == ["202302"]


def test_a_corpus_without_a_census_shows_its_periods_alone(tmp_path: Path) -> None:
    plain = month("202301", {"train": 90, "eval": 5, "tune": 5}, {})
    text = shown(corpus_of(tmp_path, plain))
    for heading in ("Steps", "steps:", "Hosts", "Deduplication", "Held-out text", "Rows of parts", "Shares"):
        assert heading not in text


@pytest.mark.parametrize("sets", [(), ("eval.wiki", "eval.news", "eval.clean", "eval.wiki.clean", "eval.news.clean")])
def test_numbers_stay_whole_at_a_hundred_columns(tmp_path: Path, sets: Sequence[str]) -> None:
    """At the size of the real thing, where every number is as wide as it gets."""
    documents = {"train": 123_456_789, "eval": 999_999, "tune": 999_999, **dict.fromkeys(sets, 99_999)}
    step = Step(name="massive-web-repetition", read=987_654_321, dropped={"a reason": 987_654_320}, edited=12_345_678)
    counts = ("documents", "documents_dropped", "paragraphs", "paragraphs_dropped", "filter_bytes")
    repeated = CENSUS.deduplication[0].model_copy(update=dict.fromkeys(counts, 987_654_321))
    accounting = Accounting(
        steps=(step,), tokens=10**12, subsets=dict.fromkeys("abcdefgh", 10**10), deduplication=(repeated,)
    )
    dropped = {"a reason": 987_654_321, TAIL: 999_999}
    text = shown(
        corpus_of(tmp_path, *(month(label, documents, dropped, accounting=accounting) for label in TIC_CC_MONTHS))
    )
    assert max(map(len, text.splitlines())) <= 100 and "…" not in text.split("documents:")[0]
    row = words(text, "201305")
    assert row == ["201305", "1.11B", "988M", "125M", "3.14", "TB", "771B", "370M", "3.00M", "3.00M", "999,999"]
    # eight columns a table: parts of held-out text first, then the six largest subsets, then all others in one
    tables = text.count("Rows of parts") + text.count("Shares of train")
    assert tables == (2 if sets else 1) and "2 others" in text and "2.00%" in text
