"""Whether everybody can read the page: axe-core finds no serious fault on any kind of report, and contrasts suffice."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from browser import CHROMIUM, Browser
from report_kinds import kinds

KINDS = ("demo", "weekly", "two", "eight", "imported", "year")
AXE = """axe.run({ resultTypes: ["violations"] }).then(({ violations }) => violations
  .filter(({ impact }) => ["serious", "critical"].includes(impact))
  .map(({ id, nodes }) => `${id}: ${nodes.map(({ target, any }) => `${target} ${any[0]?.message}`).join("; ")}`))"""
UNREADABLE = """[...document.querySelectorAll(".chart svg text")]
  .filter((text) => contrast(text.getAttribute("fill"), theme.card) < 4.5)
  .map((text) => `${text.textContent} ${text.getAttribute("fill")}`)"""
"""Texts of charts, which axe-core leaves out, whose contrast to the card is below 4.5."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    found = {}
    for kind, html in kinds(folder / "published").items():
        found[kind] = folder / f"{kind}.html"
        found[kind].write_text(html, encoding="utf-8")
    return found


def axe() -> str:
    """The script of axe-core; it is run through the debugging protocol, which the page's policy does not bind."""
    spec = find_spec("axe_core_python")
    assert spec is not None and spec.submodule_search_locations is not None
    return (Path(spec.submodule_search_locations[0]) / "axe.min.js").read_text(encoding="utf-8")


needs_axe = pytest.mark.skipif(
    CHROMIUM is None or find_spec("axe_core_python") is None, reason="no Chromium or no axe-core-python here"
)


def faults(browser: Browser) -> list[str]:
    browser.run(axe() + "; 0")
    return [*browser.run(AXE), *browser.run(UNREADABLE)]


@pytest.mark.slow
@needs_axe
@pytest.mark.parametrize("kind", KINDS)
def test_axe_finds_no_serious_fault(browser: Browser, pages: dict[str, Path], kind: str) -> None:
    for width, dark in ((1280, False), (1280, True), (400, False)):
        browser.open(pages[kind], width, dark=dark)
        browser.run("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        browser.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")
        assert faults(browser) == [], (width, dark)
    assert browser.complaints == []


@pytest.mark.slow
@needs_axe
def test_a_fault_would_be_found(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["demo"], 1280)
    browser.run("document.querySelector('.lead').style.color = '#aaa'")
    browser.run("document.querySelector('.chart svg text').setAttribute('fill', '#aaaaaa')")
    found = faults(browser)
    assert len(found) == 2 and found[0].startswith("color-contrast: .lead") and found[1].endswith("#aaaaaa")
