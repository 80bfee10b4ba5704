"""A published model folder in memory: its module in the number type that it is scored in (float32, TF32 on GPUs that
have it, or bfloat16), its tokenizer, and the loss of its corpus's rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ticlm.core import hub
from ticlm.core.errors import InputError, in_one_line
from ticlm.methods.objectives import AnyObjective
from ticlm.platform.tasks.answerer import NO_TOKEN, NOT_NUMBERS, Cut, GradientNorm, Rank, TokenLosses
from ticlm.platform.tasks.cells.cell import Compute

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import nn

    from ticlm.platform.eval.gradients import Sample
    from ticlm.platform.eval.tokenization import TextEncoder

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "tokenizer.model", "vocab.json", "vocab.txt")

TF32_SINCE = (8, 0)
"""The first compute capability of NVIDIA's GPUs with TF32, that of the A100."""


class LoadedModel:
    """What answerers of all architectures share. `module` is in evaluation mode, in the number type that it is scored
    in, on its device."""

    def __init__(self, folder: Path, objective: AnyObjective, module: Any) -> None:
        self.folder, self.objective, self.module = folder, objective, module
        self.device = next(module.parameters()).device

    @property
    def window(self) -> int:
        """The longest input in tokens."""
        raise NotImplementedError

    def read(self, texts: Sequence[str], cut: Cut) -> list[TokenLosses]:
        raise NotImplementedError

    @cached_property
    def tokenizer(self) -> Any:
        """The folder's tokenizer. Raises InputError if there is none, or if it cannot be loaded."""
        from transformers import AutoTokenizer

        if not any((self.folder / name).exists() for name in TOKENIZER_FILES):
            raise InputError(f"{self.folder} has no tokenizer, and the task reads text; put its files there")
        try:
            found = AutoTokenizer.from_pretrained(
                self.folder, local_files_only=True, trust_remote_code=hub.trusted(self.folder)
            )
            found("a", verbose=False)  # wrong lengths and rules show only when it is used
            return found
        except Exception as error:  # the libraries raise all kinds, even plain Exception, on a damaged file
            raise InputError(f"{self.folder}: its tokenizer cannot be loaded: {in_one_line(error)}") from None

    @cached_property
    def encoder(self) -> TextEncoder:
        """The tokenizer as texts are encoded with it: without special tokens."""
        from ticlm.platform.eval.tokenization import TextEncoder

        return TextEncoder(self.tokenizer, self.vocabulary, str(self.folder))

    @property
    def vocabulary(self) -> int:
        """How many tokens the model has an embedding for."""
        embeddings = self.module.get_input_embeddings()
        return int(getattr(embeddings, "num_embeddings", None) or self.module.config.vocab_size)

    @cached_property
    def end(self) -> int:
        """The token that ends a text. Raises InputError if the tokenizer names none."""
        if self.tokenizer.eos_token_id is None:
            raise InputError(f"{self.folder}: its tokenizer names no end-of-text token (eos_token)")
        return self.known(self.tokenizer.eos_token_id)

    def known(self, token: int) -> int:
        """Return a token that the model has an embedding for. Raises InputError for any other."""
        if not 0 <= token < self.vocabulary:
            raise InputError(
                f"{self.folder}: its files name token {token}, and its model knows {self.vocabulary}; they do not "
                "belong together"
            )
        return int(token)

    def roll(self, texts: Sequence[str]) -> list[tuple[float, int]]:
        """Score whole documents. Returns (ln P, tokens) for each; every token is scored once, as `read` does."""
        import numpy as np

        readings = self.read(texts, Cut())
        return [(-float(one.losses.sum(dtype=np.float64)), len(one.losses)) for one in readings]

    def rows(self, rows: Mapping[str, NDArray[Any]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Score rows of a corpus under any objective, all at once; see `Answerer.rows`."""
        import torch

        tensors = {name: torch.from_numpy(values).to(self.device) for name, values in self.columns(rows).items()}
        with torch.inference_mode():
            arguments, labels, weights = self.objective(tensors)
            logits = self.module(**arguments).logits.float()
            nll = torch.logsumexp(logits, -1) - logits.gather(-1, labels[..., None]).squeeze(-1)
            weights = torch.ones_like(nll) if weights is None else weights
        return (nll * weights).sum(1).double().cpu().numpy(), weights.sum(1).double().cpu().numpy()

    def columns(self, rows: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.int64]]:
        """Return the columns that the objective needs. Raises InputError if one is missing."""
        needed = self.objective.columns
        if not needed.keys() <= rows.keys():
            raise InputError(
                f"{self.folder} reads rows with columns {', '.join(needed)}; those of the task have {', '.join(rows)}"
            )
        return {name: rows[name].astype("int64") for name in needed}

    def decoded(self, said: Sequence[list[int] | None], stop: str) -> list[str | None]:
        """Return generated tokens as text, each up to the first `stop`."""
        # Cleaning up would take spaces before punctuation away, which the model wrote.
        plainly = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}
        texts = [None if one is None else str(self.tokenizer.decode(one, **plainly)) for one in said]
        return [text.split(stop)[0] if stop and text else text for text in texts]

    def beginning(self, texts: Sequence[str], tokens: int, cloze: bool = False) -> list[str]:
        """Return what `tokens` tokens, special ones among them, hold of the beginning of each text."""
        room = max(0, tokens - sum(map(len, self.encoder.special_tokens())))
        encoded = zip(texts, self.encoder.encode(texts), strict=True)
        return [text if len(one.ids) <= room else text[: one.offsets[:room, 1].max(initial=0)] for text, one in encoded]

    def gradient_norms(self, pairs: Sequence[tuple[str, str]], inputs: int, targets: int) -> list[GradientNorm | str]:
        """Compute the gradient of each target given its input, one at a time; see `Answerer.gradient_norms`."""
        from ticlm.platform.eval.gradients import gradient_norm

        samples = (self.sample(text, target, inputs, targets) for text, target in pairs)
        return [NO_TOKEN if one is None else gradient_norm(self.module, one) for one in samples]

    def sample(self, text: str, target: str, inputs: int, targets: int) -> Sample | None:
        """Return an example as the model learns from it; None if its target has no token."""
        raise NotImplementedError

    def first_tokens(self, text: str, tokens: int) -> tuple[str, NDArray[np.int64]]:
        """Return the part of a text that its first `tokens` tokens hold, and these tokens."""
        (one,) = self.encoder.encode([text])
        if len(one.ids) <= tokens:
            return text, one.ids
        return text[: one.offsets[:tokens, 1].max(initial=0)], one.ids[:tokens]

    def ended(self, text: str, tokens: int) -> tuple[NDArray[np.int64], bool]:
        """Return the first tokens of a text and the end of text, together at most `tokens`, and whether it was cut.
        Nothing is returned of a text without a token."""
        import numpy as np

        ids, room = self.encoder.encode([text])[0].ids, min(tokens, self.window) - 1
        if not len(ids):
            return ids, False
        return np.concatenate([ids[:room], np.array([self.end], np.int64)]), len(ids) > room

    def as_ranks(self, tokens: Sequence[int], ranks: Mapping[int, int]) -> list[Rank | str]:
        """Return the ranks of answers with so many `tokens` each; `ranks` has those of the answers with a token."""
        found = [Rank(ranks.get(i, 0), count) for i, count in enumerate(tokens)]
        return [one if one.rank else NOT_NUMBERS if one.tokens else NO_TOKEN for one in found]

    def stops(self, stop: str) -> frozenset[int]:
        """Return the tokens that have `stop` in them; none for an empty one."""
        if stop and stop not in self._stops:
            pieces = self.tokenizer.batch_decode([[token] for token in range(len(self.tokenizer))])
            self._stops[stop] = frozenset(token for token, piece in enumerate(pieces) if stop in piece)
        return self._stops.get(stop, frozenset())

    @cached_property
    def _stops(self) -> dict[str, frozenset[int]]:
        return {}


def check_compute(compute: Compute, device: str) -> None:
    """Raise InputError if the models of this process, on `device` (`cpu` or `cuda`), cannot be scored in this type."""
    import torch

    from ticlm.platform.models.sharding import check_number_type

    check_number_type(compute, device, "compute")
    if compute != "tf32" or (device == "cuda" and torch.cuda.get_device_capability() >= TF32_SINCE):
        return
    here = torch.cuda.get_device_name() if device == "cuda" else "the CPU"
    raise InputError(f"compute: tf32, but {here} has no TF32 (NVIDIA, from A100 on); use float32 or bfloat16")


def rounded(module: nn.Module, compute: Compute) -> nn.Module:
    """Round the parameters of a module to the type that it is scored in. Returns the module.

    Buffers stay as they are, as in training (`models/sharding.py`): the frequencies of rotary embeddings are among
    them, which bfloat16 would move by up to 0.4 %, thousands of radians at far positions.
    """
    import torch

    if compute == "bfloat16":
        for parameter in module.parameters():  # weights that are tied are one parameter, and stay tied
            if parameter.is_floating_point():
                parameter.data = parameter.data.to(torch.bfloat16)
    return module


@contextmanager
def _multiplying(precision: str) -> Iterator[None]:
    """Multiply float32 matrices in this precision, as torch names it, inside the block; afterwards, as before."""
    import torch

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def in_float32(module: nn.Module) -> Iterator[None]:
    """Let a module compute in float32 inside the block, without TF32; afterwards, as before. Its rounded parameters
    stand in float32 beside themselves meanwhile."""
    import torch

    kept = {one: one.data for one in module.parameters() if one.dtype == torch.bfloat16}
    with _multiplying("highest"):
        try:
            for parameter, data in kept.items():
                parameter.data = data.float()
            yield
        finally:
            for parameter, data in kept.items():
                parameter.data = data


def computing(compute: Compute) -> AbstractContextManager[None]:
    """Multiply float32 matrices in TF32 inside the block if a study asks for it; afterwards, as before."""
    return _multiplying("high") if compute == "tf32" else nullcontext()
