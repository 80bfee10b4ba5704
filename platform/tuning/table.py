"""Trials as a table like Tables 5 to 7 of TiC-LM, as CSV that can be read again, and as JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ticlm.core.errors import InputError
from ticlm.platform.tuning.selection import (
    RULE,
    PeriodScores,
    TrialScores,
    choose,
    compared,
    deciding,
    decimals,
    front,
    on_all,
    on_forecast,
    on_tuning,
)

if TYPE_CHECKING:
    from rich.table import Table

TUNING = PeriodScores._fields
WHOLE = tuple(f"all_{name}" for name in TUNING)
COLUMNS = ("setting", *TUNING, *WHOLE, "note")
NEEDED = ("setting", *TUNING)
NO_CELLS = "none"
"""Stands in CSV for means that no trial of the study can have."""


def table(
    trials: Sequence[TrialScores],
    title: str,
    tuning: str = "first 10 periods (201305 … 201412)",
    whole: str = "all 114 periods",
) -> Table:
    """Make a table with a row per trial: its scores and their mean on tuning's periods and, if any has them, on all.

    The last column says in words which trial the rule picks, which are on the front, and why scores are missing.
    """
    from rich.box import HORIZONTALS
    from rich.table import Table
    from rich.text import Text

    both = any(trial.whole is not None for trial in trials)
    groups = (tuning, whole) if both else (tuning,)
    out = Table(title=Text(title), title_justify="left", caption_justify="left", box=HORIZONTALS)
    out.caption = Text(f"{tuning}; (all): {whole}" if both else tuning)
    out.add_column("setting", no_wrap=True)
    for number in range(len(groups)):
        for name in ("backward", "ID", "forward", "mean"):
            out.add_column(f"{name}\n(all)" if number else name, justify="right", no_wrap=True)
    by_law = deciding(trials) is on_forecast
    if by_law:
        out.add_column("mean\n(predicted)", justify="right", no_wrap=True)
    out.add_column("")
    cells = _cells(trials, both)
    for trial, numbers in zip(trials, cells):
        law = [f"{trial.forecast.mean:.4f}" if trial.forecast else "–"] * by_law
        out.add_row(Text(trial.setting), *numbers, *law, Text("; ".join(_marks(trials, trial))))
    return out


def as_json(trials: Sequence[TrialScores]) -> dict[str, Any]:
    """Return the rule, the name it picks, the names on the front, and every trial with its scores.

    If no trial has scores, the pick is None and the front is empty. Under `all` stands the same for all periods, if any
    trial was trained on them. Numbers that are not finite are text.
    """
    out: dict[str, Any] = {"rule": RULE, **_verdict(trials, whole=False)}
    if compared(trials, on_all):
        out["all"] = _verdict(trials, whole=True)
    out["trials"] = [
        {
            "name": trial.name,
            "setting": trial.setting,
            "scores": _json(trial.scores),
            "all": _json(trial.whole),
            "note": trial.note,
            **({"predicted": _json(trial.forecast)} if deciding(trials) is on_forecast else {}),
        }
        for trial in trials
    ]
    return out


def write(trials: Sequence[TrialScores]) -> str:
    """Return CSV with the columns COLUMNS; numbers without rounding, blank where there is none."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(COLUMNS)
    for trial in trials:
        numbers = [*_written(trial.scores), *_written(trial.whole)]
        rows.writerow([trial.setting, *numbers, trial.note])
    return out.getvalue()


