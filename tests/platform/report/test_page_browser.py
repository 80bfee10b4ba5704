"""The page of a study with TiC-LM's many evaluations, in a browser: nothing complains, overlaps or is wrong."""

import dataclasses
import shlex
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from browser import CHROMIUM, Browser
from calendars import CHECKPOINTS
from report_kinds import MONTHS, WEEKS, made_up
from reports import page, tic_lm, with_examples, with_static

from ticlm.platform.analysis.matrix import views
from ticlm.platform.results.setup import Setup, StudyRequest

OVERLAPPING = """(() => {
  const name = (svg) => svg.getAttribute("aria-label");
  const across = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left);
  const down = (a, b) => Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  return [...document.querySelectorAll(".chart svg")].flatMap((svg) => {
    const boxes = [...svg.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
    return boxes.flatMap(([one, a], i) => boxes.slice(i + 1)
      .filter(([_, b]) => across(a, b) > 1.5 && down(a, b) > 3.5).map(([other]) => `${name(svg)}: ${one} / ${other}`));
  });
})()"""
"""Pairs of labels that stand on each other in a chart (boxes of lines of text may touch)."""
OUTSIDE = """[...document.querySelectorAll(".chart svg")].flatMap((svg) => {
  const whole = svg.getBoundingClientRect();
  const out = (box) => box.left < whole.left - 2 || box.right > whole.right + 2;
  return [...svg.querySelectorAll("text")].filter((text) => out(text.getBoundingClientRect()))
    .map((text) => `${svg.getAttribute("aria-label")}: ${text.textContent}`);
})"""
"""Labels that reach beyond their chart."""

CELLS = "document.querySelectorAll('#heatmaps image')[1]"
"""The cells of the second method's heat map."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a study with everything on it."""
    path = tmp_path_factory.mktemp("page") / "index.html"
    path.write_text(page(with_static(with_examples(tic_lm(5)))), encoding="utf-8")
    return path


def choose(browser: Browser, select: str, value: int) -> None:
    box = f"document.getElementById('{select}')"
    browser.run(f"{box}.value = {value}; {box}.dispatchEvent(new Event('change'))")


needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")


@pytest.mark.slow
@needs_chromium
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (400, True)])
def test_every_evaluation_can_be_read_in_a_browser(browser: Browser, whole: Path, width: int, dark: bool) -> None:
    browser.open(whole, width, dark=dark)
    assert {url for url in browser.requests if not url.startswith("data:")} == {whole.as_uri()}
    assert browser.run("document.documentElement.dataset.theme === undefined && dark()") == dark
    names = browser.run("study().views.map((view) => view.name)")
    for i, name in enumerate(names):
        choose(browser, "view", i)
        browser.run("document.querySelectorAll('#time-lines button')[1].click()")
        assert browser.run("document.documentElement.scrollWidth") <= width, name
        assert browser.run(OVERLAPPING) == [] and browser.run(OUTSIDE) == [], name
        assert browser.run("document.querySelectorAll('#heatmaps svg').length") == 6
        assert browser.run("document.querySelectorAll('#lag-told li').length") == 6
        assert browser.run("document.querySelectorAll('#whiskers svg').length") == 3
        browser.run("document.querySelectorAll('#time-lines button')[0].click()")
        assert browser.run(OVERLAPPING) == [], name
    for i in range(2):
        choose(browser, "examples-set", i)
        assert (
            browser.run(OVERLAPPING) == []
            and browser.run("document.querySelectorAll('#tallies .chart > svg rect').length") > 10
        )
    browser.run("document.getElementById('theme').click(); enlarge(0)")
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.complaints == []


