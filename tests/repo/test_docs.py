"""The documentation site: every page is laid out, every link leads somewhere, and nothing is loaded from elsewhere."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from paths import ROOT

from ticlm.platform.cli.reference.files import FILES


@pytest.fixture(scope="module")
def build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_build", ROOT / "docs/build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def slug(heading: str) -> str:
    """Return the anchor of a heading as Python-Markdown makes it."""
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading.replace("`", "")).strip().lower())


def test_every_link_of_every_page_leads_to_a_page_and_a_heading(build: ModuleType, tmp_path: Path) -> None:
    build.lay_out(tmp_path)
    pages = {page.name: page.read_text() for page in tmp_path.glob("*.md")}
    of_reference = {page for page in pages if page.startswith("reference-")}
    assert len(of_reference) == len(FILES) and set(pages) == {*build.PAGES.values(), *of_reference}
    checked = 0
    for name, text in pages.items():
        for page, anchor in re.findall(r"(?<!!)\]\((?![a-z]+://)([\w./-]*)(?:#([\w-]+))?\)", text):
            assert not page or (tmp_path / page).exists(), f"{name}: {page}"
            headings = map(slug, re.findall(r"^#+ (.+)$", pages.get(page or name, ""), re.MULTILINE))
            assert not anchor or anchor in headings, f"{name}: {page}#{anchor}"
            checked += 1
        for picture in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text):
            assert (tmp_path / picture).exists(), f"{name}: {picture}"
    assert checked > 10


def test_a_link_to_what_is_not_there_is_refused(build: ModuleType) -> None:
    with pytest.raises(SystemExit, match=r"README.md: a link leads to docs/nothing.md, which is not there"):
        build.relinked("[x](docs/nothing.md)", "README.md")


def test_every_package_has_a_page_and_a_line_for_language_models(build: ModuleType, tmp_path: Path) -> None:
    build.lay_out(tmp_path)
    packages = build.packages()
    assert len(packages) > 20 and all((tmp_path / f"api/{package}.md").exists() for package in packages)
    assert all(f"api/{package}/" in (tmp_path / "llms.txt").read_text() for package in packages)


def test_a_sample_report_is_linked_from_the_first_page(build: ModuleType, tmp_path: Path) -> None:
    build.lay_out(tmp_path / "site")
    (tmp_path / "reports/demo-1a2b").mkdir(parents=True)
    (tmp_path / "reports/demo-1a2b/index.html").write_text("the report")
    build.add_sample(tmp_path / "site", tmp_path / "reports")
    assert (tmp_path / "site/sample/index.html").read_text() == "the report"
    assert "(sample/index.html)" in (tmp_path / "site/index.md").read_text()
    with pytest.raises(SystemExit, match="no report of the demo there"):
        build.add_sample(tmp_path / "site", tmp_path)


@pytest.mark.nightly
@pytest.mark.slow
def test_the_site_is_built_and_loads_nothing_from_elsewhere(build: ModuleType) -> None:
    assert build.main() == 0
    site = ROOT / "build/site"
    assert "RecentReplay" in (site / "extending/index.html").read_text() and (site / "llms.txt").exists()
    assert "RecentReplay" not in (api := (site / "api/ticlm.methods/index.html").read_text()) and "FixedReplay" in api
    loaded = re.compile(r"<(?:script|link|img)[^>]+(?:src|href)=[\"']?(https?://[^\"' >]+)")
    found = {url for page in site.rglob("*.html") for url in loaded.findall(page.read_text())}
    assert not found
    links = re.findall(r"\]\((.+?)\)", (site / "llms.txt").read_text())
    assert len(links) > 20 and all((site / link / "index.html").exists() for link in links)
