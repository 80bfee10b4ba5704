"""The model card of a vintage: what it read, how it does, what it cost, what it does not promise, and how to check it.

Its numbers are those of the report: a card is one more renderer of the report's tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import yaml

from ticlm.platform.analysis.numbers import count
from ticlm.platform.display.markdown import markdown
from ticlm.platform.display.text_tables import TextCell, TextLine, TextTable
from ticlm.platform.publish.certificate import VintageCertificate
from ticlm.platform.publish.places.place import HUB
from ticlm.platform.report.report import Report
from ticlm.platform.report.write import summary_tables

if TYPE_CHECKING:
    import pandas as pd

READ_SHOWN = 24
"""Most periods that the table of what was read lists one by one; the certificate has all."""
SECTIONS = ("leak",)
"""Sections of the report that stand on the card as they are."""


def card(about: VintageCertificate, report: Report, address: str, base: str) -> str:
    """Return README.md of a vintage: front matter as hubs read it, and the text. `address` names the vintage to whoever
    loads it, `base` the model that it was trained on from."""
    month = about.cutoff[:7]
    head: dict[str, Any] = {
        "library_name": "transformers",
        "pipeline_tag": "text-generation",
        "license": about.licence or "unknown",
        "tags": ["ticlm", "vintage", f"knowledge-cutoff:{month}"],
    }
    if about.place.startswith(HUB) and base:  # a folder of this machine is no model that a hub could show
        head |= {"base_model": base, "base_model_relation": "finetune"}
    if about.inputs.startswith(HUB):
        head["datasets"] = [about.inputs.removeprefix(HUB)]
    front = yaml.safe_dump(head, sort_keys=False, allow_unicode=True)
    return f"---\n{front}---\n\n" + "\n\n".join(_paragraphs(about, report, address, base)) + "\n"


def _paragraphs(about: VintageCertificate, report: Report, address: str, base: str) -> Iterator[str]:
    yield f"# {about.study}, {about.method}: vintage {about.vintage}"
    start = "It goes on from a model from outside (below), whose date nothing here confirms. " if about.models else ""
    yield (
        f"A language model that was trained on text dated up to {about.cutoff}, and on no text that is dated later. "
        f"{start}What it read, and how that was dated, is in `vintage/certificate.json`."
    )
    yield "## Check it"
    again = " --replay 1" if about.inputs else ""
    yield (
        f"```\npip install 'ticlm[vintages]'\nticlm verify {address}{again}\n```\n\nThis compares every file with the "
        "certificate, and the certificate with itself"
        + ("; then it trains its last round again and compares the weights bit by bit." if again else ".")
        + " If it is signed, add `--public-key FILE`, with a key that you have from elsewhere."
    )
    yield "## What it read"
    yield markdown(_read(about))
    outside = [f"- {one.what}" + (f", as of {one.as_of}" if one.as_of else "") for one in about.outside]
    yield "From outside the timeline, as declared:\n\n" + ("\n".join(outside) or "- nothing")
    if base:
        yield f"It was trained on from `{base}`."
    yield "## How it does"
    yield from _results(about, report)
    yield "## What it cost"
    yield _cost(about, report)
    yield "## What is not promised"
    yield "\n".join(f"- {line}" for line in limits(about))


def limits(about: VintageCertificate) -> list[str]:
    """Return what a certificate cannot say, a sentence each."""
    rules = list(dict.fromkeys(one.dating for corpus in about.corpora for one in corpus.periods if one.dating))
    lines = [f"Text is dated by {rule}: a document with a wrong date is read too early." for rule in rules]
    if not rules:
        lines.append("How text was dated is not recorded: an older release built the corpus.")
    if about.outside:
        lines.append("What came from outside has the date that was declared, which nothing here confirms.")
    if about.own_code:
        lines.append(f"It was made by code of its publisher's own ({', '.join(about.own_code)}), which others lack.")
    if not about.inputs:
        lines.append("Its inputs are not published: its rounds cannot be run again by others.")
    if not about.leak_tests:
        lines.append("It was not asked about facts that changed after its date.")
    lines.append("Scores on later text were computed afterwards; they, and this card, are the words of its publisher.")
    lines.append("How the settings of the training were chosen is not stated: maybe with later text in sight.")
    lines.append("A model may be wrong, and repeats what stood in its text.")
    return lines


def _read(about: VintageCertificate) -> TextTable:
    """Return the table of the periods that a vintage read, the newest last."""
    rows = []
    for corpus in about.corpora:
        own = [one for one in corpus.periods if f"{corpus.id}/{one.label}/train" in _read_sources(about)]
        for one in own[-READ_SHOWN:]:
            newest = max(one.newest.values(), default="")[:10] or "not recorded"
            found = about.lint.get(one.label)
            lint = f"{found.flagged} of {found.texts}" if found else "–"
            cells = (count(one.tokens), f"{one.documents:,}", one.last_day, newest, lint)
            rows.append(TextLine((one.label,), tuple(map(TextCell, cells))))
        if len(own) > READ_SHOWN:
            rows.insert(0, TextLine((f"{len(own) - READ_SHOWN} periods before",), (TextCell("…"),) * 5))
    columns = ("tokens", "documents", "last day", "newest document", "pieces that look later")
    notes = (
        "Tokens are those of the period's training rows, of which a round draws a part. Days end at midnight, UTC. "
        "What looks later is counted in the vintage of its own period.",
    )
    return TextTable("", ("Period",), columns, tuple(rows), notes)


def _read_sources(about: VintageCertificate) -> set[str]:
    return {source for one in about.rounds for source in one.reads}


def _results(about: VintageCertificate, report: Report) -> Iterator[str]:
    """Yield the tables of a vintage's own scores, of its method beside the others, and of how it ages."""
    for study in report.results:
        cells = study.cells
        own = cells[(cells["method"] == about.method) & (cells["seed"] == about.seed) & (cells["source"] == "")]
        own = own[own["trained"] == about.vintage]
        for task, of in own.groupby("task", sort=False):
            metric = study.metric(str(task)).name
            of = of[of["metric"] == metric]
            if len(of):
                yield markdown(_scores(f"{task}: {metric} by period", of))
    if report.trained:
        yield "Its method beside the others of the study, over all checkpoints that were scored:"
        yield from map(markdown, summary_tables(report.summary, results=report.results))
    ages = next((part.frames["ages"] for part in report.parts if "ages" in part.frames), None)
    if ages is not None and len(ages) and (of := ages[ages["method"] == about.method]).size:
        yield markdown(_by_age(of))
    for section in (one for one in report.sections if one.id in SECTIONS):
        yield f"### {section.title}"
        yield from section.notes
        yield from map(markdown, section.tables)


