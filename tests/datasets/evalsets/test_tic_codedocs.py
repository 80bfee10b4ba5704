"""TiC-CodeDocs: releases of a toy project to pages per month, from trees, archives, an index; and what goes wrong."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import web
from paths import SHARED

from ticlm.core.accounting import Step
from ticlm.core.errors import InputError, RunError
from ticlm.core.examples import Example, Examples
from ticlm.core.fingerprint import fingerprint
from ticlm.core.settings import load, parse
from ticlm.datasets.codedocs.pages import DocPages, _refused
from ticlm.datasets.codedocs.releases import with_login
from ticlm.datasets.corpus.recipe import FOLDER
from ticlm.datasets.evalsets import recipe
from ticlm.datasets.evalsets.files import ExampleFiles
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe
from ticlm.datasets.evalsets.tic_codedocs import CodeDocs

REAL = SHARED / "codedocs_numpy"
MODULE = '''"""Sums of numbers, as many as you like."""

def add(a, b=2):
    """Add two numbers, or {more}."""
'''
TREE = {
    "doc/user/guide.rst": "Guide\n=====\n\nHow to use :func:`toy.add` of |version|.\n",
    "doc/user/index.rst": "Index\n=====\n\n.. toctree::\n\n   guide\n",
    "doc/notes.txt": "Notes of this release\n---------------------\n\nNothing to be said, really.\n",
    "toy/__init__.py": MODULE,
    "toy/tests/test_it.py": '"""A test of what can be found in toy."""\n',
    "toy/old.py": "print 'two'\n",
    "toy/silent.py": "x = 1\n",
    "toy/fast.pyx": "cdef int x\n",
    "toy/logo.png": "PNG",
}


def grown(folder: Path, tree: Mapping[str, str | bytes] = TREE, more: str = "more") -> Path:
    for name, text in tree.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        data = text if isinstance(text, bytes) else text.replace("{more}", more).encode()
        (folder / name).write_bytes(data)
    return folder


def packed(folder: Path, top: str, suffix: str, seed: int = 0) -> bytes:
    """The folder's files below `top`, in an order of the seed."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    random.Random(seed).shuffle(paths)
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") if suffix == ".zip" else tarfile.open(fileobj=sink, mode="w:gz") as into:
        for path in paths:
            (into.write if isinstance(into, zipfile.ZipFile) else into.add)(path, f"{top}/{path.relative_to(folder)}")
    return sink.getvalue()


def docs(**settings: Any) -> CodeDocs:
    return parse(CodeDocs, {"project": "toy"} | settings, "here")


def build(maker: CodeDocs | ExampleFiles, root: Path, name: str = "toy", **settings: Any) -> Examples:
    return recipe.build(ExampleSetRecipe(name=name, version="1", examples=maker, **settings), str(root))


def pages(examples: Examples) -> dict[str, list[Example]]:
    return {label: list(examples.read(label, "all")) for label in examples.periods}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return grown(tmp_path / "toy-1.2.0")


@pytest.mark.usefixtures("loop")
def test_a_tree_of_sources_becomes_pages_and_every_file_is_accounted_for(tree: Path, tmp_path: Path) -> None:
    found = build(
        docs(path=str(tmp_path / "toy-{version}"), releases=[{"version": "1.2.0", "date": "2017-06"}]), tmp_path
    )
    assert [(e.id, e.text) for e in found.read("201706", "all")] == [
        ("doc/notes.txt", "Notes of this release\n\nNothing to be said, really."),
        ("doc/user/guide.rst", "Guide\n\nHow to use toy.add of 1.2.0."),
        ("toy/__init__.py#toy", "toy\n\nSums of numbers, as many as you like."),
        ("toy/__init__.py#toy.add", "toy.add\n\ntoy.add(a, b=2)\n\nAdd two numbers, or more."),
    ]
    assert [e.about for e in found.read("201706", "all")][1] == {"title": "Guide", "version": "1.2.0"}
    manifest = found.periods["201706"]
    files, kept = manifest.steps
    assert (files.read, files.kept) == (len(TREE), 4)
    assert files.dropped == {
        "Cython, which is not parsed": 1,
        "in exclude": 1,
        "not Python 3": 1,
        "of another format": 1,
        "without docstrings": 1,
    }
    assert (kept.read, kept.kept, kept.dropped) == (5, 4, {"without text": 1})
    assert manifest.subsets["all"].rows == 4
    assert manifest.statistics == {"documents by release": {"1.2.0": 4}}
    assert manifest.lineage.inputs == (str(tree),)


