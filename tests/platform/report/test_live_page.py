"""The page of a run that goes on: it says how far the run is, renews itself, and gives way to the report."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from browser import CHROMIUM, Browser
from finished_roots import finished_study, write_finished_root

from ticlm.core import paths
from ticlm.core.errors import TakenOver, TiclmWarning
from ticlm.core.lease import lease
from ticlm.core.store import Store
from ticlm.platform.cli.progress import renewing
from ticlm.platform.report.live_page import LivePage
from ticlm.platform.report.report import Report
from ticlm.platform.report.request import ReportRequest
from ticlm.platform.report.write import write
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.results.setup import StudyRequest
from ticlm.platform.study import plan
from ticlm.platform.study import settings as studies


@dataclass
class Half:
    """A root on which half of a study is done, and its file."""

    root: Path
    study: str
    lines: list[str] = field(default_factory=list)

    @property
    def plan(self) -> plan.Plan:
        return plan.make(studies.load(self.study), Store(self.root))

    @property
    def request(self) -> StudyRequest:
        return StudyRequest(self.study, (), str(self.root))

    @property
    def page(self) -> str:
        (found,) = (self.root / "reports").glob("*/index.html")
        return found.read_text()

    def live(self) -> LivePage:
        return LivePage(self.plan, self.request)

    def say(self, line: str) -> None:
        self.lines.append(line)

    def begin(self, name: str, total: int, unit: str) -> None: ...
    def update(self, name: str, done: int, note: str = "") -> None: ...
    def end(self, name: str, note: str = "") -> None: ...


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Half:
    """The root when all is done."""
    folder = tmp_path_factory.mktemp("live")
    settings = finished_study(2, 4, 2)
    (folder / "scale.yaml").write_text(json.dumps(settings))  # JSON is YAML
    write_finished_root(folder / "root", settings)
    return Half(folder / "root", f"{folder}/scale.yaml")


@pytest.fixture
def half(whole: Half, tmp_path: Path) -> Half:
    shutil.copytree(whole.root, tmp_path / "root")
    here = Half(tmp_path / "root", whole.study)
    made = here.plan
    second, oracle = (run.rounds for run in list(made.tree.runs)[1:])
    for key in (*list(second.values())[2:], *list(oracle.values())[1:]):
        shutil.rmtree(here.root / paths.round_folder(made.ids[key]))
    return here


def finish(half: Half, whole: Half) -> None:
    shutil.copytree(whole.root, half.root, dirs_exist_ok=True)


def shown(page: str) -> str:
    """The words that say how far the run is."""
    (found,) = re.findall(r'<p id="live".*?>(.*?)</p>', page)
    return re.sub("<.*?>", "", found)


def until(true: object, seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not (true() if callable(true) else true):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_there_is_no_page_before_the_first_cell(half: Half) -> None:
    shutil.rmtree(half.root / "cells")
    assert not half.live().look() and not (half.root / "reports").exists()


def test_it_says_how_far_the_run_is_and_what_is_still_to_come(half: Half) -> None:
    live = half.live()
    assert live.look()
    live.write(40)
    assert shown(half.page).startswith("The run goes on: 5 of 8 rounds, 20 of 32 cells, as of 20")
    assert "<h3>Cells that are still to come</h3>" in half.page and ">So far:</p>" in half.page
    assert 'data-every="40" data-old="600"' in half.page and "location.reload()" in half.page
    assert '<meta http-equiv="refresh" content="40">' in half.page
    assert [path.name for path in (half.root / live.place).iterdir()] == ["index.html"]


def test_values_are_raw_until_the_reference_is_scored(half: Half, whole: Half) -> None:
    live = half.live()
    live.look()
    told = "values are raw until the reference is scored, oracle trained to 2010-04"
    assert told in live.page and "12 cells: their checkpoints are not trained yet" in live.page
    assert "nats per token" in live.page and " is not trained up to " not in live.page
    finish(half, whole)
    assert live.look() and told not in live.page


def test_it_is_made_anew_when_something_is_new_and_else_only_told_the_time(half: Half, whole: Half) -> None:
    live = half.live()
    assert live.look()
    before = live.page
    assert live.look() and live.page is before
    finish(half, whole)
    assert live.look() and live.page is not before
    live.write(30)
    assert "8 of 8 rounds, 32 of 32 cells" in shown(half.page)


def test_a_page_with_hours_between_two_is_not_called_old_after_minutes(half: Half) -> None:
    live = half.live()
    live.look()
    live.write(3600)
    assert 'data-every="3600" data-old="10800"' in half.page


def test_the_page_of_the_finished_study_is_that_of_the_report_to_the_byte(half: Half, whole: Half) -> None:
    live = half.live()
    live.look()
    live.write(30)
    finish(half, whole)
    report = Report([study_result(half.plan, half.request)], request=ReportRequest(str(half.root)))
    folder = half.root / live.place
    assert report.request is not None and report.request.folder(report.results, report.preset) == live.place
    write(report, folder)
    after = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    shutil.rmtree(folder)
    write(report, folder)
    assert {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == after
    assert not any(mark in half.page for mark in ('id="live"', "<!-- live", 'http-equiv="refresh', "reload()"))


def test_a_run_that_stops_leaves_a_page_that_says_so_and_how_to_go_on(half: Half) -> None:
    live = half.live()
    live.stop()
    assert not (half.root / "reports").exists()
    live.look()
    live.stop()
    assert shown(half.page).startswith("The run stopped before its end: 5 of 8 rounds")
    assert f"ticlm run {half.study} --root {half.root}" in shown(half.page)
    assert not any(mark in half.page for mark in ("<!-- live", 'http-equiv="refresh', "reload()"))


def test_a_page_is_not_written_for_a_run_that_lost_its_root(half: Half) -> None:
    store = Store(half.root)
    with lease(store, "run scale"):
        live = LivePage(plan.make(studies.load(half.study), Store(half.root, store.lease)), half.request)
    live.look()
    with lease(store, "run of another"), pytest.raises(TakenOver):
        live.write(30)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renewing, "START_S", 0.0)


@pytest.mark.slow
@pytest.mark.usefixtures("at_once")
def test_a_process_beside_the_run_writes_the_page_and_says_when_the_run_fails(half: Half) -> None:
    with pytest.raises(ZeroDivisionError), renewing.renewing(half.plan, half.request, half):
        until(lambda: half.lines)
        assert shown(half.page).startswith("The run goes on")
        raise ZeroDivisionError
    (line,) = half.lines
    assert line.startswith(f"page: {half.root}/reports/scale-") and line.endswith("/index.html (renews itself)")
    assert shown(half.page).startswith("The run stopped before its end")
    assert len([path for path in (half.root / "reports").rglob("*") if path.is_file()]) == 1


@pytest.mark.slow
@pytest.mark.usefixtures("at_once")
def test_a_fault_of_the_page_is_one_warning_and_the_run_goes_on(half: Half, tmp_path: Path) -> None:
    changed = json.loads(Path(half.study).read_text())
    (tmp_path / "other.yaml").write_text(json.dumps(changed | {"batch_rows": 8}))
    request = StudyRequest(f"{tmp_path}/other.yaml", (), str(half.root))
    fault = r"could not be written, the run goes on: .*other.yaml was changed"
    with pytest.warns(TiclmWarning, match=fault) as told, renewing.renewing(half.plan, request, half):
        until(lambda: len(told))
    assert len([one for one in told if one.category is TiclmWarning]) == 1 and not (half.root / "reports").exists()


def test_a_short_run_starts_no_process(half: Half) -> None:
    with renewing.renewing(half.plan, half.request, half):
        pass
    assert half.lines == [] and not (half.root / "reports").exists()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_in_a_browser_an_old_page_says_so_and_stays(half: Half, browser: Browser) -> None:
    live = half.live()
    live.look()
    live.write(1)
    page = half.root / live.place / "index.html"
    page.write_text(re.sub(r'datetime="\d{4}', 'datetime="2020', half.page))
    browser.open(page, 1280)
    told = browser.run("document.getElementById('live').innerText")
    assert told.startswith("The run stopped, or stands still: 5 of 8 rounds") and "nobody has renewed this page" in told
    browser.run("window.first = true; new Promise((done) => setTimeout(done, 1500))")
    assert browser.run("window.first") and browser.complaints == []


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_in_a_browser_it_loads_itself_again_and_keeps_what_was_chosen(half: Half, browser: Browser) -> None:
    live = half.live()
    live.look()
    live.write(2)  # the last test of this browser: the page goes on to load itself
    page = half.root / live.place / "index.html"
    browser.open(page, 1280)
    browser.run("window.first = true; document.getElementById('rates').open = true")
    browser.run("[...document.querySelectorAll('#cost-unit button')].at(-1).click(); scrollTo(0, 700)")
    chosen = "document.querySelector('#cost-unit [aria-pressed=true]').textContent"
    before = browser.run(chosen)
    until(lambda: browser.run("document.readyState === 'complete' && window.first === undefined"))
    assert browser.run(chosen) == before and browser.run("document.getElementById('rates').open")
    assert browser.run("scrollY") == 700 and browser.complaints == []
