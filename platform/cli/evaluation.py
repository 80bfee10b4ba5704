"""`ticlm eval` and `generate`: score the cells of a study or a model folder, and let a model write text."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ticlm.core.errors import InputError
from ticlm.core.quantities import one_line
from ticlm.platform.cli import completion
from ticlm.platform.cli.options import Root, Sets, absolute, plan_of, stored

if TYPE_CHECKING:
    from ticlm.platform.eval.model_folder import StudyModel
    from ticlm.platform.study.plan import Plan

Modules = Annotated[
    list[str] | None,
    typer.Option("--module", metavar="MODULE", help="Import a module of yours, for adapters of the model; repeatable."),
]

Trust = Annotated[
    str | None,
    typer.Option("--trust-remote-code", metavar="COMMIT", help="Run the code that a model on the hub has at a commit."),
]


LOWEST_TEMPERATURE = 0.0001
"""Logits are divided by it: below, those of float32 may be infinite, and probabilities are not numbers."""
PROMPT = 100
"""Characters of a prompt above a table."""


Names = Annotated[
    list[str],
    typer.Argument(
        metavar="STUDY|MODEL…",
        help="A study; with --tasks or --texts, models: folders, URIs, STUDY/METHOD@PERIOD, ids of rounds, ORG/NAME.",
        autocompletion=completion.models,
    ),
]
Tasks = Annotated[
    str | None,
    typer.Option("--tasks", metavar="FILE", help="Score models on these tasks: a YAML file, a URI, or `core`."),
]
Texts = Annotated[
    list[str] | None,
    typer.Option("--texts", metavar="FILES|FOLDER", help="Score models on dated texts, by period; repeatable."),
]
Step = Annotated[str, typer.Option("--step", metavar="month|quarter|year", help="With --texts: length of a period.")]
Limit = Annotated[int, typer.Option("--limit", min=1, help="With --texts: most texts of a period, a seeded sample.")]
AsJson = Annotated[bool, typer.Option("--json", help="Of models, print the scores as JSON.")]
By = Annotated[str, typer.Option("--by", metavar="period|source", help="Of models: `source` shows sources of text.")]
Csv = Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Of models: also write every score here.")]
Page = Annotated[
    Path | None,
    typer.Option("--page", metavar="FILE", help="Of models: write the page here, not into reports/ of the root."),
]
Again = Annotated[
    str | None,
    typer.Option(
        "--again", metavar="METHOD@PERIOD", help="Score a checkpoint of the study again, beside what is kept."
    ),
]
On = Annotated[str | None, typer.Option("--on", metavar="PERIOD", help="With --again: only on this period.")]
Task = Annotated[str | None, typer.Option("--task", metavar="TASK", help="With --again: only by this task.")]
Seed = Annotated[int | None, typer.Option("--seed", help="With --again: the run of this seed.")]


def evaluate(
    names: Names,
    root: Root = "runs",
    set_: Sets = None,
    tasks: Tasks = None,
    texts: Texts = None,
    step: Step = "month",
    limit: Limit = 100,
    by: By = "period",
    as_json: AsJson = False,
    csv: Csv = None,
    page: Page = None,
    modules: Modules = None,
    trust: Trust = None,
    again: Again = None,
    on: On = None,
    task: Task = None,
    seed: Seed = None,
) -> None:
    """Score the cells of a study that have no value yet; with --tasks or --texts, score models without a study.

    Several models are compared with the first one, period by period, in the terminal and on a page. With --again, score
    cells that have a value once more, show both, and keep everything as it is.
    """
    import_modules(modules, trust)
    if tasks is not None or texts:
        from ticlm.platform.cli.models import scores

        if again is not None:
            raise InputError("--again scores a checkpoint by its study's tasks: leave out --tasks and --texts")
        asked = scores.ScoresAsked(tasks, tuple(texts or ()), step, limit, by, as_json, csv, page)
        scores.score(names, asked, root, set_ or ())
        return
    if by != "period" or csv is not None or page is not None:
        raise InputError(
            "--by, --csv and --page show the scores of models: give --tasks FILE or --texts FILES too; a study has "
            "ticlm report"
        )
    _check_study(names)
    made = plan_of(names[0], root, set_)
    if made.corpus is None:
        from ticlm.core.settings import build_command

        raise InputError(f"corpus {made.study.corpus}: not there; build it with: {build_command(made.study.corpus)}")
    if again is not None:
        _score_again(made, again, on, task, seed)
        return
    if not (on is None and task is None and seed is None):
        raise InputError("--on, --task and --seed say what to score again: give --again METHOD@PERIOD too")
    _score_study(made)


def _check_study(names: Sequence[str]) -> None:
    """Raise InputError if these names are those of models, which need to be told what to ask."""
    ask = "say what to ask with --tasks FILE or --texts FILES"
    if folder := next((name for name in names if (Path(name).expanduser() / "config.json").is_file()), None):
        raise InputError(f"{folder} is a model folder: {ask}")
    if len(names) > 1:
        raise InputError(f"{len(names)} names: ticlm eval scores one study at a time; of models, {ask}")


def _score_study(made: Plan) -> None:
    from ticlm.core.lease import lease
    from ticlm.platform.cli.console import bars
    from ticlm.platform.cli.study import cells_to_score, connect
    from ticlm.platform.run import driver

    with ExitStack() as stack:
        stack.enter_context(lease(stored(made), f"eval {made.study.name}"))
        left = cells_to_score(made)
        if left.units:
            connect(stack, made)
        driver.evaluate(made, stack.enter_context(bars()), left)


def _score_again(made: Plan, checkpoint: str, on: str | None, task: str | None, seed: int | None) -> None:
    from ticlm.platform.cli.console import bars, console
    from ticlm.platform.eval import again

    asked = again.works(made, checkpoint, on, task, seed)
    with bars() as show:
        rows = again.score_again(stored(made), asked, show)
    console().print(again.table(rows))


def import_modules(modules: list[str] | None, commit: str | None) -> None:
    """Import modules of the user's own, and trust a commit of the hub."""
    from ticlm.core import extensions, hub

    if commit is not None:
        hub.trust(commit)
    for name in modules or ():
        extensions.module_at(name)


