"""The command line. Heavy libraries load inside the commands that use them."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ticlm.platform.cli.exit import ended
from ticlm.platform.core.errors import InputError

if TYPE_CHECKING:
    from ticlm.platform.core.corpus import Corpus
    from ticlm.platform.core.examples import Examples
    from ticlm.platform.eval.cells import CheckpointWork
    from ticlm.platform.study.plan import Plan

app = typer.Typer(help="Time-continual language modelling on Ray.", no_args_is_help=True, add_completion=False)
data = typer.Typer(help="Build and look at corpora, and sets of examples.", no_args_is_help=True)
app.add_typer(data, name="data")

Name = Annotated[str, typer.Argument(metavar="STUDY", help="A study: a YAML file, a URI, or a packaged name.")]
Names = Annotated[list[str], typer.Argument(metavar="STUDY…", help="One or several studies.")]
RecipeName = Annotated[str, typer.Argument(metavar="RECIPE", help="A recipe: a YAML file, a URI, or a packaged name.")]
Root = Annotated[str, typer.Option("--root", envvar="TICLM_ROOT", help="Where everything is kept: a folder or a URI.")]
Sets = Annotated[list[str] | None, typer.Option("--set", metavar="KEY.KEY=VALUE", help="Change a setting.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@data.command("build")
def data_build(recipe: RecipeName, root: Root = "runs", set_: Sets = None) -> None:
    """Turn dated documents into a corpus, or dumps into examples; goes on where it stopped, appends what is new."""
    from ticlm.datasets.corpus import show as overview
    from ticlm.datasets.evalsets import show as examplesview
    from ticlm.platform.cli.console import console
    from ticlm.platform.core.corpus import Corpus

    made = _build(recipe, root, set_)
    console().print(overview.overview(made) if isinstance(made, Corpus) else examplesview.overview(made))


@data.command("show")
def data_show(
    name: Annotated[str, typer.Argument(metavar="CORPUS")],
    root: Root = "runs",
    period: Annotated[str | None, typer.Option(help="This period alone.")] = None,
    as_json: Json = False,
    figures: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Draw what was counted of examples.")] = None,
) -> None:
    """What a corpus or a set of examples holds, period by period; what every step left out, and why."""
    from ticlm.datasets.corpus import show as overview
    from ticlm.datasets.evalsets import show as examplesview
    from ticlm.platform.cli.console import console
    from ticlm.platform.core.corpus import Corpus
    from ticlm.platform.core.store import Store
    from ticlm.platform.report.figures import examples
    from ticlm.platform.study import data as corpora

    found = corpora.either(name, Store(_root(root)))
    if isinstance(found, Corpus):
        print(overview.as_json(found, period)) if as_json else console().print(overview.overview(found, period))
    else:
        print(examplesview.as_json(found, period)) if as_json else console().print(examplesview.overview(found, period))
    if figures is not None:
        if isinstance(found, Corpus):
            raise InputError("--figures draws sets of examples; what a corpus holds is drawn by ticlm report")
        drawn = examples.draw(found, figures)
        console().print(f"{len(drawn)} files in {figures}", soft_wrap=True)


@app.command()
def plan(study: Name, root: Root = "runs", set_: Sets = None, as_json: Json = False) -> None:
    """What a study would do: rounds, chains, what is done, and what the rest costs."""
    from ticlm.platform.cli import plan_view
    from ticlm.platform.cli.console import console

    gc.disable()  # the tree of a large study is a million values that stay until the end
    made = _plan(study, root, set_)
    if as_json:
        print(plan_view.as_json(made))
    else:
        console().print(plan_view.view(made))


@app.command()
def run(study: Name, root: Root = "runs", set_: Sets = None) -> None:
    """Do all of it: build the corpus where a packaged recipe has its name, train, evaluate, report."""
    from contextlib import ExitStack

    from ticlm.platform.analysis import conventions
    from ticlm.platform.analysis.collect import study_result
    from ticlm.platform.cli import report as reporting
    from ticlm.platform.cli.console import bars
    from ticlm.platform.core.lease import lease
    from ticlm.platform.core.store import Store
    from ticlm.platform.run import driver

    made = _plan(study, root, set_)
    with ExitStack() as stack:
        recipe = _missing_recipe(made)
        if recipe is not None:
            stack.enter_context(driver.connected(made))
            _build(recipe, root)
            made = _plan(study, root, set_)
        if _units(made) or made.pending():  # in this order: a period that cannot be scored is said before training
            stack.enter_context(lease(Store(_root(root)), f"run {made.study.name}"))
            stack.enter_context(driver.connected(made))
            show = stack.enter_context(bars())
            driver.train(made, show)
            driver.evaluate(made, show)
    reporting.tell([study_result(made)], Store(_root(root)), conventions.named())


@app.command()
def train(study: Name, root: Root = "runs", set_: Sets = None) -> None:
    """Train every round that is not done."""
    from ticlm.platform.cli.console import bars
    from ticlm.platform.core.lease import lease
    from ticlm.platform.core.store import Store
    from ticlm.platform.run import driver

    made = _plan(study, root, set_)
    with lease(Store(_root(root)), f"train {made.study.name}"), bars() as show:
        driver.train(made, show)


@app.command("eval")
def eval_(
    name: Annotated[
        str,
        typer.Argument(metavar="STUDY|MODEL", help="A study; or with --tasks a model: a folder, a URI, a round's id."),
    ],
    root: Root = "runs",
    set_: Sets = None,
    tasks: Annotated[
        str | None, typer.Option("--tasks", metavar="FILE", help="What to ask a model: a YAML file, a URI, or `core`.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a model's scores as JSON.")] = False,
) -> None:
    """Score every cell of a study that has no value yet, or any causal model folder without a study."""
    from ticlm.platform.cli.console import bars
    from ticlm.platform.core.lease import lease
    from ticlm.platform.core.store import Store
    from ticlm.platform.run import driver

    if tasks is not None:
        _score(name, tasks, root, set_, as_json)
        return
    if (Path(name).expanduser() / "config.json").is_file():
        raise InputError(f"{name} is a model folder: say what to ask it with --tasks FILE")
    made = _plan(name, root, set_)
    if made.corpus is None:
        raise InputError(f"corpus {made.study.corpus}: not there; build it with: ticlm data build RECIPE")
    with lease(Store(_root(root)), f"eval {made.study.name}"), bars() as show:
        driver.evaluate(made, show)


def _score(name: str, tasks: str, root: str, sets: list[str] | None, as_json: bool) -> None:
    from ticlm.platform.cli.console import bars, console
    from ticlm.platform.core import settings
    from ticlm.platform.core.lease import lease
    from ticlm.platform.core.progress import SILENT
    from ticlm.platform.core.store import Store
    from ticlm.platform.eval import folder

    asked = folder.unit(Store(_root(root)), name, settings.load(folder.Scoring, tasks, folder.FOLDER, sets or ()))
    with lease(Store(_root(root)), f"eval {name}"), bars() as show:
        folder.run(asked, SILENT if as_json else show)
    rows = folder.scores(asked)
    print(folder.as_json(asked, rows)) if as_json else console().print(folder.table(rows))


@app.command()
def report(
    studies: Annotated[list[str] | None, typer.Argument(metavar="[STUDY…]", help="Any number of studies.")] = None,
    root: Root = "runs",
    set_: Sets = None,
    imports: Annotated[
        list[str] | None,
        typer.Option("--import", metavar="PATH", help="Evaluation files as published with TiC-LM: a folder or a URI."),
    ] = None,
    preset: Annotated[
        str, typer.Option(help="Which cells count, and as what: paper, paper-1b, a YAML file or a URI.")
    ] = "paper",
    names: Annotated[
        list[str] | None,
        typer.Option("--as", metavar="TASK=NAME", help="Show a study's task in the column of another; TASK:SOURCE=…"),
    ] = None,
    as_json: Json = False,
) -> None:
    """The table and the page of studies, published evaluations, or both side by side."""
    from ticlm.platform.analysis import conventions, published, published_oracles
    from ticlm.platform.analysis.borrowed_reference import beside, renamed
    from ticlm.platform.analysis.collect import study_result
    from ticlm.platform.cli import report as reporting
    from ticlm.platform.core.store import Store

    if not studies and not imports:
        raise InputError("report: name a STUDY, or published evaluations with --import PATH")
    chosen = conventions.named(preset)
    others = published_oracles.studies(published.read(imports)) if imports else ()
    mine = renamed([study_result(_plan(name, root, set_)) for name in studies or ()], names or (), others)
    results = [*(beside(study, others) for study in mine), *others]
    reporting.tell(results, Store(_root(root)), chosen, as_json)


@app.command()
def tune(
    space: Annotated[
        str, typer.Argument(metavar="SPACE", help="A packaged space, a .py file, or with --values a method's name.")
    ],
    study: Name,
    root: Root = "runs",
    set_: Sets = None,
    values: Annotated[
        list[str] | None, typer.Option("--values", metavar="PATH=V1,V2…", help="A grid of the method's settings.")
    ] = None,
    algorithm: Annotated[
        str | None, typer.Option("--search", help="grid, random or optuna; by default what the space is made for.")
    ] = None,
    scheduler: Annotated[str, typer.Option(help="fifo; or asha, which stops trials that fall behind.")] = "fifo",
    trials: Annotated[int | None, typer.Option(help="How many to try; by default all points of a grid, or 16.")] = None,
    seed: Annotated[int, typer.Option(help="Of what random and optuna draw.")] = 0,
    reference: Annotated[str, typer.Option(help="raw losses, or regret against an oracle of the last period.")] = "raw",
    all_periods: Annotated[
        str, typer.Option(help="Then try on all periods: none, chosen, ends (the worst too) or every one.")
    ] = "chosen",
    as_json: Json = False,
) -> None:
    """Search a method's settings on a study's first periods, choose by a rule, and try the choice on all periods."""
    from ticlm.platform.cli import tune
    from ticlm.platform.cli.console import bars
    from ticlm.platform.core.lease import lease
    from ticlm.platform.core.progress import SILENT
    from ticlm.platform.core.store import Store
    from ticlm.platform.run import driver
    from ticlm.platform.study import plan as plans
    from ticlm.platform.tuning import outcome, search

    asked = {"scheduler": scheduler, "trials": trials, "seed": seed, "reference": reference, "all_periods": all_periods}
    tuning = search.load(space, study, set_ or (), values or (), asked | {"algorithm": algorithm})
    made = plans.make(tuning.seen(()), _root(root))
    with (
        lease(Store(_root(root)), f"tune {tuning.study.name}"),
        bars() as show,
        driver.connected(made, dashboard=True) as dashboard,
    ):
        found = outcome.make(tuning, _root(root), SILENT if as_json else show, dashboard)
    print(outcome.as_json(found)) if as_json else tune.tell(found)


@app.command()
def choose(
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="A CSV file: setting,backward,in_distribution,forward…")
    ],
    as_json: Json = False,
) -> None:
    """Apply the rule of `ticlm tune` to a table: of its own trials.csv, or of numbers printed elsewhere."""
    import json

    from ticlm.platform.cli.console import console, say
    from ticlm.platform.tuning import selection
    from ticlm.platform.tuning import table as trialtable

    trials = trialtable.read(table)
    if as_json:
        print(json.dumps(trialtable.as_json(trials), indent=1))
        return
    console().print(trialtable.table(trials, table, "on the periods of tuning", "on all periods"))
    for line in selection.describe(trials):
        say(line)


@app.command()
def submit(
    study: Name,
    root: Annotated[
        str | None,
        typer.Option("--root", envvar="TICLM_ROOT", help="An absolute path that all nodes share, or a URI."),
    ] = None,
    set_: Sets = None,
    address: Annotated[
        str | None,
        typer.Option(
            envvar=["RAY_API_SERVER_ADDRESS", "RAY_ADDRESS"], help="The cluster's dashboard: http://HEAD:8265"
        ),
    ] = None,
    command: Annotated[str, typer.Option(help="What to do: run, train, eval, report, or tune and a SPACE.")] = "run",
    env: Annotated[
        list[str] | None,
        typer.Option("--env", metavar="NAME[=VALUE]", help="A variable for the job; whoever sees the job sees it."),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Follow the job to its end.")] = True,
    installed: Annotated[bool, typer.Option("--installed", help="The nodes have ticlm: do not send it.")] = False,
    python: Annotated[str, typer.Option(help="The interpreter on the nodes.")] = "python",
    module: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="More Python code to send; that of classes the study names goes along."),
    ] = None,
) -> None:
    """Run a study on a Ray cluster, as a job; follow its log, and end as it ends."""
    from ticlm.platform.cluster import jobs

    job = jobs.job(study, root, set_ or (), command, env or (), installed, python, module or ())
    client, name = jobs.submit(job, address, lambda line: print(line, flush=True))
    if wait:
        raise typer.Exit(jobs.follow(client, name))


@app.command()
def clean(
    studies: Names,
    root: Root = "runs",
    remove: Annotated[bool, typer.Option("--remove", help="Really remove; without it, only list.")] = False,
) -> None:
    """List (and with --remove, delete) finished rounds, cells and leftovers that none of these studies uses."""
    from ticlm.platform.cli.console import console
    from ticlm.platform.core.lease import lease
    from ticlm.platform.core.store import Store
    from ticlm.platform.run import cleanup

    plans = [_plan(name, root, None) for name in studies]
    store = Store(_root(root))
    with lease(store, "clean"):
        unused = cleanup.unused(store, plans)
        for path, size in unused:
            console().print(f"{size:>15,}  {path}")
            if remove:
                store.remove(path)
    total = sum(size for _, size in unused)
    what = "removed" if remove else "not used by " + ", ".join(p.study.name for p in plans) + "; --remove deletes them"
    console().print(f"{len(unused)} folders, {total:,} bytes: {what}")


@app.command()
def check(root: Annotated[str, typer.Argument(metavar="ROOT")]) -> None:
    """Verify every record of a root against the bytes it names."""
    from ticlm.platform.cli.console import console
    from ticlm.platform.core.store import Store
    from ticlm.platform.run import cleanup

    store = Store(_root(root))
    if not store.exists():
        raise InputError(f"root {root}: there is nothing")
    records, problems = cleanup.check(store)
    for problem in problems:
        console().print(problem)
    console().print(f"{records} records, {len(problems)} problems")
    if problems:
        raise typer.Exit(1)


@app.command()
def generate(
    checkpoint: Annotated[
        str, typer.Argument(metavar="CHECKPOINT", help="A model folder, or how a round's id begins.")
    ],
    prompt: str,
    root: Root = "runs",
    tokens: Annotated[int, typer.Option(help="How many to generate.")] = 60,
    temperature: Annotated[float, typer.Option(help="0: always the likeliest.")] = 0.0,
    seed: int = 0,
) -> None:
    """Let a model go on from a prompt."""
    from ticlm.platform.eval import sample

    print(sample.generate(_root(root), checkpoint, prompt, tokens, temperature, seed))


def _plan(study: str, root: str, sets: list[str] | None) -> Plan:
    from ticlm.platform.study import plan
    from ticlm.platform.study import settings as studies

    return plan.make(studies.load(study, sets or ()), _root(root))


def _missing_recipe(made: Plan) -> str | None:
    """The packaged recipe that can build what the study's corpus lacks, if there is one."""
    from ticlm.platform.core import settings
    from ticlm.platform.study import plan

    name = made.study.corpus.partition("@")[0]
    return name if plan.missing_periods(made) and name in settings.packaged("datasets/recipes") else None


