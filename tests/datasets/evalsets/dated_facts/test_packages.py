"""Changes of the newest version of packages, from a package index on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packageindex import INDEX, release
from web import Site, served

from ticlm.core.errors import InputError
from ticlm.core.examples import Examples
from ticlm.core.settings import parse
from ticlm.datasets.evalsets import recipe
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe


def built(site: Site, root: Path, **changes: Any) -> Examples:
    examples: dict[str, Any] = {
        "kind": "package-facts",
        "packages": ["NumPy"],
        "periods": {"initial": "202301", "step": "month", "last": "202306"},
        "index": f"{site.url}/{INDEX}",
    }
    settings = {"name": "newest", "version": 1, "examples": examples | changes, "executor": "process"}
    return recipe.build(parse(ExampleSetRecipe, settings, "newest.yaml"), str(root))


@pytest.fixture
def site() -> Iterator[Site]:
    with served({}) as made:
        for version, day in (
            *(("1.9", "2022-11-01"), ("2.0.0", "2023-01-10"), ("2.0.1", "2023-02-01"), ("1.9.5", "2023-03-01")),
            *(("2.1rc1", "2023-04-01"), ("2.1.0", "2023-05-02"), ("2.2.0", "2023-05-30"), ("3.0", "2023-08-01")),
        ):
            release(made, "numpy", version, day, {})
        yield made


def test_a_change_is_from_one_series_to_the_next_in_the_month_of_its_first_upload(site: Site, tmp_path: Path) -> None:
    data = built(site, tmp_path)
    found = [(label, one.outdated, one.answer) for label in data.periods for one in data.read(label, "changes")]
    assert found == [("202301", ("1.9",), "2.0"), ("202305", ("2.0",), "2.1"), ("202305", ("2.1",), "2.2")]
    first = next(iter(data.read("202301", "changes")))
    assert first.text == "The newest version of NumPy is NumPy" and first.about["fact"] == "NumPy-newest-version"


def test_later_releases_and_the_index_itself_change_no_set(site: Site, tmp_path: Path) -> None:
    before = built(site, tmp_path / "a")
    release(site, "numpy", "4.0", "2023-12-01", {})
    after = built(site, tmp_path / "b")
    texts = [[list(data.read(label, "changes")) for label in data.periods] for data in (before, after)]
    assert texts[0] == texts[1] and before.info.recipe == after.info.recipe
    written = b"".join(file.read_bytes() for file in tmp_path.rglob("*.json"))
    assert b"127.0.0.1" not in written and b"localhost" not in written


def wheel(site: Site, version: str, day: str, **about: Any) -> None:
    release(site, "wheels", version, day, {}, filename="-", url=f"wheels-{version}-py3-none-any.whl", **about)


def test_a_version_is_out_with_its_first_file_be_it_a_wheel(site: Site, tmp_path: Path) -> None:
    wheel(site, "1.0", "2022-12-01")
    wheel(site, "1.1", "2023-02-01")
    release(site, "wheels", "1.1", "2023-03-01", {})
    wheel(site, "1.2", "2023-04-01")
    data = built(site, tmp_path, packages=["wheels"])
    found = [(label, one.answer) for label in data.periods for one in data.read(label, "changes")]
    assert found == [("202302", "1.1"), ("202304", "1.2")]


def test_a_package_without_any_dated_file_is_refused(site: Site, tmp_path: Path) -> None:
    release(site, "eggs", "1.0", "2023-01-01", {}, url="eggs-1.0-py3.egg")
    with pytest.raises(InputError, match=r"examples.packages: .*/eggs/ has no source distribution or wheel of eggs$"):
        built(site, tmp_path, packages=["eggs"])
    wheel(site, "1.0", "2023-01-01", **{"upload-time": None})
    with pytest.raises(InputError, match=r"the index states no date of wheels 1\.0$"):
        built(site, tmp_path, packages=["wheels"])


def test_a_package_that_the_index_lacks_is_named(site: Site, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing-here"):
        built(site, tmp_path, packages=["NumPy", "nothing-here"])
    with pytest.raises(InputError, match="each package once, got numpy more than once"):
        built(site, tmp_path, packages=["NumPy", "numpy"])
