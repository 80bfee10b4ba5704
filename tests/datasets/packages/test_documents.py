"""Packages as dated documents: an index on loopback to which releases are added, and what of them is new."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import web
from builds import hashes
from packageindex import INDEX, release

from ticlm.core.accounting import Step
from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError, RunError
from ticlm.core.periods import Calendar
from ticlm.core.settings import parse
from ticlm.datasets.corpus.build import build
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.io import fetching
from ticlm.datasets.io.documents import Bad, Document
from ticlm.datasets.io.fetching import Patience, Unreachable
from ticlm.datasets.packages.documents import PackageDocuments
from ticlm.datasets.packages.releases import ReleaseFile
from ticlm.datasets.packages.sdists import downloaded

CALENDAR = Calendar(initial="202401", step="month", last="202403")
GUIDE = "Guide\n=====\n\nThe toy adds numbers, as many of them as anybody could ever want to add.\n"
NOTES = "Changes\n=======\n\n{0}\n"
FIRST = "1.0\n---\n\n- The first release adds two numbers and tells you what their sum is.\n"
SECOND = "1.1\n---\n\n- Sums of three numbers are possible now, as many users had asked for.\n\n"
THIRD = "2.0\n---\n\n- Differences came as well, which the manual had promised for a long while.\n\n"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(fetching, "PATIENCE", Patience(tries=3, first_s=0.001, most_s=0.002))
    yield


@pytest.fixture
def site() -> Iterator[web.Site]:
    """An index with three months of a package, one release in each."""
    with web.served({}) as served:
        release(served, "toy", "1.0", "2024-01-05", {"docs/guide.rst": GUIDE, "CHANGES.rst": NOTES.format(FIRST)})
        pages = {"docs/guide.rst": GUIDE, "CHANGES.rst": NOTES.format(SECOND + FIRST)}
        release(served, "toy", "1.1", "2024-02-05", pages)
        release(served, "toy", "2.0", "2024-03-05", {"CHANGES.rst": NOTES.format(THIRD + SECOND + FIRST)})
        yield served


def source(site: web.Site, tmp_path: Path, **settings: Any) -> PackageDocuments:
    given = {"packages": ["toy"], "index": f"{site.url}/{INDEX}", "cache": f"{tmp_path}/cache", "shortest_words": 5}
    return parse(PackageDocuments, given | settings, "documents")


def outcomes(documents: PackageDocuments, calendar: Calendar = CALENDAR) -> list[Any]:
    return [one for entry in documents.inputs(calendar) for one in documents.read(documents.pieces(entry)[0])]


def texts(documents: PackageDocuments) -> list[tuple[str, str, str]]:
    """(day, page, text) of each document, without its first line."""
    found = [one for one in outcomes(documents) if isinstance(one, Document)]
    return [(f"{one.timestamp:%Y-%m-%d}", one.id, one.text.partition("\n\n")[2]) for one in found]


def dropped(documents: PackageDocuments, step: str) -> dict[str, int]:
    return next(one.dropped for one in outcomes(documents) if isinstance(one, Step) and one.name == step)


def test_a_month_has_what_no_release_before_had(site: web.Site, tmp_path: Path) -> None:
    assert texts(source(site, tmp_path)) == [
        ("2024-01-05", "toy/CHANGES.rst", f"# Changes\n\n## 1.0\n\n{FIRST.splitlines()[3]}"),
        ("2024-01-05", "toy/docs/guide.rst", f"# Guide\n\n{GUIDE.splitlines()[3]}"),
        ("2024-02-05", "toy/CHANGES.rst", f"# Changes\n\n## 1.1\n\n{SECOND.splitlines()[3]}"),
        ("2024-03-05", "toy/CHANGES.rst", f"# Changes\n\n## 2.0\n\n{THIRD.splitlines()[3]}"),
    ]
    first = next(one for one in outcomes(source(site, tmp_path)) if isinstance(one, Document))
    assert first.text.startswith("toy 1.0\n\n") and first.source == "toy"
    assert first.extra == {"package": "toy", "version": "1.0", "licence": "MIT"}


def test_pages_are_whole_where_something_is_new_and_all_pages_are_versions(site: web.Site, tmp_path: Path) -> None:
    whole = texts(source(site, tmp_path, text="pages"))
    assert [page for _, page, _ in whole] == ["toy/CHANGES.rst", "toy/docs/guide.rst", *["toy/CHANGES.rst"] * 2]
    assert FIRST.splitlines()[3] in whole[-1][2]
    every = texts(source(site, tmp_path, text="all"))
    assert [day for day, page, _ in every if page == "toy/docs/guide.rst"] == ["2024-01-05", "2024-02-05"]


def test_releases_that_are_not_read_are_counted(site: web.Site, tmp_path: Path) -> None:
    pages = {"CHANGES.rst": NOTES.format("- A line that is in this release and in no other one of them.")}
    release(site, "toy", "2.1rc1", "2024-03-06", pages)
    release(site, "toy", "1.0.9", "2024-03-07", pages)
    release(site, "toy", "2.0.1", "2024-03-08", pages, hashes={})
    release(site, "toy", "2.0.2", "2024-03-09", pages, yanked="it was wrong", size=None, suffix=".zip")
    release(site, "toy", "3.0", "2024-04-01", pages)  # after the last period: not even counted
    assert dropped(source(site, tmp_path), "releases") == {
        "a pre-release": 1,
        "followed within the period": 1,
        "of a lower version than a release before it": 1,
        "without a sha256 in its index": 1,
    }
    assert texts(source(site, tmp_path))[-1][0] == "2024-03-09"  # yanked on some later day, in any case
    assert "a pre-release" not in dropped(source(site, tmp_path, prereleases=True), "releases")


@pytest.mark.parametrize(
    ("url", "sha256"),
    [
        ("files/toy-1.0.tar.gz", "../../../outside"),
        ("files/toy-1.0.tar.gz", f"{'a' * 63}/"),
        ("files/x%00.tar.gz", "a" * 64),
        ("files/..%5Ctoy-1.0.tar.gz", "a" * 64),
    ],
)
def test_nothing_is_written_outside_of_the_cache(site: web.Site, tmp_path: Path, url: str, sha256: str) -> None:
    when = datetime(2024, 1, 5, tzinfo=UTC)
    file = ReleaseFile(version="1.0", when=when, url=f"{site.url}/{url}", sha256=sha256)
    with pytest.raises(Unreachable, match="its index gives it a name or a sha256 that is none"):
        downloaded(file, f"{tmp_path}/cache/toy", "")
    assert list(tmp_path.rglob("*")) == []


def test_code_that_changed_below_the_same_docstring_is_nothing_new(site: web.Site, tmp_path: Path) -> None:
    code = 'def add(*numbers):\n    """Add as many numbers as anybody could ever think of."""\n    return {0}\n'
    for at, version in enumerate(("1.0", "1.1"), 1):
        release(site, "coded", version, f"2024-0{at}-05", {"coded/sums.py": code.format(version)})
    documents = source(site, tmp_path, packages=["coded"], include=["*.py"])
    text = "# coded.sums.add(*numbers)\n\nAdd as many numbers as anybody could ever think of."
    assert texts(documents) == [("2024-01-05", "coded/coded/sums.py", text)]
    assert dropped(documents, "pages")["as a page before it"] == 1 + 1  # and __init__.py, which is empty


def test_a_docstring_in_single_quotes_is_new_beside_known_ones(site: web.Site, tmp_path: Path) -> None:
    code = '"""Sums of as many numbers as anybody could want to add."""\n\n\ndef add():\n    {0}\n\n\ndef sub(): {1}\n'
    first, second = "'Add numbers until there is none that is left.'", '"Take numbers away until there is none left."'
    third = r"""r'Don\'t take any number that is not there, ever.'  # yet"""
    for at, strings in enumerate(((first, "pass"), (first, second), (third, second)), 1):
        release(site, "coded", f"1.{at}", f"2024-0{at}-05", {"coded/sums.py": code.format(*strings)})
    documents = source(site, tmp_path, packages=["coded"], include=["*.py"])
    assert [text.split("\n\n")[-1] for _, _, text in texts(documents)] == [
        "Add numbers until there is none that is left.",
        "Take numbers away until there is none left.",
        "Don\\'t take any number that is not there, ever.",
    ]


