"""The recipes of data sets of the hub, each on a hub on loopback that serves their schemas."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import builds
import hubserver
import hubsets
import pytest
from hubserver import HubServer
from hubsets import marks

from ticlm.core.corpus import Corpus
from ticlm.core.examples import Examples
from ticlm.core.settings import load
from ticlm.datasets.corpus import build
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.evalsets import recipe as examples
from ticlm.datasets.io import fetching
from ticlm.datasets.io.fetching import Patience

RECIPES = "datasets/recipes"
SMALL = ("tokenizer.vocab_size=300", "length=64", "executor=process", "splits={eval: 0, tune: 0}", "by_source=false")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    monkeypatch.setattr(fetching, "PATIENCE", Patience(tries=2, first_s=0.001, most_s=0.002))
    builds.without_ray(monkeypatch)
    with hubserver.served(tmp_path / "cache", monkeypatch) as server:
        yield server


def built(root: Path, name: str, *sets: str) -> Corpus:
    return build.build(load(CorpusRecipe, name, RECIPES, (*SMALL, *sets)), str(root))


def of_months(found: dict[str, set[str]]) -> dict[str, int]:
    return {label: len(names) for label, names in found.items()}


def test_fineweb_by_the_command_with_the_hub_that_the_environment_names(tmp_path: Path, server: HubServer) -> None:
    crawls = ("CC-MAIN-2024-10", "CC-MAIN-2024-18", "CC-MAIN-2023-50")
    server.repository("HuggingFaceFW/fineweb").push(hubsets.fineweb(crawls))
    sets = [word for one in (*SMALL, "documents.per_period={documents: 9}") for word in ("--set", one)]
    command = [f"{Path(sys.executable).parent}/ticlm", "data", "build", "fineweb", "--root", str(tmp_path), *sets]
    environment = os.environ | {"HF_ENDPOINT": server.url, "HF_HOME": str(tmp_path / "home"), "HF_TOKEN": "hf_secret"}
    environment["HF_HUB_OFFLINE"] = "0"
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    corpus = Corpus.open(str(tmp_path / "corpora/fineweb@1"))
    assert of_months(marks(corpus)) == {"202403": 9, "202404": 9}
    commit = server.repository("HuggingFaceFW/fineweb").refs["main"]
    assert all(f'"revision":"{commit}"' in about.lineage.recipe for about in corpus.periods.values())
    written = b"".join(path.read_bytes() for path in (tmp_path / "corpora").rglob("*") if path.is_file())
    assert b"hf_secret" not in written and "hf_secret" not in ended.stdout + ended.stderr
    assert not [one for one in server.requests if "2023-50/" in one]


def test_fineweb_edu_has_no_dates_but_those_of_crawls(tmp_path: Path, server: HubServer) -> None:
    crawls = ("CC-MAIN-2024-10", "CC-MAIN-2024-22")
    server.repository("HuggingFaceFW/fineweb-edu").push(hubsets.fineweb(crawls, edu=True))
    corpus = built(tmp_path, "fineweb-edu", "documents.per_period={documents: 5}")
    assert of_months(marks(corpus)) == {"202403": 5, "202405": 5}


def test_fineweb_2_takes_months_of_a_column_from_the_row_groups_that_may_have_them(
    tmp_path: Path, server: HubServer
) -> None:
    files = hubsets.fineweb2(("dan_Latn", "swe_Latn", "deu_Latn"), [f"2023-{month:02d}" for month in range(1, 7)])
    server.repository("HuggingFaceFW/fineweb-2").push(files)
    periods = "periods={initial: 202302, last: 202303}"
    corpus = built(tmp_path, "fineweb-2", periods, "documents.per_period={documents: 10}")
    found = marks(corpus)
    assert {label: sorted({name.split()[0] for name in names}) for label, names in found.items()} == {
        "202302": ["dan_Latn", "swe_Latn"],
        "202303": ["dan_Latn", "swe_Latn"],
    }
    assert of_months(found) == {"202302": 10, "202303": 10}
    whole = sum(len(data) for name, data in files.items() if "train" in name and "deu" not in name)
    assert server.data_sent < 0.75 * whole


def test_wikipedia_has_its_day_and_language_in_the_name_of_a_config(tmp_path: Path, server: HubServer) -> None:
    configs = ("20231101.da", "20231101.sv", "20240301.da", "20231101.en")
    server.repository("wikimedia/wikipedia").push(hubsets.wikipedia(configs))
    corpus = built(tmp_path, "wikipedia-hub", "documents.configs=['*.da', '*.sv']", "by_source=true")
    assert of_months(marks(corpus)) == {"202311": 16, "202403": 8}
    assert set(corpus.info.sources or ()) == {"da", "sv"}


def test_ccnews_opens_files_of_years_in_the_calendar_and_leaves_out_dates_of_other_years(
    tmp_path: Path, server: HubServer
) -> None:
    server.repository("stanford-oval/ccnews").push(hubsets.ccnews((2021, 2022, 2023)))
    corpus = built(tmp_path, "ccnews", "periods={initial: 202201..202206, step: half-year, last: 202212}")
    assert of_months(marks(corpus)) == {"202201-202206": 24, "202207-202212": 22}
    assert not [one for one in server.requests if re.search("resolve.*(2021|2023)_part", one)]


def test_ppl_guardian_has_a_split_for_each_year(tmp_path: Path, server: HubServer) -> None:
    commit = server.repository("TheFinAI/ppl").push(hubsets.ppl((2022, 2023, 2024)))
    sets = ("examples.periods={initial: 2022, step: year, last: 2023}", "examples.documents=5", "executor=process")
    sets = (sets[0].replace("2022,", "202201..202212,").replace("2023}", "202312}"), *sets[1:])
    found = examples.build(load(examples.ExampleSetRecipe, "ppl-guardian", RECIPES, sets), str(tmp_path))
    assert isinstance(found, Examples)
    for label in ("202201-202212", "202301-202312"):
        assert len(list(found.read(label, "all"))) == 5
        assert all(one.about["date"].startswith(label[:4]) for one in found.read(label, "all"))
        assert f"hf://datasets/TheFinAI/ppl@{commit}/data/" in found.periods[label].lineage.inputs[0]
