"""The figures beside the page, read back from their SVG: the numbers of a study lie where they are drawn."""

import base64
import dataclasses
import re
import unicodedata
import zlib
from collections.abc import Callable
from importlib.resources import as_file
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from calendars import CHECKPOINTS
from numpy.typing import NDArray
from report_kinds import MONTHS, made_up
from reports import PRESET, TASKS, tic_lm
from resvg_py import svg_to_bytes

from ticlm.platform.analysis.matrix import views
from ticlm.platform.display.palette import THEMES
from ticlm.platform.display.templates import asset
from ticlm.platform.report.figures import UNCOVERED, draw, slug
from ticlm.platform.report.page_data import examples_payload, payload
from ticlm.platform.report.report import Report
from ticlm.platform.results.study_result import StudyResult
from ticlm.platform.results.tallies import CountedExamples

SVG = "{http://www.w3.org/2000/svg}"
Figure = ElementTree.Element
LINES: Any = THEMES["light"]["lines"]


@pytest.fixture
def figures(tmp_path: Path) -> Callable[..., dict[str, Figure]]:
    """Draws a study; its figures by name, each parsed."""

    def drawn(result: StudyResult) -> dict[str, Figure]:
        return parsed(draw(payload(Report([result], PRESET)), tmp_path))

    return drawn


def parsed(files: list[Path]) -> dict[str, Figure]:
    assert {path.with_suffix(".png") for path in files} == {path for path in files if path.suffix == ".png"}
    return {path.stem: ElementTree.parse(path).getroot() for path in files if path.suffix == ".svg"}


def texts(figure: Figure) -> list[str]:
    return [text.text or "" for text in figure.iter(f"{SVG}text")]


def cells(figure: Figure) -> list[NDArray[np.uint8]]:
    """The colours of each heat map: uint8[trained, evaluated, 3]."""
    images = []
    for image in figure.iter(f"{SVG}image"):
        png = base64.b64decode(image.attrib["href"].removeprefix("data:image/png;base64,"))
        chunks, at = {}, 8
        while at < len(png):
            size, kind = int.from_bytes(png[at : at + 4]), png[at + 4 : at + 8]
            body = png[at + 8 : at + 8 + size]
            assert zlib.crc32(kind + body) == int.from_bytes(png[at + 8 + size : at + 12 + size])
            chunks[kind], at = body, at + 12 + size
        width = int.from_bytes(chunks[b"IHDR"][:4])
        rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(-1, width + 1)
        assert not rows[:, 0].any()  # no row is filtered
        images.append(np.frombuffer(chunks[b"PLTE"], np.uint8).reshape(-1, 3)[rows[:, 1:]])
    return images


def rgb(color: object) -> tuple[int, ...]:
    return tuple(bytes.fromhex(str(color)[1:]))


def ink(character: int) -> bytes:
    """A picture of a character in the font of the figures alone."""
    at = '<text x="4" y="18" font-family="DejaVu Sans" font-size="14">'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24">{at}&#{character};</text></svg>'
    with as_file(asset("DejaVuSans.ttf")) as font:
        return bytes(svg_to_bytes(svg, font_files=[str(font)], skip_system_fonts=True))


def test_every_character_for_which_no_other_font_is_read_is_drawn() -> None:
    covered = {
        c for c in range(0x20, 0x3000) if not UNCOVERED.search(chr(c)) and unicodedata.category(chr(c))[0] in "LNPS"
    }
    assert len(covered) > 500 and {ord(c) for c in "é−×≤…→"} <= covered
    blank = ink(ord(" "))
    assert [chr(c) for c in sorted(covered) if ink(c) == blank] == []
    assert all(UNCOVERED.search(c) for c in "™№⇒月")


def test_a_cell_of_a_heat_map_has_the_color_of_its_regret(figures: Callable[..., dict[str, Figure]]) -> None:
    result = tic_lm(1, ["wiki-diff@1"])
    figure = figures(result)["matrices-tic-lm-3b-wiki-diff-1"]
    first, oracle = cells(figure)
    assert first.shape == (len(CHECKPOINTS), len(TASKS["wiki-diff@1"][0]), 3)
    stops = THEMES["light"]["worse"]  # no regret is below zero
    assert isinstance(stops, tuple)
    assert {tuple(cell) for cell in oracle[-1]} == {rgb(stops[0])}  # the reference itself: no regret
    (seen,) = views(result)
    regret = seen.relative(seen.methods[0].mean)
    assert tuple(first[np.unravel_index(regret.argmax(), regret.shape)]) == rgb(stops[-1])
    red = first[regret > 0].astype(int)
    assert (red[:, 0] >= red[:, 2]).all() and "regret, nats, lower is better" in texts(figure)


def test_no_text_of_a_figure_is_smaller_than_twelve_units(figures: Callable[..., dict[str, Figure]]) -> None:
    drawn = figures(made_up("demo", MONTHS, cutoffs=(0, 5, 11)))
    assert {"ages-demo-perplexity-1", "matrices-demo-perplexity-1", "rates-demo"} <= set(drawn)
    sizes = {float(text.attrib["font-size"]) for figure in drawn.values() for text in figure.iter(f"{SVG}text")}
    assert min(sizes) == 12


def test_a_missing_cell_is_transparent_over_a_hatching(figures: Callable[..., dict[str, Figure]]) -> None:
    whole = tic_lm(1, ["wiki-diff@1"])
    gone = (whole.cells["trained"] == "201602") & (whole.cells["method"] == "cyclic-cosine")
    figure = figures(dataclasses.replace(whole, cells=whole.cells[~gone]))["matrices-tic-lm-3b-wiki-diff-1"]
    assert len(list(figure.iter(f"{SVG}pattern"))) == 1
    image = next(figure.iter(f"{SVG}image")).attrib["href"]
    assert b"tRNS" + bytes([255] * 255) + b"\x00" in base64.b64decode(image.split(",")[1])