def test_a_package_that_is_not_permissive_is_left_out_by_setting(site: web.Site, tmp_path: Path) -> None:
    for name, metadata in (("bound", "License: GPLv3\n"), ("silent", "")):
        release(site, name, "1.0", "2024-01-05", {"docs/guide.rst": GUIDE}, metadata=metadata)
    documents = source(site, tmp_path, packages=["Bound", "silent"])
    assert texts(documents) == []
    reasons = [one.dropped for one in outcomes(documents) if isinstance(one, Step) and one.name == "releases"]
    assert reasons == [{"under another licence: GPLv3": 1}, {"without a known licence": 1}]
    assert len(texts(source(site, tmp_path, packages=["bound", "silent"], licences="any"))) == 2


def test_a_file_that_the_index_does_not_mean_is_unreachable_and_is_fetched_again(
    site: web.Site, tmp_path: Path
) -> None:
    whole = site.files["files/toy-1.0.tar.gz"]
    site.files["files/toy-1.0.tar.gz"] = whole[:-1] + b"!"
    with pytest.raises(Unreachable, match=r"toy-1\.0\.tar\.gz: its sha256 is \w+, not \w+, as its index says"):
        texts(source(site, tmp_path))
    site.files["files/toy-1.0.tar.gz"] = whole
    assert len(texts(source(site, tmp_path))) == 4