@pytest.mark.usefixtures("loop")
@pytest.mark.parametrize("suffix", [".zip", ".tar.gz"])
@pytest.mark.parametrize("top", ["toy-1.2.0", "toy-v1.2.0", "1.2.0", "toy-0a1b2c3d4e"])
def test_an_archive_gives_what_its_tree_does_in_any_order(tree: Path, tmp_path: Path, suffix: str, top: str) -> None:
    releases = [{"version": "1.2.0", "date": "2017-06"}]
    expected = pages(build(docs(path=str(tmp_path / "toy-{version}"), releases=releases), tmp_path / "a"))
    for seed in (1, 2):
        (tmp_path / f"{seed}-1.2.0{suffix}").write_bytes(packed(tree, top, suffix, seed))
        made = docs(path=str(tmp_path / f"{seed}-{{version}}{suffix}"), releases=releases)
        assert pages(build(made, tmp_path / f"b{seed}")) == expected


@pytest.mark.usefixtures("loop")
def test_built_pages_are_read_and_their_rules_counted(tmp_path: Path) -> None:
    page = "<html><body><div role='main'><h1>{}<a class='headerlink'>¶</a></h1><p>{}</p></div></body></html>"
    grown(
        tmp_path / "1.2.0",
        {
            "html/user/a.html": page.format("A", "Words that are long enough to count."),
            "html/user/same.html": page.format("A", "Words that are long enough to count."),
            "html/user/short.html": page.format("B", "Not  many  words  here."),
            "html/user/umlauts.html": page.format("C", "Schöne Grüße aus Köln an alle.").encode("cp1252"),
            "html/user/empty.html": page.format("D", ""),
            "html/genindex.html": page.format("Index", "Words that are long enough to count."),
            "html/_static/a.js": "x",
        },
    )
    made = docs(
        path=str(tmp_path / "{version}"), releases=[{"version": "1.2.0", "date": 201706}], pages={"form": "html"}
    )
    found = build(made, tmp_path)
    assert [(e.id, e.text) for e in found.read("201706", "all")] == [
        ("html/user/a.html", "A\n\nWords that are long enough to count."),
        ("html/user/umlauts.html", "C\n\nSchöne Grüße aus Köln an alle."),
    ]
    files, kept = found.periods["201706"].steps
    assert files.dropped == {"in exclude": 1, "of another format": 1}
    assert kept.dropped == {"same as another page": 1, "too short": 1, "without text": 1}
    assert files.read == files.kept + 2 and kept.read == kept.kept + 3 == 5


def test_what_cannot_be_written_down_is_counted(tmp_path: Path) -> None:
    half = '"""Half of a pair: \\ud83d, which no text can hold."""\n'
    grown(tmp_path, {"toy/half.py": half, "toy/whole.py": '"""A whole docstring of a module."""\n'})
    (_, kept), found = DocPages().of(str(tmp_path), "1.2.0")
    assert [page.title for page in found] == ["toy.whole"]
    assert kept.dropped == {"unreadable text": 1}


