"""What a study costs before it is trained: the size of its model, FLOPs, GPU-hours and bytes.

Nothing here reads a root, so all of it is known before there is a corpus, if the model's vocabulary is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ticlm.core import settings
from ticlm.core.errors import InputError
from ticlm.platform.models import memory
from ticlm.platform.models.presets import ModelSize, own_vocabulary, preset_size
from ticlm.platform.study.adapted import AdaptedWeights, WeightsOf
from ticlm.platform.study.round import Round, RoundRecipe
from ticlm.platform.study.settings import EverySteps, Study
from ticlm.platform.tasks.cells.cell import Compute

if TYPE_CHECKING:
    from ticlm.core.corpus import Corpus

BYTES_PER_WEIGHT = 4
"""Weights are kept and published in float32."""

CHECKPOINTS = 3
"""Mid-round checkpoints of a chain at the fullest moment: two are kept while the next one is written."""

PEAKS: Mapping[str, Mapping[Compute, float]] = {
    "a100": {"bfloat16": 312e12, "tf32": 156e12, "float32": 19.5e12},  # NVIDIA A100 80GB data sheet, 2021
    "h100": {"bfloat16": 989e12, "tf32": 495e12, "float32": 67e12},  # NVIDIA H100 data sheet, SXM, 2023
    "h200": {"bfloat16": 989e12, "tf32": 495e12, "float32": 67e12},  # NVIDIA H200 data sheet, SXM, 2024
    "b200": {"bfloat16": 2250e12, "tf32": 1125e12, "float32": 80e12},  # NVIDIA Blackwell brief, HGX B200, 2024
    "l4": {"bfloat16": 121e12, "tf32": 60e12, "float32": 30.3e12},  # NVIDIA L4 data sheet, 2023
    "l40s": {"bfloat16": 362e12, "tf32": 183e12, "float32": 91.6e12},  # NVIDIA L40S data sheet, 2023
    "mi300x": {"bfloat16": 1307e12, "tf32": 654e12, "float32": 163e12},  # AMD Instinct MI300X data sheet, 2023
}
"""Peak FLOP/s of a GPU for dense matrices, by number type; data sheets that give it with sparsity give twice of it."""

MEMORY = {
    "a100": 80 * 10**9,  # from the same papers
    "h100": 80 * 10**9,
    "h200": 141 * 10**9,
    "b200": 180 * 10**9,
    "l4": 24 * 10**9,
    "l40s": 48 * 10**9,
    "mi300x": 192 * 10**9,
}
"""Bytes of memory of a GPU."""

UTILISATION = 0.35
"""Share of the peak that training reaches, counting 6N FLOPs per token. TiC-LM's 1,500 H100-hours for the 220B tokens
of a continual run at 3B are 20,711 tokens per second and GPU, which is 35.1 % (39.3 % with attention)."""

SCORING: Mapping[Compute, float] = {"bfloat16": 0.5, "tf32": 0.6, "float32": 0.75}
"""Share of the peak that scoring reaches, counting 2N FLOPs per token. Assumed from the rates of kernels for matrices,
not measured: on an H100 about 50 TFLOP/s in float32, 300 in TF32 and 490 in bfloat16."""

LOWEST_UTILISATION = 1e-6
HIGHEST_PRICE = 1_000_000
"""Beyond these a number was mistyped, and hours or money would not be finite."""


@dataclass(frozen=True)
class Machine:
    """GPUs that a plan is priced on. There is no default price, because prices differ by more than any default would
    tell."""

    gpu: str = "h100"
    utilisation: float = UTILISATION
    price: float | None = None

    def __post_init__(self) -> None:
        if self.gpu not in PEAKS:
            raise InputError(f"--gpu: no peak of {self.gpu!r} is known; known are {', '.join(PEAKS)}")
        if not LOWEST_UTILISATION <= self.utilisation <= 1:
            raise InputError(f"--utilisation must be from {LOWEST_UTILISATION} to 1, got {self.utilisation}")
        if self.price is not None and not 0 <= self.price <= HIGHEST_PRICE:
            raise InputError(f"--price must be from 0 to {HIGHEST_PRICE:,}, got {self.price}")

    def flops_per_s(self, compute: Compute = "bfloat16") -> float:
        """Return the FLOP/s that one GPU reaches when it trains in this number type."""
        return self.utilisation * PEAKS[self.gpu][compute]

    def hours(self, flops: float, compute: Compute = "bfloat16") -> float:
        """Return the GPU-hours of training with so many FLOPs, counted as 6N per token."""
        return flops / self.flops_per_s(compute) / 3600

    def scoring_hours(self, flops: float, compute: Compute) -> float:
        """Return the GPU-hours of scoring with so many FLOPs, counted as 2N per token; `utilisation` is of training."""
        return flops / (SCORING[compute] * PEAKS[self.gpu][compute]) / 3600


@dataclass(frozen=True)
class Work:
    """The FLOPs of training: `flops` are 6N per token (fewer where weights are frozen: `flops_per_token`),
    `with_attention` adds attention (PaLM, appendix B), `added` are those of penalties, in units of 6N. `not_counted`
    names the penalties whose work is not known. `sampling` are the FLOPs of rows that models write, or score to choose
    among them: 2N per token, a forward pass (with cached keys and values)."""

    flops: float
    with_attention: float
    added: float
    not_counted: tuple[str, ...]
    sampling: float = 0.0


def forward_flops(parameters: int, tokens: int) -> float:
    """Return the FLOPs of reading so many tokens, or of sampling them: a third of those of training on them."""
    return 2.0 * parameters * tokens


def trained_flops(weights: AdaptedWeights) -> int:
    """Return the training FLOPs per token of a round with frozen weights, without attention."""
    return 2 * (weights.total + weights.passed + weights.trained)


def flops_per_token(size: ModelSize, length: int, weights: AdaptedWeights | None = None) -> tuple[int, int]:
    """Return the training FLOPs per token of a round, without and with attention; `weights` are None if it trains all.

    A forward pass takes 2 FLOPs per weight, a backward pass 2 per weight that gradients pass on their way down to the
    lowest trained one, and 2 per trained weight. Of the attention's, a third are the forward pass's.
    """
    if weights is None:
        return size.flops_per_token(length)
    plain = trained_flops(weights)
    return plain, plain + 4 * size.width * length * (size.layers + 2 * weights.layers)


def work(size: ModelSize, rounds: Collection[Round], length: int, weights_of: WeightsOf = lambda recipe: None) -> Work:
    """Return the FLOPs of training these rounds. Penalties are counted in the units of rows of `length`, as if nothing
    was frozen; attention by the rows of each round, as tuned copies may have shorter ones."""
    plain = size.flops_per_token(length)[0]
    tokens, added = Counter[tuple[int, AdaptedWeights | None]](), 0.0
    unknown: dict[str, None] = {}
    for spec in rounds:
        tokens[spec.recipe.length, weights_of(spec.recipe)] += spec.tokens
        for penalty in spec.recipe.penalties:
            share = penalty.added_work(spec.steps) if spec.steps else 0
            if share is None:
                unknown[type(penalty).__name__] = None
            else:
                added += share * spec.tokens * plain
    each = [(flops_per_token(size, *kind), count) for kind, count in tokens.items()]
    flops, attention = (sum(one[i] * count for one, count in each) for i in (0, 1))
    sampling = forward_flops(size.parameters, sum(spec.sampled_tokens for spec in rounds))
    return Work(flops, attention, added, tuple(unknown), sampling)


def published_bytes(parameters: int, models: int) -> int:
    """Return the bytes of the weights of so many published models."""
    return parameters * BYTES_PER_WEIGHT * models


def checkpoint_bytes(
    parameters: int,
    study: Study,
    rounds: Collection[Round],
    chains: int,
    copies: int,
    weights_of: WeightsOf = lambda recipe: None,
) -> int:
    """Return the bytes of mid-round checkpoints when there are most of them: of as many chains, and tuned copies, as
    train at the same time, each with the largest state of any of these rounds. Frozen weights are in none."""
    at_once = min(chains, study.resources.chains) + min(copies, study.resources.tuned_copies)

    def state(recipe: RoundRecipe) -> int:
        weights = weights_of(recipe)
        values = 1 + recipe.optimizer.moments + sum(penalty.saved_copies for penalty in recipe.penalties)
        return values * (parameters if weights is None else weights.trained)

    return BYTES_PER_WEIGHT * max((state(spec.recipe) for spec in rounds), default=0) * CHECKPOINTS * at_once


def memory_job(
    size: ModelSize,
    study: Study,
    rounds: Collection[Round],
    workers: tuple[int, int],
    weights_of: WeightsOf = lambda recipe: None,
) -> memory.Workload:
    """Return the job of one worker of a chain of these rounds, which has `workers` (min, max), at its fullest."""
    recipe, resources = max(rounds, key=lambda spec: spec.recipe.length).recipe, study.resources
    found = [weights_of(spec.recipe) for spec in rounds]
    adapted = [one for one in found if one is not None]
    is_whole = len(adapted) < len(found)
    return memory.Workload(
        size,
        recipe.precision,
        rows=min(recipe.batch_rows, resources.micro_rows(recipe.batch_rows, workers[1])),
        length=recipe.length,
        world=workers[0],
        trained=None if is_whole else max(one.trained for one in adapted),
        layers=None if is_whole else max(one.layers for one in adapted),
        frozen_layers=not is_whole and recipe.freezes_within_layers,
        copies=max(spec.recipe.held_copies for spec in rounds),
        moments=max(spec.recipe.optimizer.moments for spec in rounds),
        recompute=resources.recompute,
        compile=resources.compile is not False,  # on a GPU
        loss_in_parts=resources.compile is not False,
    )


def mid_round_models(study: Study, rounds: Collection[Round]) -> int | None:
    """Return how many models are published inside these rounds; None if only the corpus tells."""
    every = study.evaluate.inside
    if every is None:
        return 0
    if isinstance(every, EverySteps):
        return sum(len(range(every.every_steps, spec.steps, every.every_steps)) for spec in rounds)
    return None


def vocabulary(study: Study, corpus: Corpus | None) -> tuple[int, str] | None:
    """Return the number of tokens that a study's model knows at least, and where that is known from; None if it is not
    known yet."""
    if corpus is not None:
        return corpus.info.tokenizer.vocab_size, f"corpus {corpus.info.id}"
    own = own_vocabulary(study.model)
    if own is not None:
        return own, "the model's settings"
    name = study.corpus.partition("@")[0]
    if name not in settings.packaged(settings.RECIPES):
        return None
    taken = _told(name, "tokenizer", "name")  # that of another corpus, which may be packaged too
    other = taken.partition("@")[0] if isinstance(taken, str) else ""
    size = _whole(other if other in settings.packaged(settings.RECIPES) else name, "tokenizer", "vocab_size")
    return None if size is None else (size, f"recipe {name}")


def held_out_rows(study: Study) -> int | None:
    """Return the rows of each held-out set that the packaged recipe of a study's corpus makes; None if it gives no
    number."""
    name = study.corpus.partition("@")[0]
    return _whole(name, "held_out", "rows") if name in settings.packaged(settings.RECIPES) else None


def _whole(name: str, *keys: str) -> int | None:
    """Return a whole number of a packaged recipe; None if it says none."""
    found = _told(name, *keys)
    return found if type(found) is int else None


def _told(name: str, *keys: str) -> Any:
    """Return what a packaged recipe says under some keys, as it is written; None if it says nothing."""
    # Read as text: the settings of recipes load readers and filters, which takes longer than the rest of a plan.
    found: Any = settings.resolved(settings.Settings, name, settings.RECIPES)[0]
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def model_size(study: Study, vocab_size: int) -> ModelSize:
    """Return the size of a study's model. Presets are counted by formula, other models by building one without memory.

    Raises InputError if the model refuses its settings, or has too small a vocabulary.
    """
    found = None if study.objective.encoder_decoder else preset_size(study.model, vocab_size)
    if found is not None:
        return found
    from ticlm.platform.models import build

    return build.size(build.config(study.model, vocab_size), study.objective)
