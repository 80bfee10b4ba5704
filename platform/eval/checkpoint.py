"""Answerers: what is asked when something is scored. A checkpoint is one; a baseline without weights can be another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ticlm.methods.objectives import AnyObjective, Causal
from ticlm.platform.core.errors import InputError
from ticlm.platform.tasks.answerer import NO_TOKEN, TOO_LONG, Continuation, Cut, TokenLosses

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "tokenizer.model", "vocab.json", "vocab.txt")


class Checkpoint:
    """A published model folder as an Answerer."""

    def __init__(self, folder: Path, objective: AnyObjective, device: str = "cpu") -> None:
        from ticlm.platform.models import folders

        self.folder, self.objective, self.device = folder, objective, device
        self.module: Any = folders.load(folder).to(device).eval()

    @cached_property
    def tokenizer(self) -> Any:
        from transformers import AutoTokenizer

        if getattr(self.module.config, "is_encoder_decoder", False):
            raise InputError(f"{self.folder} is an encoder-decoder; tasks on text need a causal language model")
        if not any((self.folder / name).exists() for name in TOKENIZER_FILES):
            raise InputError(f"{self.folder} has no tokenizer, and the task reads text; put its files there")
        try:
            return AutoTokenizer.from_pretrained(self.folder, local_files_only=True)
        except Exception as error:  # the libraries raise all kinds, even plain Exception, on a damaged file
            raise InputError(f"{self.folder}: its tokenizer cannot be loaded: {str(error).splitlines()[0]}") from None

    @cached_property
    def before_texts(self) -> int:
        """The token before the first one of a text: end-of-text, unless the tokenizer has one for a beginning."""
        tokens = (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id)
        known = [token for token in tokens if token is not None]
        if not known:
            raise InputError(f"{self.folder}: its tokenizer names no end-of-text token (eos_token), nor a bos_token")
        return int(known[0])

    @property
    def window(self) -> int:
        """Longest input in tokens."""
        return int(getattr(self.module.config, "max_position_embeddings", None) or 2048)

    def rows(self, rows: Mapping[str, NDArray[Any]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        import torch

        from ticlm.platform.eval.likelihood import row_losses

        tensors = {name: torch.from_numpy(values.astype("int64")).to(self.device) for name, values in rows.items()}
        if isinstance(self.objective, Causal):
            losses = row_losses(self.module, tensors["tokens"])
            return losses.numpy(), torch.full_like(losses, tensors["tokens"].shape[1] - 1).numpy()
        with torch.inference_mode():
            arguments, labels, weights = self.objective(tensors)
            logits = self.module(**arguments).logits.float()
            nll = torch.logsumexp(logits, -1) - logits.gather(-1, labels[..., None]).squeeze(-1)
            weights = torch.ones_like(nll) if weights is None else weights
        return (nll * weights).sum(1).double().cpu().numpy(), weights.sum(1).double().cpu().numpy()

    @cached_property
    def _encoder(self) -> Any:
        from ticlm.platform.eval.tokenization import TextEncoder

        embeddings = self.module.get_input_embeddings()
        vocabulary = getattr(embeddings, "num_embeddings", None) or self.module.config.vocab_size
        return TextEncoder(self.tokenizer, int(vocabulary), str(self.folder))

    def roll(self, texts: Sequence[str]) -> list[tuple[float, int]]:
        import numpy as np

        readings = self.read(texts, Cut())
        return [(-float(one.losses.sum(dtype=np.float64)), len(one.losses)) for one in readings]

    def read(self, texts: Sequence[str], cut: Cut) -> list[TokenLosses]:
        from ticlm.platform.eval.likelihood import token_losses
        from ticlm.platform.eval.tokenization import excerpt

        if cut.stride is not None and cut.stride > self.window:
            raise InputError(f"stride must be at most the window of {self.folder}, {self.window}, got {cut.stride}")
        end = self.before_texts
        parts = [excerpt(text, one, cut) for text, one in zip(texts, self._encoder.encode(texts), strict=True)]
        before = [end if part.before is None else part.before for part in parts]
        losses = token_losses(self.module, [part.ids for part in parts], self.window, before, stride=cut.stride)
        return [TokenLosses(values, part.offsets, part.bytes) for values, part in zip(losses, parts, strict=True)]

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[Continuation | str]:
        import numpy as np

        from ticlm.platform.eval.shared_context import Branches, branch_scores

        found: list[Continuation | str] = [NO_TOKEN] * len(pairs)
        places: dict[bytes, list[int]] = {}
        branches: dict[bytes, Branches] = {}
        cut: dict[int, bool] = {}
        first: dict[tuple[str, str], int] = {}
        for i, (before, after) in enumerate(self._encoder.pairs(pairs)):
            if first.setdefault(pairs[i], i) != i:  # the same twice would differ by rounding, and break a tie
                continue
            if not len(after) or len(after) > self.window:
                found[i] = TOO_LONG if len(after) else NO_TOKEN
                continue
            context = before if len(before) else np.array([self.before_texts], np.int64)
            kept = context[-(self.window + 1 - len(after)) :]  # the last token of `after` is no input
            cut[i] = len(kept) < len(context)
            key = kept.tobytes()  # what has the same context is read with it
            branches.setdefault(key, Branches(kept, [])).continuations.append(after)
            places.setdefault(key, []).append(i)
        scores = branch_scores(self.module, list(branches.values()))
        for mine, several in zip(places.values(), scores, strict=True):
            for i, one in zip(mine, several, strict=True):
                logprob = -float(one.losses.sum(dtype=np.float64))
                found[i] = Continuation(logprob, len(one.losses), not one.below.any(), cut[i])
        return [found[first[pair]] for pair in pairs]

    def generate(self, prompts: Sequence[str], tokens: int, stop: str = "") -> list[str | None]:
        import numpy as np

        from ticlm.platform.eval.decoding import continued

        room = self.window - tokens
        if room < 1:
            raise InputError(
                f"{tokens} tokens leave no room for a prompt in the window of {self.folder}, {self.window} tokens"
            )
        ids = [one.ids[-room:] for one in self._encoder.encode(prompts)]
        started = [one if len(one) else np.array([self.before_texts], np.int64) for one in ids]
        stops = self._stops(stop) if stop else frozenset()
        said = continued(self.module, started, tokens, self.tokenizer.eos_token_id, stops)
        plainly = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}
        texts = [None if one is None else str(self.tokenizer.decode(one, **plainly)) for one in said]
        return [text.split(stop)[0] if stop and text else text for text in texts]

    def _stops(self, stop: str) -> frozenset[int]:
        """Tokens that have `stop` in them."""
        if stop not in self._stopping:
            pieces = self.tokenizer.batch_decode([[token] for token in range(len(self.tokenizer))])
            self._stopping[stop] = frozenset(token for token, piece in enumerate(pieces) if stop in piece)
        return self._stopping[stop]

    @cached_property
    def _stopping(self) -> dict[str, frozenset[int]]:
        return {}
