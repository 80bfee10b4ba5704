"""Splits whose shares are met in text, period by period, and the lines on periods whose splits are lopsided."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builds import Backwards, hashes, without_ray

from ticlm.core.accounting import Accounting, Lineage
from ticlm.core.corpus import Corpus, PeriodManifest, SplitManifest
from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.periods import Calendar
from ticlm.core.settings import parse
from ticlm.core.store import Store
from ticlm.datasets.corpus import build, build_records
from ticlm.datasets.corpus.ledger.decided import FILE, recorded
from ticlm.datasets.corpus.ledger.shares import lopsided
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.corpus.splits import OPEN, SPLITS, Splits
from ticlm.platform.run.check import check

BY_TOKENS = {"eval": 0.25, "tune": 0.1, "by": "tokens"}
WORDS = ("tide", "moor", "lamp", "rain", "slate", "gull", "barge", "reed")
Sizes = Mapping[str, int]


def _text(name: str, words: int) -> str:
    return " ".join(f"{WORDS[(at * 7 + len(name)) % 8]}{at % 13}" for at in range(words)) + f" of {name}."


def _write(folder: Path, month: str, sizes: Sizes) -> None:
    folder.mkdir(exist_ok=True)
    lines = [
        {"id": name, "text": _text(name, words), "timestamp": f"{month[:4]}-{month[4:]}-15", "source": "s"}
        for name, words in sizes.items()
    ]
    (folder / f"{month}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def _recipe(folder: Path, last: str, **changes: Any) -> CorpusRecipe:
    settings: dict[str, Any] = {
        "name": "toy",
        "version": 1,
        "documents": {"kind": "files", "paths": [str(folder)], "fields": {"id": "id"}},
        "periods": {"initial": 202301, "last": last},
        "splits": BY_TOKENS,
        "tokenizer": {"kind": "train", "vocab_size": 300},
        "length": 16,
    }
    return parse(CorpusRecipe, settings | changes, "recipe")


MANY = {f"page {n}": 20 + n for n in range(30)}
OLD, NEW = {f"page {n}": 30 for n in range(12)}, {f"note {n}": 50 for n in range(24)}
FEW_LONG = {"annual report": 4000, "digest": 900, **OLD, **NEW}
MONTHS = {"202301": MANY, "202302": FEW_LONG, "202303": {"one": 700}, "202304": {f"page {n}": 50 for n in range(40)}}


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    without_ray(monkeypatch)


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    for month, sizes in MONTHS.items():
        _write(tmp_path / "texts", month, sizes)
    return tmp_path / "texts"


def _splits(corpus: Corpus, recipe: CorpusRecipe) -> dict[str, dict[str, str]]:
    """The split of each document of each month, as the corpus keeps it."""
    assert isinstance(recipe.splits, Splits)
    found: dict[str, dict[str, str]] = {}
    for month in corpus.periods:
        keys = np.array([recipe.splits.place(name) for name in MONTHS[month]], np.uint64)
        splits = recorded(corpus.store, month).of(keys)
        found[month] = {name: SPLITS[split] for name, split in zip(MONTHS[month], splits)}
    return found


def test_shares_are_met_in_text_where_hashes_of_ids_miss_them(alone: None, texts: Path, tmp_path: Path) -> None:
    recipe = _recipe(texts, "202304")
    corpus = build.build(recipe, str(tmp_path))
    for month, share in {"202301": 0.01, "202302": 0.02, "202304": 0.1}.items():  # most of April was there before
        sizes = {split: corpus.split(month, split).bytes for split in SPLITS}
        whole = sum(sizes.values())
        assert whole == sum(len(_text(name, words)) for name, words in MONTHS[month].items())
        assert sizes["eval"] / whole == pytest.approx(0.25, abs=share)
        assert sizes["tune"] / whole == pytest.approx(0.1, abs=share)
    splits = _splits(corpus, recipe)
    assert splits["202302"]["annual report"] == "train"  # it is larger than what is held out
    assert splits["202303"] == {"one": "train"}  # the only document of a month is trained on
    assert [line.split(":")[0] for line in lopsided(corpus.periods)] == ["202303", "202303"]
    assert lopsided(corpus.periods)[0].startswith(
        "202303: one document makes 100% of its text (and 1 more period: 2023"
    )


def test_a_document_that_is_seen_again_stays_in_its_split(alone: None, texts: Path, tmp_path: Path) -> None:
    recipe = _recipe(texts, "202304")
    splits = _splits(build.build(recipe, str(tmp_path)), recipe)
    found: dict[str, set[str]] = {}
    for month in splits.values():
        for name, split in month.items():
            found.setdefault(name, set()).add(split)
    assert all(len(several) == 1 for several in found.values())
    again = MONTHS["202302"].keys() & MONTHS["202301"].keys()
    assert {splits["202302"][name] for name in again} == {
        "train",
        "eval",
        "tune",
    }


def test_months_one_at_a_time_from_the_last_piece_on_and_all_at_once_are_the_same_bytes(
    alone: None, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = build.build(_recipe(texts, "202304"), str(tmp_path / "a"))
    kept = [(tmp_path / "a/corpora/toy@1" / path).read_bytes() for path in whole.store.walk() if path.endswith(FILE)]
    monkeypatch.setattr(build, "executing", lambda *_: contextlib.nullcontext(Backwards()))
    monkeypatch.setattr("ticlm.datasets.corpus.staging.RUN_BYTES", 3000)
    monkeypatch.setattr("ticlm.datasets.corpus.sorted_runs.GROUP_BYTES", 500)
    monkeypatch.setattr("ticlm.datasets.corpus.parts.PART_BYTES", 4000)
    monkeypatch.setattr("ticlm.datasets.corpus.parts.LEAST_PART_BYTES", 4000)
    for last in MONTHS:
        corpus = build.build(_recipe(texts, last), str(tmp_path / "b"))
    assert hashes(corpus) == hashes(whole)
    other = [(tmp_path / "b/corpora/toy@1" / path).read_bytes() for path in corpus.store.walk() if path.endswith(FILE)]
    assert sorted(other) == sorted(kept) and len(kept) == 4


def test_a_lost_month_is_made_again_to_the_same_bytes(alone: None, texts: Path, tmp_path: Path) -> None:
    recipe = _recipe(texts, "202304")
    expected = hashes(build.build(recipe, str(tmp_path)))
    Store(str(tmp_path)).remove("corpora/toy@1/periods/202302")
    assert hashes(build.build(recipe, str(tmp_path))) == expected
    assert check(Store(str(tmp_path)))[1] == []


def test_a_month_before_one_that_stands_comes_too_late(alone: None, texts: Path, tmp_path: Path) -> None:
    (texts / "202302.jsonl").rename(tmp_path / "late")
    recipe = _recipe(texts, "202304")
    build.build(recipe, str(tmp_path))
    (tmp_path / "late").rename(texts / "202302.jsonl")
    corpus = build.build(recipe, str(tmp_path))
    assert list(corpus.periods) == ["202301", "202303", "202304"]
    assert build_records.builds(corpus.store)[-1].dropped == {build_records.AFTER_LATER: len(FEW_LONG)}


def test_splits_that_are_damaged_end_the_next_month(alone: None, texts: Path, tmp_path: Path) -> None:
    corpus = build.build(_recipe(texts, "202303"), str(tmp_path))
    path = next(path for path in corpus.store.walk("periods/202302") if path.endswith(FILE))
    corpus.store.write(f"periods/202302/{path}", b"PAR1")
    with pytest.raises(InputError, match=r"splits\.parquet: 4 bytes, the record says .*; "):
        build.build(_recipe(texts, "202304"), str(tmp_path))


def test_splits_by_documents_keep_their_identity() -> None:
    assert fingerprint(Splits()) == fingerprint(Splits(by="documents"))
    assert fingerprint(Splits(by="tokens")) != fingerprint(Splits())
    assert Splits().of("a page") == Splits(by="documents").of("a page")


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([10, 10, 10, 10], [1, 0, 0, 0]),
        ([100], [0]),
        ([50, 50], [0, 0]),
        ([90, 5, 5], [0, 1, 1]),  # both: still nearer to 25 than one
        ([34, 33, 33], [0, 1, 0]),  # a third is nearer to a quarter than nothing
        ([], []),
    ],
)
def test_documents_fill_a_share_as_closely_as_whole_ones_can(sizes: Sequence[int], expected: Sequence[int]) -> None:
    nothing = np.full(len(sizes), OPEN, np.int8)
    assert Splits(eval=0.25, tune=0, by="tokens").decided(np.array(sizes, np.int64), nothing).tolist() == expected


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([1000, 10, 10], [0, 1, 2]),  # both small ones would fit into eval
        ([10, 1000, 10, 10], [1, 0, 1, 2]),
        ([50, 50, 50], [1, 2, 0]),
        ([1, 2, 1000], [1, 2, 0]),
        ([1000, 1000, 1], [2, 0, 1]),
        ([10, 0, 0], [0, 0, 0]),  # two of them are empty
        ([60, 50], [0, 1]),
    ],
)
def test_three_documents_or_more_leave_no_split_empty_and_the_giant_to_train(
    sizes: Sequence[int], expected: Sequence[int]
) -> None:
    nothing = np.full(len(sizes), OPEN, np.int8)
    assert Splits(eval=0.25, tune=0.08, by="tokens").decided(np.array(sizes, np.int64), nothing).tolist() == expected


def test_a_document_with_most_of_a_large_share_is_trained_on() -> None:
    sizes = np.array([390, *[10] * 61], np.int64)
    splits = Splits(eval=0.4, tune=0.1, by="tokens").decided(sizes, np.full(len(sizes), OPEN, np.int8))
    assert splits[0] == 0
    assert [int(sizes[splits == one].sum()) for one in (1, 2)] == [400, 100]


def test_what_earlier_periods_decided_counts_towards_a_share() -> None:
    sizes, before = np.array([10, 10, 10, 10], np.int64), np.array([OPEN, OPEN, 1, 0], np.int8)
    assert Splits(eval=0.25, tune=0.25, by="tokens").decided(sizes, before).tolist() == [2, 0, 1, 0]


def _month(label: str, train: int, held_out: int, rows: int = 400, largest: tuple[int, ...] = ()) -> PeriodManifest:
    """A month with so many bytes (four a token) in train and in eval, by a recipe that asks for 33 %."""
    sizes = {"train": train, "eval": held_out, "tune": 0}
    splits = {
        split: SplitManifest(files=(), rows=rows, tokens=size // 4, documents=1, bytes=size)
        for split, size in sizes.items()
    }
    lineage = Lineage(recipe=json.dumps({"splits": {"eval": 0.25, "tune": 0.08}}))
    accounting = Accounting(largest=largest)
    period = Calendar().period(label)
    return PeriodManifest(period=period, splits=splits, read=3, lineage=lineage, accounting=accounting)


def test_lopsided_months_are_named_in_one_line_each_kind() -> None:
    sound = _month("202301", 67_000, 33_000, largest=(300, 200, 100))
    worst = _month("202302", 20_000, 80_000, largest=(12_000, 6_000, 1_000))
    second = _month("202303", 55_000, 45_000)
    long = _month("202304", 67_000, 33_000, largest=(16_000,))
    tiny = _month("202305", 670, 330, rows=7)
    hint = "; splits.by: tokens, in a new version of the corpus, meets shares in text"
    assert lopsided({one.period.label: one for one in (sound, worst, second, long, tiny)}) == [
        "202302: 80% of its text is held out, where the recipe asks for 33%; 2 documents make 72% of it "
        f"(and 1 more period: 202303){hint}",
        "202304: one document makes 64% of its text",
        "202305: 7 train rows and 7 eval rows; a mean over fewer than 20 says little",
    ]
    assert lopsided({"202301": sound}) == []
    many = {f"2023{n:02d}": _month(f"2023{n:02d}", 10_000, 90_000) for n in range(1, 10)}
    assert "(and 8 more periods: 202302, 202303, 202304, 202305, 202306, …)" in lopsided(many)[0]
