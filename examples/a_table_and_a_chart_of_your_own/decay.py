"""How fast a model ages: its loss by the months since it was trained, as a table, a chart and a headline number."""

from collections.abc import Iterator

from ticlm.platform.display.charts import Axis, Chart, Series
from ticlm.platform.display.parts import Headline, Part, Section, Tables
from ticlm.platform.display.text_tables import TextCell, TextLine, TextTable
from ticlm.platform.results.study_result import StudyResult


class Decay(Tables):
    """The mean value of a task by age: how many periods after its own a checkpoint is asked."""

    name: str = "decay"
    task: str = "perplexity"
    """A task on periods, as in `evaluations`."""

    def named(self) -> Iterator[tuple[str, str]]:
        yield "task", self.task

    def part(self, study: StudyResult) -> Part:
        place = {label: at for at, label in enumerate(study.timeline.labels)}
        cells = study.cells[(study.cells["source"] == "") & study.cells["task"].str.startswith(f"{self.task}@")]
        cells = cells.assign(age=cells["evaluated"].map(place) - cells["trained"].map(place))
        rows = cells[cells["age"] >= 0].groupby(["study", "method", "age"], sort=False)["value"].mean().reset_index()
        table = rows.pivot(index="method", columns="age", values="value")
        ages = tuple(str(age) for age in table.columns)
        lines = tuple(
            TextLine((str(method),), tuple(TextCell(f"{value:.3f}") for value in values))
            for method, values in zip(table.index, table.to_numpy())
        )
        chart = Chart(
            "Mean loss by age of the model",
            "line",
            tuple(Series(str(m), list(row), method=str(m)) for m, row in zip(table.index, table.to_numpy())),
            labels=ages,
            x=Axis("periods since training"),
            y=Axis("nats per token, lower is better"),
            study=study.name,
        )
        section = Section(
            "decay",
            "How fast a model ages",
            (TextTable("Mean loss by age, nats per token", ("Method",), ages, lines, main=True),),
            (chart,),
        )
        slopes = ((table.iloc[:, -1] - table.iloc[:, 0]) / (len(ages) - 1)).items()
        return Part(
            "Decay",
            frames={"decay": rows},
            sections=(section,),
            headline=tuple(
                Headline(
                    study=study.name,
                    row=str(method),
                    block=self.name,
                    part="per period",
                    value=float(slope),
                    text=f"{slope:+.4f}",
                    group="nats per token",
                    higher_is_better=False,
                )
                for method, slope in slopes
            ),
            headline_notes=("Decay: how much a model's loss grows with each period after its own.",),
        )
