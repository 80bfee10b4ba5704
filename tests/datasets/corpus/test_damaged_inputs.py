"""Inputs that are damaged: each counts under `limits.inputs` as far as it is lost, and is named with the bytes lost."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import pytest
import web
from builds import hashes
from months import built, months, texts_of, write

from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError
from ticlm.datasets.corpus import build_records

CALENDAR = {"initial": 202301, "last": 202301}


def _pages(name: str, count: int) -> list[bytes]:
    rng = random.Random(name)
    words = [f"word{number}" for number in range(300)]
    return [
        web.page(f"https://{name}.example/{n}", " ".join(rng.choices(words, k=50)), date="2023-01-05T00:00:00Z")
        for n in range(count)
    ]


def _crawl(folder: Path, tmp_path: Path, **changes: Any) -> tuple[Corpus, list[str]]:
    documents = {"kind": "crawl", "paths": [str(folder)], "dated": "record", "together": "url"}
    return built(folder, tmp_path, documents=documents, periods=CALENDAR, **changes)


def _archives(folder: Path) -> Path:
    folder.mkdir()
    for name in ("a", "b", "c"):
        (folder / f"{name}.warc.gz").write_bytes(web.gz(_pages(name, 150)))
    return folder


def test_an_archive_of_random_bytes_is_no_single_bad_record(loop: None, tmp_path: Path) -> None:
    folder = _archives(tmp_path / "crawl")
    path = folder / "b.warc.gz"
    path.write_bytes(random.Random(0).randbytes(200_000))
    with pytest.raises(InputError) as error:
        _crawl(folder, tmp_path)
    said = f"{path}: byte 0: garbage between records; 200,000 bytes are lost"
    assert str(error.value).startswith("1 of 3 inputs are damaged, limits.inputs allows 1.00%; the first: " + said)
    corpus, lines = _crawl(folder, tmp_path, limits={"inputs": 0.34})
    assert f"warning: damaged: {said}" in lines
    assert build_records.builds(corpus.store)[0].broken == {str(path): said}


def test_a_single_damaged_record_costs_itself_and_is_named(loop: None, tmp_path: Path) -> None:
    folder = _archives(tmp_path / "crawl")
    path, parts = folder / "b.warc.gz", [gzip.compress(page, mtime=0) for page in _pages("b", 150)]
    flipped = bytearray(parts[7])
    flipped[len(flipped) // 2] ^= 16
    path.write_bytes(b"".join([*parts[:7], bytes(flipped), *parts[8:]]))
    corpus, lines = _crawl(folder, tmp_path)
    assert corpus.periods["202301"].read == 449
    offset = sum(map(len, parts[:7]))
    assert any(
        f"{path}: byte {offset}: broken" in line and f" {len(flipped):,} bytes are lost" in line for line in lines
    )


@pytest.mark.parametrize("name", ["empty.warc.gz", "cut.warc.gz"])
def test_an_archive_without_its_end_counts_as_an_input(loop: None, tmp_path: Path, name: str) -> None:
    folder = _archives(tmp_path / "crawl")
    (folder / name).write_bytes(b"" if name.startswith("empty") else web.gz(_pages("d", 50))[:-40])
    with pytest.raises(InputError, match=rf"1 of 4 inputs are damaged.*{name}.*how much is lost is not known"):
        _crawl(folder, tmp_path)


def test_a_file_that_is_cut_off_counts_as_an_input_and_is_read_when_it_is_whole(loop: None, tmp_path: Path) -> None:
    folder = months(tmp_path / "texts", "202301", "202303")
    periods = {"initial": 202301, "last": 202303}
    whole, _ = built(folder, tmp_path / "whole", periods=periods)
    (folder / "202302.jsonl").unlink()
    path = write(folder / "202302.jsonl.gz", texts_of("202302"))
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match=r"1 of 3 inputs are damaged.*202302.jsonl.gz.*put whole files in their place"):
        built(folder, tmp_path, periods=periods)
    path.write_bytes(data)
    assert hashes(built(folder, tmp_path, periods=periods)[0]) == hashes(whole)


def test_damage_that_was_accepted_does_not_keep_a_lost_period_from_being_built_again(
    loop: None, tmp_path: Path
) -> None:
    folder = months(tmp_path / "texts", "202301", "202303")
    path = write(folder / "202302.jsonl.gz", [*texts_of("202302", 200, seed=1), *[{"text": "undated"}] * 9])
    path.write_bytes(path.read_bytes()[:-40])
    for number in range(8):
        write(folder / f"more-{number}.jsonl", texts_of("202301", 40, seed=number))
    settings = {"periods": {"initial": 202301, "last": 202303}, "limits": {"inputs": 0.1, "bad": 0.02}}
    corpus, _ = built(folder, tmp_path, **settings)
    expected = hashes(corpus)
    corpus.store.remove("periods/202302")
    assert hashes(built(folder, tmp_path, **settings)[0]) == expected
