"""What staleness costs: how much worse a model is on a period than its successor that was trained on it."""

import math
from collections.abc import Iterator

from ticlm.platform.display.charts import Axis, Chart, Series
from ticlm.platform.display.parts import Headline, Part, Section, Tables
from ticlm.platform.display.text_tables import TextCell, TextLine, TextTable
from ticlm.platform.results.study_result import StudyResult

TITLE = "What staleness costs"
NOTE = "Staleness: how much worse a model is after one period than its successor, in nats per token."


class Staleness(Tables):
    """The loss of a checkpoint on a later period, less that of the same run's checkpoint of that period, by age.

    Both are asked the same rows, so that a hard period does not look like an old model.
    """

    name: str = "staleness"
    task: str = "perplexity"
    """A task on periods, as in `evaluations`."""

    def named(self) -> Iterator[tuple[str, str]]:
        yield "task", self.task

    def part(self, study: StudyResult) -> Part:
        place = {label: at for at, label in enumerate(study.timeline.labels)}
        cells = study.cells[(study.cells["source"] == "") & study.cells["task"].str.startswith(f"{self.task}@")]
        cells = cells.assign(age=cells["evaluated"].map(place) - cells["trained"].map(place))
        run = ["study", "method", "seed", "evaluated"]
        successor = cells[cells["age"] == 0].set_index(run)["value"].rename("successor")
        later = cells[cells["age"] > 0].join(successor, on=run).dropna(subset=["successor"])
        later = later.assign(staleness=later["value"] - later["successor"])
        rows = later.groupby(["study", "method", "age"], sort=False)["staleness"].agg(["mean", "size"]).reset_index()
        table = rows.pivot(index="method", columns="age", values="mean")
        if not len(table):
            return Part("Staleness", missing=(f"{self.name}: {study.name} has no checkpoint older than a period",))
        ages = tuple(map(str, table.columns))
        values = {str(method): list(map(float, row)) for method, row in zip(table.index, table.to_numpy())}
        lines = (TextLine((method,), tuple(TextCell(_text(value)) for value in row)) for method, row in values.items())
        series = (Series(method, [_known(value) for value in row], method=method) for method, row in values.items())
        axes = Axis("periods since training"), Axis("nats per token above its successor", zero=True)
        section = Section(
            "staleness",
            TITLE,
            (TextTable("Above its successor, by age, nats per token", ("Method",), ages, tuple(lines), main=True),),
            (Chart(TITLE, "line", tuple(series), ages, *axes, study=study.name),),
        )
        headline = (
            Headline(
                study=study.name,
                row=method,
                block=self.name,
                part="one period",
                value=row[0],
                text=_text(row[0]),
                group="nats per token",
                higher_is_better=False,
            )
            for method, row in values.items()
        )
        files = {"staleness": rows}
        return Part("Staleness", files, (section,), headline=tuple(headline), headline_notes=(NOTE,))


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _text(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:+.3f}"