def generate(
    checkpoint: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="STUDY/METHOD@PERIOD, with * for several models; a model folder; a round's id; ORG/NAME on the hub.",
            autocompletion=completion.models,
        ),
    ],
    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help="The text that the model continues.")],
    root: Root = "runs",
    tokens: Annotated[int, typer.Option(min=1, help="Generate this many tokens.")] = 60,
    temperature: Annotated[float, typer.Option(help="0 always takes the most likely token.")] = 0.0,
    seed: Annotated[int, typer.Option(help="The seed of the sampling.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the texts as JSON.")] = False,
    modules: Modules = None,
    trust: Trust = None,
) -> None:
    """Let a model continue a prompt, or several models the same one.

    Without @PERIOD it is the newest model of the method; #SEED chooses among several seeds. With `*` in METHOD or
    PERIOD, as in 'demo/*@2023*', the finished models that fit are asked one after another, and a table shows what each
    writes.
    """
    import_modules(modules, trust)
    from ticlm.platform.cli.console import say
    from ticlm.platform.eval import model_folder, sample

    if not (temperature == 0 or LOWEST_TEMPERATURE <= temperature < math.inf):
        raise InputError(
            f"--temperature must be at least 0 and finite: 0, or from {LOWEST_TEMPERATURE} on; got {temperature}"
        )
    if not -(2**63) <= seed < 2**63:
        raise InputError(f"--seed must fit 64 bits, got {seed}")
    sample.check_prompt(prompt)
    found = model_folder.matching(absolute(root), checkpoint)
    if found is not None:
        _generate_each(*found, prompt, (tokens, temperature, seed), as_json)
        return
    written = sample.generate(absolute(root), checkpoint, prompt, tokens, temperature, seed)
    if as_json:
        print(json.dumps([{"model": checkpoint, "prompt": prompt, "text": written}], indent=2, ensure_ascii=False))
        return
    say(written)


def _generate_each(
    models: Sequence[StudyModel], waiting: int, prompt: str, how: tuple[int, float, int], as_json: bool
) -> None:
    """Print what each of several models writes after a prompt, as a table or as JSON."""
    from ticlm.core.progress import SILENT
    from ticlm.platform.cli.console import bars, console, say
    from ticlm.platform.display.says import by_model
    from ticlm.platform.display.text_tables import terminal
    from ticlm.platform.eval import sample

    with bars() as show:
        texts = sample.continuations(models, prompt, *how, show if console().is_terminal and not as_json else SILENT)
    if as_json:
        keys = "study", "method", "seed", "period", "round"
        rows = [
            {key: getattr(one, key) for key in keys} | {"prompt": prompt, "text": text}
            for one, text in zip(models, texts, strict=True)
        ]
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    several = len({(one.method, one.seed) for one in models}) > len({one.method for one in models})
    named = [(f"{one.method}#{one.seed}" if several else one.method, one.period) for one in models]
    console().print(terminal(by_model(one_line(prompt, PROMPT), named, texts)))
    if waiting:
        say(f"{waiting} more that fit {'is' if waiting == 1 else 'are'} not trained yet")
