"""A study that goes on with a model which exists already: what is known of the model, and the sizes that fit it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from datetime import date
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from ticlm.core import hub
from ticlm.core.errors import InputError
from ticlm.core.periods import span
from ticlm.core.store import Store
from ticlm.platform.models import folder_files
from ticlm.platform.proposal import sizing
from ticlm.platform.proposal.periods import ChosenPeriods
from ticlm.platform.proposal.sizing import Sizes
from ticlm.platform.proposal.speed import Pace

LENGTH = 256
"""Tokens of a row: real models use more context than the small ones that are trained from nothing."""
BATCH_ROWS = 4
"""Rows of a step: updates are short, and many small steps say more than few large ones."""
EPOCHS = (2.0, 1.0, 0.5)
"""Passes over each period's text, the most first, until they fit into the minutes."""
FEWER_EPOCHS = (0.25, 0.1, 0.05)
"""The same where time is short, with the fewest methods."""
CONTROL = "old-text-only"
WANTED = ("cyclic-cosine", "replay-half", "anchor", "ema", CONTROL, "lora", "replay-self")
"""Methods; the last is the first one to be left out for want of minutes. Averages cost next to nothing."""
PLANS = ((WANTED, True), *((WANTED[:count], False) for count in (7, 6, 5, 3)))
"""Methods, and whether facts are asked: the first that fits into the minutes is taken."""
SAMPLES = 128
"""Texts that the base writes: some 100 rows, by which .01 nats can be told from chance."""
LORA = 10
"""Times the rate of all weights that LoRA's few bear (Hu et al. 2022 and later practice: 1e-4 to 5e-4 beside 1e-5)."""


@dataclass(frozen=True)
class ExistingModel:
    """A causal model in a folder or on the hub. `as_of` is the last month whose text it may have seen."""

    path: str
    as_of: str
    parameters: int
    vocabulary: int
    window: int
    bytes_per_token: float
    is_chat: bool = False
    """Whether its tokenizer has a chat template, so that it was tuned to follow instructions."""

    @property
    def peak(self) -> float:
        """The rate at which models of this size are usually trained first (Kaplan et al. 2020, appendix D.6)."""
        return max(1e-4, 0.003239 - 0.0001395 * math.log(self.parameters))

    @property
    def after(self) -> date:
        """The first day after the last month that it may have seen."""
        return span(self.as_of)[1]


def check(model: str, as_of: str) -> None:
    """Raise InputError if one is given without the other, if the month is none, or if the folder has no model."""
    if model and not as_of:
        raise InputError(
            f"--model {model} needs --as-of YYYYMM, the last month whose text the model may have seen: a model that "
            "has seen a text already cannot show what an update with it is worth"
        )
    if as_of and not model:
        raise InputError("--as-of goes with --model FOLDER")
    if as_of and re.fullmatch(r"(19|20)\d\d(0[1-9]|1[0-2])", as_of) is None:
        raise InputError(f"--as-of must be a month such as 201712, got {as_of}")
    if model:
        folder_files.config(Store(hub.place(model)))


def existing(path: str, as_of: str, sample: list[str]) -> ExistingModel:
    """Return what is known of the model in a folder or on the hub, whose tokenizer is tried on texts.

    Raises InputError, in a line, if it is no causal model with a tokenizer.
    """
    from tokenizers import Tokenizer

    from ticlm.datasets.corpus.tokenizers import PretrainedTokenizer
    from ticlm.platform.models import build
    from ticlm.platform.models.settings import FolderModel

    path = hub.pinned(path)  # the study is to name the commit that was measured
    objective = folder_files.objective(Store(hub.place(path)))
    if objective.encoder_decoder:
        raise InputError(f"--model {path}: an encoder–decoder; only causal models can go on with texts here")
    with TemporaryDirectory(prefix="ticlm-init-") as folder:
        store = Store(folder)
        info = PretrainedTokenizer(name=path, as_of=as_of).save(store)
        files = {file.name: file for file in Path(folder).rglob("*") if file.is_file()}
        tokenizer = Tokenizer.from_file(str(files["tokenizer.json"]))
        is_chat = "chat_template.jinja" in files or b"chat_template" in files["tokenizer_config.json"].read_bytes()
    tokenizer.no_truncation()
    made = build.config(FolderModel(path=path, as_of=as_of), info.vocab_size)
    texts = sample[:200]
    tokens = sum(len(one.ids) for one in tokenizer.encode_batch(texts))
    window = next((int(found) for name in _WINDOWS if (found := getattr(made, name, None))), LENGTH)
    parameters = build.count_parameters(made, objective)
    size = sum(len(text.encode()) for text in texts) / max(1, tokens)
    return ExistingModel(path, as_of, parameters, made.vocab_size, window, size, is_chat)