HIDDEN = {
    "toy/__init__.py": MODULE,
    "toy/_core/__init__.py": '"""Where the sums are really made."""\n',
    "toy/_core/sums.py": '"""Sums, as they are made inside."""\n',
    "toy/_private.py": '"""A module that nobody should import."""\n',
    "toy/_pyinstaller/test_pyinstaller.py": '"""A test that toy can be frozen."""\n',
    "toy/test_sums.py": '"""A test of what can be found in toy."""\n',
    "toy/conftest.py": '"""Fixtures that all tests of toy share."""\n',
    "toy/latest.py": '"""A public module with a harmless name."""\n',
    "_static/notes.rst": "Notes\n=====\n\nNo module, so its folder does not matter.\n",
}


@pytest.mark.parametrize(
    ("settings", "titles", "reasons"),
    [
        ({}, {"toy", "toy.add", "toy.latest"}, {"a private module": 3, "a test": 3}),
        (
            {"private": True},
            {"toy", "toy.add", "toy.latest", "toy._core", "toy._core.sums", "toy._private"},
            {"a test": 3},
        ),
        (
            {"tests": True},
            {"toy", "toy.add", "toy.latest", "toy.test_sums", "toy.conftest"},
            {"a private module": 4},
        ),
    ],
)
def test_private_modules_and_tests_are_no_documentation(
    tmp_path: Path, settings: dict[str, bool], titles: set[str], reasons: dict[str, int]
) -> None:
    rules = DocPages(exclude=(), **settings)
    (files, _), found = rules.of(str(grown(tmp_path, HIDDEN)), "1.2.0")
    assert {page.title for page in found} == titles | {"Notes"}
    assert files.dropped == reasons


def test_a_set_that_reads_private_modules_and_tests_is_known_as_before_there_was_a_choice() -> None:
    """Its identity is that of version 0.1, whose sets a newer program can go on with."""
    before = "018f30b036cde4e45d2f5da2a54ece07ec9bc5c8000dce6717eacbc786d09050"
    assert fingerprint(DocPages(private=True, tests=True)) == before
    assert len({fingerprint(DocPages(private=a, tests=b)) for a in (False, True) for b in (False, True)}) == 4
    built = [
        docs(path="{version}", releases=[{"version": "1"}], pages={"form": "html", "tests": t}) for t in (True, False)
    ]
    assert len({fingerprint(one.identity) for one in built}) == 1, "HTML has no modules"


@pytest.mark.parametrize("name", ["tic-codedocs-numpy", "tic-codedocs-pytorch"])
def test_the_papers_projects_define_in_private_modules_what_they_show(name: str) -> None:
    found = load(ExampleSetRecipe, name, FOLDER).examples
    assert isinstance(found, CodeDocs) and found.pages.private and not found.pages.tests
    source = found.pages.model_copy(update={"form": "source"})
    kept = ["numpy/_core/fromnumeric.py", "numpy/core/_add_newdocs.py", "torch/_tensor_docs.py"]
    assert [path for path in kept if path.startswith(found.project) and _refused(source, path)] == []
    lost = ["numpy/_pyinstaller/test_pyinstaller.py", "numpy/core/tests/test_api.py", "torch/testing/_comparison.py"]
    assert all(_refused(source, path) for path in lost if path.startswith(found.project))


@pytest.mark.usefixtures("loop")
def test_of_two_releases_in_a_month_the_later_one_stands(tmp_path: Path) -> None:
    for version in ("1.2.0", "1.2.1", "1.3.0"):
        grown(tmp_path / version, more=version)
    days = {"1.2.1": "2017-06-20", "1.3.0": "2017-07-01", "1.2.0": "2017-06-07"}
    releases = [{"version": version, "date": day} for version, day in days.items()]
    found = build(docs(path=str(tmp_path / "{version}"), releases=releases), tmp_path)
    assert list(found.periods) == ["201706", "201707"]
    assert {e.about["version"] for e in found.read("201706", "all")} == {"1.2.1"}
    assert found.periods["201706"].statistics["releases left out"] == {"1.2.0, as 1.2.1 followed within the month": 1}
    assert "releases left out" not in found.periods["201707"].statistics