def _build(recipe: str, root: str, sets: list[str] | None = None) -> Corpus | Examples:
    from ticlm.datasets.corpus import build
    from ticlm.datasets.corpus.recipe import FOLDER, CorpusRecipe
    from ticlm.datasets.evalsets import recipe as benchmark
    from ticlm.datasets.evalsets.recipe import ExampleSetRecipe
    from ticlm.platform.cli.console import say
    from ticlm.platform.core import settings

    if settings.names(recipe, FOLDER, "examples"):
        return benchmark.build(settings.load(ExampleSetRecipe, recipe, FOLDER, sets or ()), _root(root), say)
    return build.build(settings.load(CorpusRecipe, recipe, FOLDER, sets or ()), _root(root), say)


def _units(made: Plan) -> list[CheckpointWork]:
    from ticlm.platform.eval import cells

    return cells.units(made) if made.corpus is not None else []


def _root(root: str) -> str:
    """An absolute root; a relative one inside a Ray job would vanish with the job's working directory."""
    if "://" in root:
        return root
    path = Path(root).expanduser()
    if not path.is_absolute() and os.environ.get("RAY_JOB_CONFIG_JSON_ENV_VAR"):
        raise InputError(f"root {root} is relative, inside a Ray job: give --root an absolute path or a URI")
    return str(path.resolve())


def main() -> None:
    """Entry point."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    ended(lambda: app(standalone_mode=False))


if __name__ == "__main__":
    main()