def test_a_cell_that_is_not_asked_has_the_color_of_the_card_and_no_hatching(
    figures: Callable[..., dict[str, Figure]],
) -> None:
    whole = tic_lm(1, ["wiki-diff@1"])
    labels = whole.trained("cyclic-cosine", whole.methods[0].seeds[0])
    first = labels[0] if labels else whole.timeline.labels[0]
    own = whole.cells["trained"].isin([first]) | (whole.cells["trained"] == whole.cells["evaluated"])
    oracle = whole.cells["method"].isin([one.name for one in whole.methods if one.is_oracle])
    diagonal = dataclasses.replace(whole, cells=whole.cells[own | oracle], own_period=frozenset(["wiki-diff@1"]))
    figure = figures(diagonal)["matrices-tic-lm-3b-wiki-diff-1"]
    assert list(figure.iter(f"{SVG}pattern")) == []
    (view,) = views(diagonal)
    assert not view.asked.all()
    card = THEMES["light"]["card"]
    assert isinstance(card, str)
    assert {tuple(cell) for cell in cells(figure)[0][~view.asked]} == {rgb(card)}
    assert any("blank: not asked" in text for text in texts(figure))


def test_the_lag_has_a_line_for_each_method_and_hollow_ends(figures: Callable[..., dict[str, Figure]]) -> None:
    figure = figures(tic_lm(3, ["codedocs-numpy@1"]))["lag-tic-lm-3b-codedocs-numpy-1"]
    groups = [group for group in figure.iter(f"{SVG}g") if group.get("class") == "series"]
    circles = [[mark for mark in group if mark.get("class") == "mark"] for group in groups]
    assert [len(points) for points in circles] == [len(TASKS["codedocs-numpy@1"][0])] * 4  # three methods, the Oracle
    assert circles[0][-1].get("fill") == THEMES["light"]["card"]  # the last model is the best on the last period
    heights = [float(point.attrib["cy"]) for point in circles[0]]
    assert heights[-1] == max(heights)  # 202407 before 202408: the only lag below zero
    assert "cyclic-cosine: median +13 months; 4 of 16 at the first or last model" in texts(figure)
    assert {"’17", "’24", "evaluated period"} <= set(texts(figure))  # the first of each year


def test_every_method_has_a_panel_over_time_on_one_scale(figures: Callable[..., dict[str, Figure]]) -> None:
    figure = figures(tic_lm(2, ["wiki-diff@1"]))["over-time-tic-lm-3b-wiki-diff-1"]
    shown = texts(figure)
    assert all(shown.count(name) == 1 for name in ("cyclic-cosine", "cyclic-cosine+ar", "oracle"))
    levels = [text for text in shown if re.fullmatch(r"\d\.\d", text)]
    assert levels == levels[: len(levels) // 3] * 3
    first = next(group for group in figure.iter(f"{SVG}g") if group.get("class") == "series")
    assert first.get("stroke") == LINES[0]


def test_every_count_becomes_a_figure_with_the_panels_it_needs(tmp_path: Path) -> None:
    both = {"answers": {"1": 5, "2": 3}}
    labels = ("201301", "201302")
    counted = CountedExamples("toy@1", labels, {x: {"all": 5} for x in labels}, {x: both | {"no": {}} for x in labels})
    drawn = parsed(draw(examples_payload(counted), tmp_path))
    assert list(drawn) == ["examples-toy-1-examples", "examples-toy-1-answers"]  # what is empty is not drawn
    over_time, distribution = [list(g) for g in drawn["examples-toy-1-answers"] if g.tag == f"{SVG}g"]
    ones, twos = [heights(group) for group in over_time if group.tag == f"{SVG}g"][:2]
    assert twos == pytest.approx([0.6 * high for high in ones], rel=1e-3)
    first, second = heights(next(group for group in distribution if group.tag == f"{SVG}g"))
    assert second == pytest.approx(0.6 * first, rel=1e-3)


def heights(group: Figure) -> list[float]:
    return [float(bar.attrib["height"]) for bar in group.iter(f"{SVG}rect")]


def test_names_cannot_break_a_figure(figures: Callable[..., dict[str, Figure]]) -> None:
    evil = "</text><script>&\"'"
    result = tic_lm(1, ["wiki-diff@1"])
    cells = result.cells.assign(method=result.cells["method"].replace("cyclic-cosine", evil))
    costs = result.costs.assign(method=result.costs["method"].replace("cyclic-cosine", evil))
    methods = (dataclasses.replace(result.methods[0], name=evil), *result.methods[1:])
    drawn = figures(dataclasses.replace(result, methods=methods, cells=cells, costs=costs))
    assert evil in texts(drawn["cost-tic-lm-3b-wiki-diff-1"])
    assert not any(list(figure.iter(f"{SVG}script")) for figure in drawn.values())


def test_figures_whose_names_would_be_the_same_are_all_kept(tmp_path: Path) -> None:
    counted = CountedExamples(
        "a@1", ("201301",), {"201301": {"all": 5}}, {"201301": {"x y": {"1": 1}, "x-y": {"1": 2}}}
    )
    names = [path.stem for path in draw(examples_payload(counted), tmp_path) if path.suffix == ".svg"]
    assert names == ["examples-a-1-examples", "examples-a-1-x-y", "examples-a-1-x-y-"]


def test_names_of_files_hold_letters_and_numbers_of_any_script() -> None:
    assert slug("Étude 1", "tic-cc@1 · wiki", "") == "étude-1-tic-cc-1-wiki"