@pytest.mark.slow
@needs_chromium
@pytest.mark.parametrize("wide", [1280, 400])
def test_a_cell_under_the_mouse_tells_its_numbers(browser: Browser, whole: Path, wide: int) -> None:
    result = tic_lm(5)
    browser.open(whole, wide)
    for name, row, column in (("codedocs-numpy@1", 2, 9), ("wiki-qa@1", 11, 0)):
        seen = next(one for one in views(result) if one.name == name)
        choose(browser, "view", browser.run("study().views.map((view) => view.name)").index(name))
        browser.run(f"{CELLS}.scrollIntoView({{block: 'center'}})")
        left, top, right, bottom = browser.run(
            f"(({{ left, top, right, bottom }}) => [left, top, right, bottom])({CELLS}.getBoundingClientRect())"
        )
        x = left + (column + 0.5) / len(seen.evaluated) * (right - left)
        browser.point(x, top + (row + 0.5) / len(CHECKPOINTS) * (bottom - top))
        first, own, place = browser.run("document.getElementById('tip').innerText").replace("−", "-").split("\n")
        value = seen.methods[1].mean[row, column]
        regret = seen.relative(seen.methods[1].mean)[row, column]
        trained, evaluated = (f"{label[:4]}-{label[4:]}" for label in (CHECKPOINTS[row], seen.evaluated[column]))
        assert place.startswith(f"trained to {trained}, evaluated on {evaluated}: ")
        if name == "wiki-qa@1":
            assert first == f"regret {100 * regret:+.1f} points" and own == f"accuracy {100 * value:.1f} %"
        else:
            side = "higher" if regret > 0 else "lower"
            assert first == f"regret {regret:+.3f} (perplexity {abs(100 * np.expm1(regret)):.0f}\xa0% {side})"
            assert own == f"log-perplexity {value:.3f} (perplexity {np.exp(value):.2f})"


@pytest.mark.slow
@needs_chromium
def test_arrow_keys_walk_through_a_heat_map_and_its_words_are_announced(browser: Browser, whole: Path) -> None:
    browser.open(whole, 1280)
    assert browser.run("document.querySelector('#tip').getAttribute('aria-live')") == "polite"
    browser.run("document.querySelector('#heatmaps svg').focus()")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowUp"):
        browser.call("Input.dispatchKeyEvent", type="keyDown", key=key)
    words = "document.getElementById('tip').innerText"
    assert browser.run(words).endswith("trained to 2015-01, evaluated on 2015-01: in-distribution, nearest in time")
    assert browser.run("document.querySelectorAll('#heatmaps svg g:last-child rect').length") == 2  # its frame
    browser.run("document.activeElement.blur()")
    assert browser.run("document.getElementById('tip').hidden")
    assert browser.complaints == []


@pytest.mark.slow
@needs_chromium
def test_contrast_and_theme_change_the_colours_of_the_cells(browser: Browser, whole: Path) -> None:
    browser.open(whole, 1280)
    after = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))"
    seen = [browser.run(f"{CELLS}.getAttribute('href')")]
    slide = "document.querySelector('#scale input')"
    for action in (
        f"{slide}.value = 90; {slide}.dispatchEvent(new Event('input'))",
        "document.getElementById('theme').click()",
    ):
        browser.run(f"{action}; {after}")
        seen.append(browser.run(f"{CELLS}.getAttribute('href')"))
    assert len(set(seen)) == 3 and browser.complaints == []


@pytest.mark.slow
@needs_chromium
def test_parts_of_bars_can_be_hidden_and_the_rest_fills_the_chart(browser: Browser, whole: Path) -> None:
    browser.open(whole, 1280)
    bars = "[...document.querySelectorAll('#tallies .chart > svg')][1].querySelectorAll('rect')"
    assert browser.run(f"{bars}.length") == 3 * 16
    before = browser.run(f"+{bars}[20].getAttribute('height')")  # new pages, beside many changed ones
    browser.run("document.querySelectorAll('#tallies .legend')[1].querySelector('button').click()")
    assert browser.run(f"{bars}.length") == 2 * 16
    assert browser.run(f"+{bars}[0].getAttribute('height')") > 5 * before
    assert browser.complaints == []


