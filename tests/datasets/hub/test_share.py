"""A seeded share of a data set on the hub: what is read, what a larger cap adds, and servers that fail."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import builds
import hubserver
import hubsets
import pytest
from hubserver import HubServer
from hubsets import marks

from ticlm.core.corpus import Corpus
from ticlm.core.errors import TiclmWarning
from ticlm.core.periods import Calendar
from ticlm.core.settings import parse
from ticlm.datasets.corpus import build
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.hub.dealing import dealt
from ticlm.datasets.hub.documents import HubDocuments
from ticlm.datasets.hub.repository import HubFile
from ticlm.datasets.hub.share import Cap, plan
from ticlm.datasets.io import fetching
from ticlm.datasets.io.documents import Document
from ticlm.datasets.io.fetching import Patience

CRAWLS = (
    *("2022-27", "2022-33", "2022-40", "2022-49", "2023-06", "2023-14", "2023-23", "2023-40", "2023-50", "2024-10"),
    *("2024-18", "2024-22", "2024-26", "2024-30", "2024-33", "2024-38", "2024-42", "2024-46", "2024-51", "2025-05"),
)
CONFIGS = tuple(f"CC-MAIN-{one}" for one in CRAWLS)
FIELDS = {"timestamp": "hub.config", "source": "dump"}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "PATIENCE", Patience(tries=6, first_s=0.001, most_s=0.002))
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda _: None)
    builds.without_ray(monkeypatch)


@pytest.fixture(scope="module")
def web() -> hubserver.Files:
    return hubsets.fineweb(CONFIGS, files=2, groups=6, rows=10, words=300)


@pytest.fixture
def server(tmp_path: Path, web: hubserver.Files, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    with hubserver.served(tmp_path / "cache", monkeypatch) as server:
        server.repository("org/web").push(web)
        yield server


def documents(**settings: Any) -> HubDocuments:
    about = {"kind": "hub", "path": "org/web", "fields": FIELDS, "configs": "CC-MAIN-*", **settings}
    return parse(HubDocuments, about, "documents")


def read(reader: HubDocuments) -> list[Document]:
    inputs = reader.inputs(Calendar())
    found = [one for entry in inputs for piece in reader.pieces(entry) for one in reader.read(piece)]
    return [one for one in found if isinstance(one, Document)]


def built(root: Path, name: str = "web", **changes: Any) -> Corpus:
    settings = {
        "name": name,
        "version": 1,
        "documents": documents(**{"configs": "CC-MAIN-2022-*"} | changes).model_dump(),
        "tokenizer": {"kind": "train", "vocab_size": 300},
        "splits": {"eval": 0, "tune": 0},
        "length": 64,
        "executor": "process",
    }
    return build.build(parse(CorpusRecipe, settings, "recipe"), str(root))


def test_of_twenty_configs_about_what_a_cap_needs_is_read_and_a_larger_cap_adds_to_it(server: HubServer) -> None:
    reads: list[set[str]] = []
    for tokens in (20_000, 50_000):
        before = server.data_sent
        found = read(documents(per_period={"tokens": tokens}))
        need = 20 * 4 * tokens
        assert server.data_sent - before <= 1.2 * need
        sizes = Counter[str]()
        for one in found:
            sizes[one.source] += len(one.text.encode())
        assert len(sizes) == 20 and all(0.85 * 4 * tokens < size <= 4 * tokens for size in sizes.values())
        reads.append({one.text for one in found})
    assert reads[0] < reads[1]
    assert {one.text for one in read(documents(per_period={"tokens": 20_000}, seed=1))} != reads[0]


def test_a_corpus_under_a_larger_cap_has_all_rows_of_one_under_a_smaller(tmp_path: Path, server: HubServer) -> None:
    few, many = (
        marks(built(tmp_path, f"web{n}", configs="CC-MAIN-2022-[23]*", per_period={"documents": n})) for n in (6, 64)
    )
    assert [len(few[label]) for label in few] == [6, 6]
    assert [len(many[label]) for label in few] == [64, 64]
    assert all(few[label] < many[label] for label in few)


def test_faults_and_cut_streams_are_waited_out_and_give_the_same(server: HubServer) -> None:
    reader = documents(configs="CC-MAIN-2022-*", per_period={"tokens": 20_000})
    whole = [one.text for one in read(reader)]
    hubserver.forget()
    server.faults = 3
    inputs = reader.inputs(Calendar())
    server.faults, server.cut_at, server.cuts = 2, 1000, 3
    texts = [one.text for entry in inputs for one in reader.read(reader.pieces(entry)[0]) if isinstance(one, Document)]
    assert texts == whole and not server.faults and not server.cuts


def test_a_revision_that_has_moved_is_told_in_a_line_and_only_what_is_new_is_read(
    tmp_path: Path, server: HubServer, web: hubserver.Files
) -> None:
    repository = server.repository("org/web")
    first = repository.push({name: data for name, data in web.items() if "2022-49/" not in name})
    card = hubsets.fineweb(CONFIGS[:3], files=0)
    repository.commits[first] |= card
    built(tmp_path, per_period={"documents": 20})
    second = repository.push(web)
    hubserver.forget()
    before = server.data_sent
    with pytest.warns(TiclmWarning) as told:
        corpus = built(tmp_path, per_period={"documents": 20})
    assert [str(one.message) for one in told] == [
        f"org/web has moved since this corpus was built of it: from commit {first[:12]} to {second[:12]}"
    ]
    assert list(corpus.periods) == ["202207", "202208", "202210", "202212"]
    assert server.data_sent - before < 0.6 * before  # a period after three
    assert json.loads((tmp_path / "corpora/web@1/hub.json").read_text()) == {
        "path": "org/web",
        "commits": [first, second],
    }
    recorded = "".join(path.read_text() for path in tmp_path.rglob("*.json"))
    assert "hf_open" not in recorded and "Bearer" not in recorded


def test_budgets_grow_with_the_cap_and_never_exceed_it() -> None:
    rng = random.Random(0)
    for _ in range(50):
        labels = [f"2023{month:02d}" for month in range(1, rng.randint(1, 4) + 1)]
        endings = rng.choice([(".jsonl",), (".parquet",), (".parquet", ".jsonl", ".jsonl")])
        names = [f"{n}{rng.choice(endings)}" for n in range(rng.randint(1, 6))]
        files = [(HubFile(name, 0, "", "ab"[n % 2], "train"), labels) for n, name in enumerate(names)]
        weights: dict[str, dict[str, float]] = {}
        weights |= {file.path: {label: rng.choice([0, 0.3, 1, 7, 50.5]) for label in labels} for file, _ in files}
        before: dict[str, dict[str, int]] = {}

        def weigh(file: HubFile, _: Sequence[str], of: dict[str, dict[str, float]] = weights) -> dict[str, float]:
            return of[file.path]

        for most in (2, 3, 5, 8, 13, 40, 41, 100, 1000):
            cap = Cap(documents=most)
            given = {file.path: dict(own) for file, own in plan(files, cap, 0, weigh)}
            assert all(own[label] <= given[path][label] for path, own in before.items() for label in own)
            assert all(sum(own.get(label, 0) for own in given.values()) <= most for label in labels)
            before = given


def test_what_is_dealt_out_is_all_and_grows_for_each_file() -> None:
    rng = random.Random(1)
    for _ in range(30):
        sizes = [rng.choice([1, 2, 9, 40]) for _ in range(rng.choice([1, 3, 16, 17, 40]))]
        before = [0] * len(sizes)
        for amount in range(3 * sum(sizes) + 2):
            given = dealt(sizes, amount, portion=4)
            assert sum(given) == amount and all(old <= new for old, new in zip(before, given))
            before = given
    assert dealt([50, 50, 5], 6, portion=4) == [4, 2, 0]
    assert dealt([50, 50, 5], 65, portion=4) == [30, 30, 5]
    assert dealt([50, 50, 5], 125, portion=4) == [57, 58, 10]
    assert dealt([100] * 20, 160, portion=4) == [10] * 16 + [0] * 4


def test_files_in_the_order_of_their_dates_give_to_every_period(server: HubServer) -> None:
    files: hubserver.Files = {"README.md": hubsets.card({"2018": "2018_*.jsonl"})}
    for part in range(4):
        days = [f"2018-{3 * part + row // 100 + 1:02d}-03" for row in range(300)]
        rows = [
            {"text": hubsets.text(f"{part} {n}"), "url": f"u/{part}/{n}", "date": day} for n, day in enumerate(days)
        ]
        files[f"2018_part_{part:02d}.jsonl"] = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    server.repository("org/dated").push(files)
    calendar = Calendar(initial="201801..201803", step="quarter", last="201812")
    fields = {"timestamp": "date"}
    reader = documents(path="org/dated", configs="2018", within="file", fields=fields, per_period={"bytes": 70_000})
    taken = Counter[str]()
    for entry in reader.inputs(calendar):
        for one in reader.read(reader.pieces(entry)[0]):
            if isinstance(one, Document) and (period := calendar.place(one.timestamp)) is not None:
                taken[period.label] += len(one.text.encode())
    assert len(taken) == 4 and all(16_500 < size <= 17_500 for size in taken.values())


SPAN = Calendar(initial="202301", last="202304")
YEAR = Calendar(initial="202301", last="202312")


@pytest.mark.parametrize(
    ("files", "settings", "calendar"),
    [
        (
            hubsets.ccnews((2023,)),
            {"within": "file", "fields": {"text": "plain_text", "timestamp": "published_date"}},
            YEAR,
        ),
        (hubsets.fineweb2(("dan_Latn",), ("2023-01", "2023-02", "2023-04")), {"fields": {"timestamp": "date"}}, SPAN),
        (hubsets.fineweb2(("dan_Latn",), ("2023-03",), statistics=False), {"fields": {"timestamp": "date"}}, SPAN),
    ],
)
@pytest.mark.parametrize("unit", ["documents", "bytes"])
def test_a_larger_cap_adds_to_every_period_of_json_lines_and_of_dates_in_a_column(
    server: HubServer, files: hubserver.Files, settings: dict[str, Any], calendar: Calendar, unit: str
) -> None:
    server.repository("org/dated").push(files)
    before: set[str] = set()
    for cap in (1, 2, 5, 100):
        most = cap * (800 if unit == "bytes" else 1)
        reader = documents(**{"path": "org/dated", "configs": "*", "per_period": {unit: most}} | settings)
        taken = Counter[str]()
        texts: set[str] = set()
        for entry in reader.inputs(calendar):
            for one in reader.read(reader.pieces(entry)[0]):
                if isinstance(one, Document) and (period := calendar.place(one.timestamp)) is not None:
                    taken[period.label] += len(one.text.encode()) if unit == "bytes" else 1
                    texts.add(one.text)
        assert texts >= before and all(size <= most for size in taken.values())
        before = texts
    assert len(before) > 8