@pytest.mark.usefixtures("loop")
def test_a_release_of_a_month_that_stands_is_counted_and_said(tmp_path: Path) -> None:
    days = {"1.2.0": "2017-06-07", "1.2.1": "2017-06-20", "1.2.2": "2017-06-25", "1.3.0": "2017-07-01"}
    for version in days:
        grown(tmp_path / version, more=version)
    releases = [{"version": version, "date": day} for version, day in days.items()]
    told: list[str] = []

    def built(count: int) -> tuple[Examples, list[Step]]:
        maker = docs(path=str(tmp_path / "{version}"), releases=releases[:count])
        found = recipe.build(ExampleSetRecipe(name="toy", version="1", examples=maker), str(tmp_path), told.append)
        return found, list(recipe.builds(found.store)[-1].steps)

    within = {"followed within the month": 1}
    first, steps = built(2)
    assert steps == [Step(name="releases", read=2, dropped=within)]
    before = pages(first)["201706"]
    found, steps = built(4)
    assert steps == [Step(name="releases", read=4, dropped=within | {"in a period that stands": 1})]
    assert steps[0].kept == len(found.periods) == 2 and pages(found)["201706"] == before
    assert told.count("toy 1.2.2 is left out: 201706 stands already, with 1.2.1") == 1


@pytest.mark.usefixtures("loop")
def test_what_is_said_of_releases_does_not_depend_on_where_a_build_broke(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("1.2.0", "1.2.1", "1.3.0"):
        grown(tmp_path / version, more=version)
    days = {"1.2.0": "2017-06-07", "1.2.1": "2017-06-20", "1.3.0": "2017-07-01"}
    made = docs(path=str(tmp_path / "{version}"), releases=[{"version": v, "date": day} for v, day in days.items()])
    real, calls = CodeDocs._draft, iter(range(9))

    def dying(*given: Any) -> Any:
        if next(calls) == 1:
            raise RunError("killed")
        return real(*given)

    with monkeypatch.context() as patch, pytest.raises(RunError, match="killed"):
        patch.setattr(CodeDocs, "_draft", dying)
        build(made, tmp_path)
    assert list(Examples.open(str(tmp_path / "examples/toy@1")).periods) == ["201706"]
    resumed, whole = build(made, tmp_path), build(made, tmp_path / "at once")
    assert recipe.builds(resumed.store)[-1].steps == recipe.builds(whole.store)[-1].steps
    assert pages(resumed) == pages(whole)


@pytest.mark.usefixtures("loop")
def test_a_new_release_is_added_and_those_before_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in ("1.2.0", "1.3.0"):
        grown(tmp_path / version, more=version)
    read = _counting(monkeypatch)
    releases = [{"version": "1.2.0", "date": "2017-06"}, {"version": "1.3.0", "date": "2018-01"}]
    first = pages(build(docs(path=str(tmp_path / "{version}"), releases=releases[:1]), tmp_path))
    both = build(docs(path=str(tmp_path / "{version}"), releases=releases), tmp_path)
    assert pages(both)["201706"] == first["201706"] and list(both.periods) == ["201706", "201801"]
    build(docs(path=str(tmp_path / "{version}"), releases=releases), tmp_path)
    assert read == ["1.2.0", "1.3.0"]
    with pytest.raises(InputError, match="built with other settings"):
        made = docs(path=str(tmp_path / "{version}"), releases=releases, pages={"shortest_chars": 30})
        build(made, tmp_path)


@pytest.mark.usefixtures("loop")
def test_a_build_that_broke_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in ("1.2.0", "1.3.0"):
        (tmp_path / f"{version}.zip").write_bytes(packed(grown(tmp_path / version, more=version), version, ".zip"))
    whole = (tmp_path / "1.2.0.zip").read_bytes()
    (tmp_path / "1.2.0.zip").write_bytes(whole[:-200])
    read = _counting(monkeypatch)
    releases = [{"version": "1.2.0", "date": "2017-06"}, {"version": "1.3.0", "date": "2018-01"}]
    made = docs(path=str(tmp_path / "{version}.zip"), releases=releases)
    with pytest.raises(InputError, match=r"1\.2\.0\.zip: cut off, damaged, or no archive"):
        build(made, tmp_path)
    (tmp_path / "1.2.0.zip").write_bytes(whole)
    broken = pages(build(made, tmp_path))
    assert read == ["1.3.0", "1.2.0", "1.2.0"]
    assert broken == pages(build(made, tmp_path / "at once"))


def _counting(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The versions that are read from here on."""
    read: list[str] = []
    real = DocPages.of

    def of(self: DocPages, tree: str, version: str, sha256: str = "") -> Any:
        read.append(version)
        return real(self, tree, version, sha256)

    monkeypatch.setattr(DocPages, "of", of)
    return read


def _index(tmp_path: Path, lie: bool = False) -> dict[str, bytes]:
    data = packed(grown(tmp_path / "sdist"), "toy-1.2.0", ".tar.gz")
    sha256 = "0" * 64 if lie else hashlib.sha256(data).hexdigest()
    link = f'<a href="/files/toy-1.2.0.tar.gz#sha256={sha256}" data-upload-time="2017-06-07T00:00:00Z">toy</a>'
    return {"simple/toy/": link.encode(), "files/toy-1.2.0.tar.gz": data}


@pytest.mark.usefixtures("loop")
def test_sources_come_from_an_index_with_its_date(tmp_path: Path) -> None:
    with web.served(_index(tmp_path)) as site:
        found = build(docs(index=f"{site.url}/simple", releases=["1.2.0"]), tmp_path)
        assert found.periods["201706"].lineage.inputs == (f"{site.url}/files/toy-1.2.0.tar.gz",)
        assert next(found.read("201706", "all")).id == "doc/notes.txt"
        dated = docs(index=f"{site.url}/simple", releases=[{"version": "1.2", "date": "2017-05"}])
        assert list(build(dated, tmp_path, "dated").periods) == ["201705"]
        with pytest.raises(InputError, match=r"no sources of version 1\.4"):
            build(docs(index=f"{site.url}/simple", releases=["1.4"]), tmp_path, "unknown")


@pytest.mark.usefixtures("loop")
def test_the_password_of_an_index_is_used_and_written_nowhere(tmp_path: Path) -> None:
    with web.served(_index(tmp_path)) as site:
        index = f"{site.url}/simple".replace("//", "//me:secret@")
        build(docs(index=index, releases=["1.2.0"]), tmp_path / "root")
        assert with_login(f"{site.url}/a", index) == f"{site.url}/a".replace("//", "//me:secret@")
    written = "".join(path.read_text(errors="replace") for path in (tmp_path / "root").rglob("*.json"))
    assert "files/toy-1.2.0.tar.gz" in written and "secret" not in written


@pytest.mark.usefixtures("loop")
def test_sources_that_are_not_those_the_index_names_are_refused(tmp_path: Path) -> None:
    with web.served(_index(tmp_path, lie=True)) as site, pytest.raises(RunError, match="sha256 is"):
        build(docs(index=f"{site.url}/simple", releases=["1.2.0"]), tmp_path)


@pytest.mark.usefixtures("loop")
def test_a_release_without_pages_or_date_or_folder_is_said_in_one_line(tree: Path, tmp_path: Path) -> None:
    dated = [{"version": "1.2.0", "date": "2017-06"}]
    made = docs(path=str(tmp_path / "toy-{version}"), releases=dated, pages={"include": ["nowhere/*"]})
    with pytest.raises(
        InputError, match=r"toy 1\.2\.0: no page of documentation in .*; 9 files, 1 Cython.*not in include"
    ):
        build(made, tmp_path)
    with pytest.raises(InputError, match=r"toy 1\.2\.0: when did it come out"):
        build(docs(path=str(tmp_path / "toy-{version}"), releases=["1.2.0"]), tmp_path, "undated")
    with pytest.raises(InputError, match=r"toy 9\.9: .*nothing-9\.9"):
        build(docs(path=str(tmp_path / "nothing-{version}"), releases=["9.9"]), tmp_path, "missing")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"releases": ["1.2", "1.2"]}, r"each version once, got 1\.2 more than once"),
        ({"releases": ["1.2"], "pages": {"form": "html"}}, "form html needs a path"),
        ({"releases": ["1.2"], "path": "docs/all"}, r"path needs \{version\} in it"),
        ({"releases": []}, "releases"),
        ({"releases": [1.2]}, "quotation marks"),
        ({"releases": ["1.2"], "project": "../up"}, "project"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        docs(**settings)


@pytest.mark.parametrize(
    ("name", "releases", "first", "last"),
    [
        ("tic-codedocs-numpy", 16, ("1.13.0", "201706"), ("2.1.0", "202408")),
        ("tic-codedocs-pytorch", 11, ("1.8.0", "202103"), ("2.4.0", "202407")),
    ],
)
def test_the_papers_releases_are_packaged(
    name: str, releases: int, first: tuple[str, str], last: tuple[str, str]
) -> None:
    """TiC-LM, Table 4."""
    made = load(ExampleSetRecipe, name, FOLDER).examples
    assert isinstance(made, CodeDocs)
    months = [(one.version, f"{one.date:%Y%m}") for one in made.releases if one.date is not None]
    assert len(months) == len({month for _, month in months}) == releases
    assert (months[0], months[-1]) == (first, last)
    assert [month for _, month in months] == sorted(month for _, month in months)


@pytest.mark.ray
def test_ray_gives_the_same_pages(ray_local: None, tmp_path: Path) -> None:
    releases = []
    for number in range(3):
        grown(tmp_path / f"1.{number}", more=str(number))
        releases.append({"version": f"1.{number}", "date": f"2017-0{number + 1}"})
    made = docs(path=str(tmp_path / "{version}"), releases=releases)
    by_ray = build(made, tmp_path / "ray")
    alone = build(made, tmp_path / "alone", executor="process")
    assert pages(by_ray) == pages(alone)
    assert [by_ray.periods[label].subsets for label in by_ray.periods] == [
        alone.periods[label].subsets for label in alone.periods
    ]


def given_pages(folder: Path | str) -> ExampleFiles:
    """Pages that lie ready: `{title, text}` in `YYYYMM.jsonl.gz`, as the released code writes them."""
    fields = {"period": "", "about": ["title"]}
    return parse(ExampleFiles, {"kind": "files", "paths": f"{folder}/*.jsonl.gz", "fields": fields}, "here")


@pytest.mark.usefixtures("loop")
def test_pages_that_lie_ready_are_read_by_the_month_in_their_files_name(tmp_path: Path) -> None:
    for month in ("201706", "202006"):
        lines = [{"title": "add", "text": f"Add {month}."}, {"title": "none", "text": ""}]
        (tmp_path / f"{month}.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    found = build(given_pages(tmp_path), tmp_path / "root")
    assert [(e.text, e.about) for e in found.read("202006", "all")] == [("Add 202006.", {"title": "add"})]
    assert list(found.periods) == ["201706", "202006"]


@pytest.mark.usefixtures("loop")
@pytest.mark.skipif(not REAL.is_dir(), reason="needs the real pages")
def test_real_pages_that_lie_ready_are_all_read(tmp_path: Path) -> None:
    found = build(given_pages(REAL), tmp_path)
    lines = {path.name[:6]: len(gzip.decompress(path.read_bytes()).splitlines()) for path in REAL.glob("*.jsonl.gz")}
    kept = {label: one.subsets["all"].rows for label, one in found.periods.items()}
    records, examples = recipe.builds(found.store)[-1].steps
    assert records.read == sum(lines.values()) and examples.kept == records.kept == sum(kept.values())
    assert kept.keys() == lines.keys()