def _scores(title: str, rows: pd.DataFrame) -> TextTable:
    lines = [
        TextLine((str(label),), (TextCell(f"{value:.3f}"), TextCell(f"{error:.3f}")))
        for label, value, error in zip(rows["evaluated"], rows["value"], rows["stderr"])
    ]
    return TextTable(title, ("Period",), ("value", "standard error"), tuple(lines))


def _by_age(rows: pd.DataFrame) -> TextTable:
    lines = [
        TextLine((f"{age:+d} {unit}", str(task)), (TextCell(f"{value:.3f}"), TextCell(str(cells))))
        for age, unit, task, value, cells in zip(rows["age"], rows["unit"], rows["task"], rows["value"], rows["cells"])
    ]
    title = (
        "By age: the period that is scored, less the last one that was trained on; mean over the method's checkpoints"
    )
    return TextTable(title, ("Age", "Task"), ("value", "cells"), tuple(lines))


def _cost(about: VintageCertificate, report: Report) -> str:
    steps, tokens = (sum(getattr(one, name) for one in about.rounds) for name in ("steps", "tokens"))
    told = f"{len(about.rounds)} rounds, {steps:,} steps, {count(tokens)} tokens"
    for study in report.results:
        costs = study.costs
        if len(costs):
            is_own = (costs["method"] == about.method) & (costs["seed"] == about.seed)
            own = costs[is_own & (costs["trained"] == about.vintage)]
            told += f", {own['flops'].iloc[0]:.2e} FLOPs" if len(own) else ""
    machines = dict.fromkeys(one.made_by.processor for one in about.rounds)
    named = ", ".join(filter(None, machines))
    return f"{told}" + (f", on {named}." if named else ".")


def evaluation_results(about: VintageCertificate, report: Report, dataset: str, day: str) -> list[dict[str, Any]]:
    """Return the scores of a vintage as hubs read them from `.eval_results`: an entry for each task and period."""
    return [
        {"dataset": {"id": dataset, "task_id": f"{task}/{label}"}, "value": round(float(value), 6), "date": day}
        | {"notes": metric}
        for study in report.results
        for task, label, value, metric in _own_cells(about, study)
    ]


def _own_cells(about: VintageCertificate, study: Any) -> Iterator[tuple[str, str, float, str]]:
    cells = study.cells
    own = cells[(cells["method"] == about.method) & (cells["seed"] == about.seed) & (cells["trained"] == about.vintage)]
    for task, label, source, metric, value in zip(
        *(own[name] for name in ("task", "evaluated", "source", "metric", "value"))
    ):
        if not source and metric == study.metric(str(task)).name:
            yield str(task), str(label), value, str(metric)
