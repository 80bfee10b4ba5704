"""A corpus of files behind URLs with credentials: the reader uses them, the corpus holds none, and a new signature
makes no new input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import web

from ticlm.core.errors import InputError
from ticlm.core.settings import parse
from ticlm.core.store import Store
from ticlm.datasets.corpus import build
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.io.listing import files

SECRETS = ("hunter2", "SIG", "X-Amz")


def _lines(month: str) -> bytes:
    """Documents of a month, the last of them without a text, so that its place is reported."""
    rows = [
        {"url": f"doc{n}", "text": f"It is {n} in {month}, says nobody at all.", "timestamp": f"{month}-05"}
        for n in range(30)
    ]
    return "".join(json.dumps(row) + "\n" for row in [*rows, {"url": "last", "timestamp": f"{month}-06"}]).encode()


def _recipe(site: web.Site, signature: str) -> CorpusRecipe:
    place = site.url.replace("//", "//me:hunter2@")
    settings = {
        "name": "toy",
        "version": 1,
        "documents": {"kind": "files", "paths": [f"{place}/{name}?X-Amz-Signature={signature}" for name in "ab"]},
        "periods": {"initial": 202301, "last": 202302},
        "splits": {"eval": 0.2, "tune": 0.1},
        "tokenizer": {"kind": "train", "vocab_size": 300},
        "length": 16,
        "limits": {"bad": 0.5},
    }
    settings["documents"]["paths"] = [path.replace("?", ".jsonl?") for path in settings["documents"]["paths"]]  # type: ignore[index]
    return parse(CorpusRecipe, settings, "recipe")


def _served(signature: str) -> dict[str, bytes]:
    """What the server has: the files under their signed names alone."""
    return {
        f"{name}.jsonl?X-Amz-Signature={signature}": _lines(month)
        for name, month in (("a", "2023-01"), ("b", "2023-02"))
    }


def _ranges(site: web.Site) -> list[str]:
    """The ranges that were read; listing asks without one."""
    return list(filter(None, site.gets()))


@pytest.mark.usefixtures("loop")
def test_a_corpus_holds_no_credentials_of_its_inputs(tmp_path: Path) -> None:
    told: list[str] = []
    with web.served(_served("SIG1")) as site:
        built = build.build(_recipe(site, "SIG1"), str(tmp_path), told.append)
        plain = f"{site.url}/a.jsonl"
        site.files, read = _served("SIG2"), _ranges(site)
        build.build(_recipe(site, "SIG2"), str(tmp_path), told.append)
        assert _ranges(site) == read, "a new signature is no new input"
    assert list(built.periods) == ["202301", "202302"] and built.periods["202301"].lineage.inputs == (plain,)
    assert Store(str(tmp_path)).read_json("corpora/toy@1/builds/00000.json")["inputs"][0]["path"] == plain
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    held = b"".join(path.read_bytes() for path in written).decode(errors="replace") + "".join(told)
    assert plain in held and [secret for secret in SECRETS if secret in held] == []


@pytest.mark.usefixtures("loop")
def test_an_input_that_is_refused_is_named_without_its_credentials(tmp_path: Path) -> None:
    with web.served({}) as site, pytest.raises(InputError, match=r"/a\.jsonl") as caught:
        build.build(_recipe(site, "SIG1"), str(tmp_path))
    assert [secret for secret in SECRETS if secret in str(caught.value)] == []


def test_one_file_under_two_signatures_is_refused() -> None:
    served = {f"a.jsonl?sig={number}": b"{}\n" for number in "12"}
    with web.served(served) as site, pytest.raises(InputError, match="two kinds of credentials"):
        files([f"{site.url}/a.jsonl?sig={number}" for number in "12"], (".jsonl",))