@pytest.mark.slow
@needs_chromium
def test_a_study_without_a_reference_or_two_studies_are_shown_too(browser: Browser, tmp_path: Path) -> None:
    raw = dataclasses.replace(tic_lm(2, ["wiki-qa@1", "wiki-diff@1"]), reference=None, name="raw")
    path = tmp_path / "index.html"
    path.write_text(page(tic_lm(3, ["tic-cc@1", "wiki-qa@1"]), raw), encoding="utf-8")
    browser.open(path, 400)
    choose(browser, "study", 1)
    assert browser.run("document.getElementById('side').textContent") == "Right of zero: better."
    assert "higher is better" in browser.run("document.getElementById('scale').textContent")
    choose(browser, "view", 1)
    assert browser.run("document.getElementById('side').textContent") == "Left of zero: better."
    assert browser.run("document.documentElement.scrollWidth") <= 400 and browser.complaints == []


@pytest.mark.slow
@needs_chromium
def test_a_row_and_a_cell_offer_the_command_that_gives_them_again(browser: Browser, tmp_path: Path) -> None:
    """They name the root and the settings as typed; that of a cell is what `ticlm eval --again` takes."""
    result = tic_lm(2, ["tic-cc@1", "wiki-qa@1"])
    request = StudyRequest("my study.yaml", ("batch_rows=8",), "runs")
    entries = {method.name: {"base": method.name} for method in result.methods}
    made = Setup(request, "a" * 64, "", (), "3b", "t", (), "", {}, methods=entries)
    path = tmp_path / "index.html"
    path.write_text(page(dataclasses.replace(result, setup=made)), encoding="utf-8")
    browser.open(path, 1280)
    assert browser.run("document.querySelectorAll('tbody .copy:not([hidden])').length") >= 3
    copy = "document.querySelector('tbody .copy')"
    command = browser.run(f"{copy}.dataset.copy")
    methods = '[{"base": "cyclic-cosine"}, {"base": "oracle"}]'
    assert shlex.split(command)[:3] == ["ticlm", "run", "my study.yaml"] and f"methods={methods}" in shlex.split(
        command
    )
    assert browser.run(f"{copy}.title") == command and "cyclic-cosine" in browser.run(f"{copy}.ariaLabel")
    browser.run(f"{copy}.click(); new Promise((done) => setTimeout(done, 100))")
    assert browser.run("document.getElementById('copied').textContent").endswith(command)  # copied, or to be copied
    browser.run("document.querySelector('#heatmaps svg').focus()")
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "Enter"):
        browser.call("Input.dispatchKeyEvent", type="keyDown", key=key)
    words = shlex.split(browser.run("document.querySelector('#cell code').textContent"))
    expected = [
        "--again",
        f"cyclic-cosine@{CHECKPOINTS[1]}",
        "--on",
        CHECKPOINTS[2],
        "--task",
        "tic-cc@1",
        "--seed",
        "1",
    ]
    assert words == ["ticlm", "eval", "my study.yaml", "--set", "batch_rows=8", "--root", "runs", *expected]
    oracle = "document.querySelectorAll('#heatmaps svg')[2]"
    browser.run(f"{oracle}.focus()")
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        browser.call("Input.dispatchKeyEvent", type="keyDown", key=key)
    words = shlex.split(browser.run("document.querySelector('#cell code').textContent"))
    assert words[words.index("--again") + 1] == "oracle@201501", "the Oracle that stands for the checkpoint 201602"
    assert browser.complaints == []