TRAINING_BYTES = 16
"""Bytes for each parameter that is trained: its value, its gradient and AdamW's two moments, in float32."""
_WINDOWS = ("max_position_embeddings", "n_positions", "n_ctx")


def pace(model: ExistingModel) -> Pace:
    """Return the pace of this machine with the model, measured with random tokens. Raises InputError if its memory is
    too small to train all weights."""
    from ticlm.platform.models.settings import FolderModel
    from ticlm.platform.proposal import speed

    needed, there = TRAINING_BYTES * model.parameters, speed.memory()
    if needed > there:
        raise InputError(
            f"--model {model.path}: training all of its {model.parameters:,} parameters takes at least "
            f"{needed / 1e9:,.0f} GB of memory, and here are {there / 1e9:,.0f}; give a smaller model"
        )
    folder, rows = FolderModel(path=model.path, as_of=model.as_of), BATCH_ROWS
    seconds = speed.step_seconds(folder, model.vocabulary, rows, min(LENGTH, model.window))
    training, scoring = (one / model.parameters / rows for one in seconds)
    return Pace((0.0, training), (0.0, scoring))


def fitted(chosen: ChosenPeriods, minutes: float, cores: int, model: ExistingModel, speed: Pace) -> Sizes:
    """Return the sizes of a study that fits into the minutes. Raises InputError if updates would have too few steps."""
    ray = minutes >= sizing.RAY_FROM and cores > 1
    length = min(LENGTH, model.window)
    tokens = tuple(round(amount.bytes / model.bytes_per_token) for amount in chosen.amounts)
    first = int(as_of(chosen, model) in chosen.timeline.labels)
    later = sorted(tokens[first:])
    share = min(0.25, max(0.05, round(sizing.ROWS * length / max(1, later[len(later) // 2]), 2)))
    tune = max(0.02, round(share / 3, 2))
    clock = sizing.Clock.of(chosen, ray, cores, speed)
    common = (model, model.bytes_per_token, tokens, share, tune, 0, 0.0, 192, BATCH_ROWS, False, ray, clock)
    base = Sizes(*common, length=length, first=first)
    sizing.check_steps(replace(base, update_epochs=EPOCHS[0]), chosen)
    needed = 0.0
    for (methods, has_facts), epochs, rows in (
        *product(PLANS, EPOCHS, (192, 96, 48)),
        *product(PLANS[-1:], FEWER_EPOCHS, (192, 96, 48)),
    ):
        # Without a period that the model has seen, there is no old text that a control could learn from.
        fitting = tuple(name for name in methods if first or name != CONTROL)
        amounts = replace(base, update_epochs=epochs, max_rows=rows)
        sizes = replace(amounts, methods=fitting, has_facts=has_facts, samples=SAMPLES)
        if sizes.update_steps >= sizing.LEAST_STEPS:
            needed = sizes.minutes
            if needed <= minutes:
                return sizes
    raise InputError(f"--minutes {minutes:g}: the smallest study of this model takes about {needed * 1.1:.1f} here")


def as_of(chosen: ChosenPeriods, model: ExistingModel) -> str:
    """Return the period that stands for what the model has seen: the first one of the calendar if that ends with it,
    and not all of them do."""
    first, last = chosen.timeline.periods[0], chosen.timeline.periods[-1]
    return first.label if first.end <= model.after < last.end else model.as_of
