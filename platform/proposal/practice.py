"""The study and the samples of a proposal for a model that exists: what a practitioner would run to keep it up to date.

The base stands in the report as `frozen`. Rates are low, budgets those of `sizing`, and the rivals are the ways to keep
what a model knows without its pretraining data: replay of the stream's past, replay of its own samples, few weights
(LoRA), and averages with the base and over rounds, which cost no training token.
"""

from __future__ import annotations

from collections.abc import Sequence

from ticlm.platform.proposal.continued import CONTROL, LORA, ExistingModel, as_of
from ticlm.platform.proposal.periods import ChosenPeriods
from ticlm.platform.proposal.sizing import Sizes
from ticlm.platform.proposal.writing import budget, line, opening, plain, quoted, resources, said_prompts

USUAL_MEMORY = 4 << 30
"""Bytes that reading a record may take if a recipe says nothing."""
LOADED_BYTES = 8
"""Bytes for each parameter of a model that is read: in float32, beside the type in which it lies on the disk."""


def samples(name: str, version: int, command: str, chosen: ChosenPeriods, sizes: Sizes) -> str:
    """Return the recipe of a corpus of samples of the base, as YAML."""
    model = sizes.shape
    assert isinstance(model, ExistingModel)
    label, path = as_of(chosen, model), quoted(model.path)
    size = f"documents: {sizes.samples}, tokens: {sizes.length - 1}"
    lines = [
        f"# Texts that the base of `{name}.yaml` writes itself. Written by: {command}",
        "# They stand for what it was trained on, which is not here: what an update loses on them, it has forgotten.",
        f"name: {plain(samples_name(name))}",
        f"version: {version}",
        f"documents: {{kind: samples, model: {path}, as_of: {label}, {size}}}",
        f"periods: {{initial: {label}, last: {label}}}",
        "splits: {eval: 0.95, tune: 0, by: tokens}",
        f"tokenizer: {{kind: pretrained, name: {path}, as_of: {label}}}",
        f"length: {sizes.length}",
    ]
    if (needed := LOADED_BYTES * model.parameters) > USUAL_MEMORY / 2:
        lines.append(line(f"limits: {{record_memory: {USUAL_MEMORY + needed}}}", "the model lies in it"))
    return "\n".join(lines) + "\n"


def samples_name(name: str) -> str:
    """Return the name of the corpus of samples of a study."""
    return f"{name}-samples"


def study(
    name: str,
    corpora: Sequence[str],
    recipes: Sequence[str],
    command: str,
    chosen: ChosenPeriods,
    sizes: Sizes,
    minutes: float,
    prompts: Sequence[str],
) -> str:
    """Return the study, as YAML. `corpora` are the one to train on and that of the samples, `recipes` their files."""
    model = sizes.shape
    assert isinstance(model, ExistingModel)
    own = sizes.rates[0]
    held = f"{{kind: folder, path: {quoted(model.path)}, as_of: {as_of(chosen, model)}}}"
    schedule = f"schedule: {{max_rate: {own:g}, end_rate: {own / 10:.2g}, warmup_steps: {sizes.warmup}}}"
    lines = [
        *opening(name, corpora[0], recipes[0], command, chosen, sizes, minutes),
        line(f"recipes: [{plain(recipes[1])}]", "texts that the model writes itself"),
        line("periods: corpus", "as in the recipe"),
        line(f"model: {held}", f"{model.parameters:,} parameters; text up to as_of may be known to it"),
        line(f"batch_rows: {sizes.batch_rows}", f"the smallest update has about {sizes.update_steps:,.0f} steps then"),
        f"length: {sizes.length}",
        line("initial: {budget: 0}", "the model as it is; `frozen` on the page is this model"),
        budget(sizes),
        "each_method:",
        line(f"  {schedule}", "1/16 of the peak at which such models are trained first"),
        "methods:",
        *_methods(sizes, LORA * own),
        "# No Oracle: nobody can train this model from scratch in these minutes.",
        "evaluations:",
        line(f"  - {{kind: perplexity, max_rows: {sizes.max_rows}, keeps_losses: true}}", "rows of a period"),
        line(
            f"  - {{kind: perplexity-on, name: own-samples, corpus: {plain(corpora[1])}, keeps_losses: true}}",
            "what it forgot; add texts of your own that it must not forget in the same way",
        ),
        _facts(sizes),
        *said_prompts(prompts),
        line("tables: [{kind: kept}]", "what was gained and lost beside the base, on the page"),
        resources(sizes),
    ]
    return "\n".join(lines) + "\n"


def _methods(sizes: Sizes, lora: float) -> list[str]:
    """Return the lines of the methods that the minutes allow, and what is left out."""
    written = {
        "cyclic-cosine": ("cyclic-cosine", "each new period alone"),
        "replay-half": ("replay-half", "half of it is older text of the stream"),
        "anchor": (
            "{base: replay-half, name: replay-half+anchor, deploy: {kind: anchor, weight: 0.5}}",
            "its average with the base",
        ),
        "ema": (
            "{base: replay-half, name: replay-half+ema, deploy: {kind: ema, beta: 0.5}}",
            "its average over rounds",
        ),
        CONTROL: (
            f"{{base: cyclic-cosine, name: {CONTROL}, replay: {{kind: first}}}}",
            "the control: it learns the kind of text, and nothing new",
        ),
        "lora": (
            f"{{base: lora, adapter: {{rank: 8, per: run}}, schedule: {{max_rate: {lora:g}}}}}",
            "few weights, the others frozen; they bear ten times the rate",
        ),
        "replay-self": ("replay-self", "half of it is written by the model itself: no old text is kept"),
    }
    lines = [line(f"  - {text}", why) for name, (text, why) in written.items() if name in sizes.methods]
    left = [name for name in written if name not in sizes.methods and (sizes.first or name != CONTROL)]
    return [*lines, *([f"# Left out for want of minutes: {', '.join(left)}."] if left else [])]


def _facts(sizes: Sizes) -> str:
    facts = "{kind: dated-facts, name: facts, examples: world-facts, checkpoints: ends}"
    if sizes.has_facts:
        return line(f"  - {facts}", "facts that changed: kept, updated, and how far they reach")
    return f"# - {facts}: facts that changed; left out for want of minutes"