@pytest.mark.slow
@needs_chromium
def test_two_studies_are_compared_side_by_side_on_one_scale(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "index.html"
    first = made_up("first", MONTHS, cutoffs=(0, 11))
    path.write_text(page(first, made_up("second", MONTHS, cutoffs=(0, 11), shift=0.3)), encoding="utf-8")
    browser.open(path, 1280)
    assert browser.run("document.getElementById('study').selectedOptions[0].textContent") == "all, side by side"
    assert browser.run("document.querySelectorAll('#heatmaps svg').length") == 6
    for chart in ("time-chart", "lag-chart"):
        titles = f"[...document.querySelectorAll('#{chart} h3')].map((one) => one.textContent)"
        assert browser.run(titles) == ["first", "second"]
        levels = (
            f"[...document.querySelectorAll('#{chart} .chart > svg')].map((svg) => [...svg.querySelectorAll('text')]"
        )
        levels += (
            ".filter((text) => text.getAttribute('text-anchor') === 'end').map((text) => text.textContent).join())"
        )
        assert len(set(browser.run(levels))) == 1  # the same ticks
    assert browser.run("document.querySelectorAll('#whiskers svg').length") == 6
    note = browser.run("document.querySelector('#cost-chart .note').textContent")
    assert "cyclic-cosine (first) = cyclic-cosine (second)" in note
    browser.run("enlarge(5)")
    assert browser.run("document.querySelector('#large h3').textContent").startswith("oracle (second)")
    choose(browser, "study", 0)
    assert browser.run("document.querySelectorAll('#heatmaps svg').length") == 3
    assert browser.run(OVERLAPPING) == [] and browser.complaints == []


@pytest.mark.slow
@needs_chromium
@pytest.mark.parametrize(("width", "height"), [(1280, 800), (400, 800)])
def test_the_first_screen_holds_the_answer_and_the_top_of_the_first_chart(
    browser: Browser, tmp_path: Path, width: int, height: int
) -> None:
    path = tmp_path / "index.html"
    path.write_text(page(tic_lm(3, ["tic-cc@1"])), encoding="utf-8")
    browser.open(path, width, height)
    bottom = browser.run("document.querySelector('.answer').getBoundingClientRect().bottom")
    chart = browser.run("document.querySelector('#cost-chart svg').getBoundingClientRect().top")
    assert bottom < 0.5 * height and chart < 0.95 * height


@pytest.mark.slow
@needs_chromium
@pytest.mark.parametrize("kind", ["weekly", "year"])
def test_maps_are_maps_on_a_phone(browser: Browser, tmp_path: Path, kind: str) -> None:
    result = made_up(kind, WEEKS if kind == "weekly" else MONTHS, cutoffs=())
    path = tmp_path / "index.html"
    path.write_text(page(result), encoding="utf-8")
    browser.open(path, 400)
    widths = "['svg', 'image'].map((part) => document.querySelector(`#heatmaps ${part}`).getBoundingClientRect().width)"
    card, cells = browser.run(widths)
    assert cells > 0.6 * card
    assert browser.run(OVERLAPPING) == [] and browser.run("document.documentElement.scrollWidth") <= 400
    names = "[...document.querySelectorAll('#time-chart > svg text')].map((text) => text.textContent)"
    assert {"weekly": {"…01-28", "evaluated period, 2024"}, "year": {"Jan", "evaluated period, 2023"}}[kind] <= set(
        browser.run(names)
    )
    browser.run("document.querySelector('#heatmaps svg').focus()")
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowDown")
    said = {"weekly": "trained to 2024-01-29…2024-02-04", "year": "trained to 2023-02"}[kind]
    assert said in browser.run("document.getElementById('tip').innerText")  # whole, not short


@pytest.mark.slow
@needs_chromium
def test_without_scripts_there_are_pictures_and_no_empty_boxes(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "index.html"
    path.write_text(page(made_up("demo", MONTHS)), encoding="utf-8")
    browser.open(path, 1280, scripts=False)
    found = browser.call("DOM.getDocument")["root"]["nodeId"]
    selected = {
        name: browser.call("DOM.querySelectorAll", nodeId=found, selector=name)["nodeIds"]
        for name in (".picture svg", ".chart, .controls, select")
    }
    assert len(selected[".picture svg"]) == 2
    boxes = [browser.call("DOM.getBoxModel", nodeId=node)["model"]["width"] for node in selected[".picture svg"]]
    assert all(width > 600 for width in boxes)
    for node in selected[".chart, .controls, select"]:
        with pytest.raises(AssertionError, match="box model"):  # not laid out
            browser.call("DOM.getBoxModel", nodeId=node)