def damage(site: web.Site, package: str, version: str) -> None:
    """Cut the end off a file, and let the index mean what is left."""
    name, listed = f"files/{package}-{version}.tar.gz", f"{INDEX}/{package}/"
    whole = hashlib.sha256(site.files[name]).hexdigest()
    site.files[name] = site.files[name][:-30]
    cut = hashlib.sha256(site.files[name]).hexdigest()
    site.files[listed] = site.files[listed].replace(whole.encode(), cut.encode())


def test_a_damaged_archive_is_a_bad_record_and_faults_of_the_server_are_none(site: web.Site, tmp_path: Path) -> None:
    site.faults += ["503", "503"]
    assert len(texts(source(site, tmp_path))) == 4
    release(site, "broken", "1.0", "2024-01-05", {})
    damage(site, "broken", "1.0")
    bad = outcomes(source(site, tmp_path, packages=["broken"]))[0]
    assert isinstance(bad, Bad) and bad.reason == "a damaged archive"


def test_downloads_are_kept(site: web.Site, tmp_path: Path) -> None:
    texts(source(site, tmp_path))
    for name in [name for name in site.files if name.startswith("files/")]:
        del site.files[name]
    assert len(texts(source(site, tmp_path))) == 4


def test_what_is_wrong_is_said_in_a_line(site: web.Site, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nope: no such project at"):
        outcomes(source(site, tmp_path, packages=["nope"]))
    release(site, "dateless", "1.0", "2024-01-05", {}, **{"upload-time": None})
    with pytest.raises(InputError, match=r"dateless: .* does not say when files were uploaded"):
        outcomes(source(site, tmp_path, packages=["dateless"]))
    release(site, "built", "1.0", "2024-01-05", {}, filename="built-1.0-py3-none-any.whl", url="x.whl")
    with pytest.raises(InputError, match=r"built: .* has no sources of it, only what is built"):
        outcomes(source(site, tmp_path, packages=["built"]))
    with pytest.raises(InputError, match="each package once, got toy more than once"):
        source(site, tmp_path, packages=["toy", "Toy"])
    site.faults += ["503"] * 9
    with pytest.raises(RunError, match="503"):
        outcomes(source(site, tmp_path))


def built(site: web.Site, root: Path, cache: Path, last: str = "202403", bad: float = 0.01) -> Corpus:
    """A corpus of the package; every paragraph counts, so that months have rows."""
    recipe = parse(
        CorpusRecipe,
        {
            "name": "toy",
            "version": 1,
            "documents": source(site, cache).model_dump() | {"index": f"{site.url}/{INDEX}"},
            "periods": {"initial": "202401", "step": "month", "last": last},
            "tokenizer": {"kind": "train", "vocab_size": 300},
            "length": 8,
            "limits": {"bad": bad},
            "executor": "process",
        },
        "recipe",
    )
    return build(recipe, str(root), lambda line: None)


def listing(corpus: Corpus) -> Any:
    return json.loads(corpus.store.read("packages.json"))


def test_two_builds_on_two_days_are_equal(site: web.Site, tmp_path: Path) -> None:
    first = built(site, tmp_path / "one", tmp_path)
    release(
        site,
        "toy",
        "2.1",
        "2024-04-05",
        {"CHANGES.rst": NOTES.format("- A line of April that nobody sees yet, at all.")},
    )
    second = built(site, tmp_path / "two", tmp_path / "elsewhere")
    assert hashes(first) == hashes(second)
    assert listing(first) == listing(second)
    listed = listing(first)["toy"]
    assert listed["licence"] == "MIT"
    assert [one["version"] for one in listed["releases"]] == ["1.0", "1.1", "2.0"]
    assert all(len(one["sha256"]) == 64 for one in listed["releases"])


def test_the_licence_of_a_last_release_that_cannot_be_read_is_unknown(site: web.Site, tmp_path: Path) -> None:
    damage(site, "toy", "2.0")
    corpus = built(site, tmp_path / "root", tmp_path / "cache", bad=0.5)
    listed = listing(corpus)["toy"]
    assert listed["licence"] == "unknown" and len(listed["releases"]) == 3
    del site.files["files/toy-2.0.tar.gz"]
    corpus.store.write("packages.json", b"{}")
    source(site, tmp_path / "no-cache").beside(corpus.store, corpus.timeline())
    assert listing(corpus)["toy"] == listed


def test_one_more_month_leaves_the_others_as_they_were(site: web.Site, tmp_path: Path) -> None:
    before = hashes(built(site, tmp_path / "root", tmp_path, last="202402"))
    after = hashes(built(site, tmp_path / "root", tmp_path))
    assert {name[:6] for name in after.keys() - before.keys()} == {"202403"}
    assert before.items() <= after.items()
    assert after == hashes(built(site, tmp_path / "at-once", tmp_path))