def read(path: str | Path) -> list[TrialScores]:
    """Read trials from a CSV file as `write` makes it; columns for all periods and the note may be left out.

    Raises InputError with the line of what is wrong.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    rows = csv.reader(io.StringIO(text), strict=True)
    trials: list[TrialScores] = []
    try:
        header = _header(next(rows, []), path)
        for row in rows:
            if row:
                trials.append(_trial(header, row, f"{path}, line {rows.line_num}", trials))
    except csv.Error as error:
        raise InputError(f"{path}, line {rows.line_num}: not valid CSV: {error}") from None
    if not trials:
        raise InputError(f"{path}: holds no trials; give a line for each under {','.join(NEEDED)}")
    for of in (on_tuning, on_all):
        if len({_written(scores).count(NO_CELLS) for trial in trials if (scores := of(trial))}) > 1:
            raise InputError(f"{path}: some trials have {NO_CELLS} where others have a number: they cannot be compared")
    return trials


def _header(row: Sequence[str], path: str | Path) -> list[str]:
    header = [name.strip() for name in row]
    where = f"{path}, line 1"
    unknown = next((name for name in header if name not in COLUMNS), None)
    if unknown is not None:
        raise InputError(f"{where}: unknown column {unknown!r}; allowed: {', '.join(COLUMNS)}")
    missing = [name for name in NEEDED if name not in header]
    if missing:
        raise InputError(f"{where}: no column {missing[0]}; needed: {', '.join(NEEDED)}")
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{where}: two columns {twice}")
    return header


def _trial(header: Sequence[str], row: Sequence[str], where: str, before: Sequence[TrialScores]) -> TrialScores:
    if len(row) != len(header):
        raise InputError(f"{where}: {len(row)} values for {len(header)} columns ({','.join(header)})")
    values = {name: value.strip() for name, value in zip(header, row)}
    setting = values["setting"]
    if not setting:
        raise InputError(f"{where}: setting is blank; name what was tried")
    if any(trial.setting == setting for trial in before):
        raise InputError(f"{where}: the setting {setting!r} is there twice; give each its own line")
    scores, whole = _scores(values, TUNING, where), _scores(values, WHOLE, where)
    return TrialScores(setting, setting, scores, whole, values.get("note", ""))


def _scores(values: dict[str, str], names: Sequence[str], where: str) -> PeriodScores | None:
    given = [name for name in names if values.get(name)]
    if not given:
        return None
    for name in names:
        if name not in given:
            raise InputError(f"{where}: {name} is blank, but {given[0]} is not; give all three or none")
    found: list[Any] = []
    for name in names:
        if values[name] == NO_CELLS and name.removeprefix("all_") in ("backward", "forward"):
            found.append(None)
            continue
        try:
            found.append(float(values[name]))
        except ValueError:
            raise InputError(f"{where}: {name} must be a number, got {values[name]!r}") from None
    return PeriodScores(*found)


def _cells(trials: Sequence[TrialScores], both: bool) -> Iterator[list[str]]:
    """Yield the numbers of each row as text; a column has as many decimals as make its values look different."""
    rows = [[*_four(trial.scores), *(_four(trial.whole) if both else ())] for trial in trials]
    places = [decimals([n for n in column if n is not None]) for column in zip(*rows)]
    for row in rows:
        yield ["–" if n is None else f"{n:.{place}f}" for n, place in zip(row, places)]


def _marks(trials: Sequence[TrialScores], trial: TrialScores) -> Iterator[str]:
    for of, where in ((on_tuning, ""), (on_all, " of all")):
        if len(compared(trials, of)) > (1 if where else 0):  # alone on all periods, a trial is best of nothing
            if choose(trials, of if where else deciding(trials)) is trial:
                yield "best of all periods" if where else "chosen"
            if any(other is trial for other in front(trials, of)):
                yield f"on the front{where}"
    if trial.note:
        yield trial.note


def _verdict(trials: Sequence[TrialScores], whole: bool) -> dict[str, Any]:
    of = on_all if whole else deciding(trials)
    chosen = choose(trials, of).name if compared(trials, of) else None
    return {"chosen": chosen, "front": [trial.name for trial in front(trials, of)]}


def _written(scores: PeriodScores | None) -> list[str]:
    if scores is None:
        return [""] * len(TUNING)
    return [NO_CELLS if number is None else repr(float(number)) for number in scores]


def _four(scores: PeriodScores | None) -> tuple[float | None, ...]:
    return (None,) * 4 if scores is None else (*scores, scores.mean)


def _json(scores: PeriodScores | None) -> dict[str, Any] | None:
    if scores is None:
        return None
    found = scores._asdict() | {"mean": scores.mean}
    return found if scores.comparable else {n: value if value is None else str(value) for n, value in found.items()}
