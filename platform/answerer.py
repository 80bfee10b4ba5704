"""Answerers: what is asked when something is scored. A checkpoint is one; a baseline without weights can be another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ticlm.platform.errors import InputError
from ticlm.platform.objective import AnyObjective, Causal
from ticlm.platform.reading import Cut, Reading

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Answerer(Protocol):
    """All log-probabilities are natural."""

    def rows(self, rows: Mapping[str, NDArray[Any]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of each packed row: −log P of its targets, summed, and how many targets count."""
        ...

    def roll(self, texts: Sequence[str]) -> list[tuple[float, int]]:
        """Of each whole document: log P, every token scored once, the first after end-of-text; and its tokens."""
        ...

    def read(self, texts: Sequence[str], cut: Cut) -> list[Reading]:
        """Of each text: the loss of every token that is scored, long texts in windows, and where it stands."""
        ...

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, int]]:
        """Of each (context, continuation): log P(continuation | context), and the continuation's tokens."""
        ...

    def generate(self, prompts: Sequence[str], tokens: int) -> list[str]:
        """What follows each prompt, greedily, up to the end of text or `tokens` tokens."""
        ...


class Checkpoint:
    """A published model folder as an Answerer."""

    def __init__(self, folder: Path, objective: AnyObjective, device: str = "cpu") -> None:
        from ticlm.platform import model

        self.folder, self.objective, self.device = folder, objective, device
        self.module: Any = model.load(folder).to(device).eval()
        self._tokenizer: Any = None

    @property
    def tokenizer(self) -> Any:
        if self._tokenizer is None:
            from transformers import AutoTokenizer

            if not any((self.folder / name).exists() for name in ("tokenizer.json", "tokenizer_config.json")):
                raise InputError(f"{self.folder} has no tokenizer, and the task reads text; put its files there")
            self._tokenizer = AutoTokenizer.from_pretrained(self.folder)
        return self._tokenizer

    @property
    def window(self) -> int:
        """Longest input in tokens."""
        return int(getattr(self.module.config, "max_position_embeddings", None) or 2048)

    def rows(self, rows: Mapping[str, NDArray[Any]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        import torch

        from ticlm.platform.likelihood import row_losses

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

    def roll(self, texts: Sequence[str]) -> list[tuple[float, int]]:
        from ticlm.platform.likelihood import rolling

        ids = [self.tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
        found = rolling(self.module, ids, self.window, self.tokenizer.eos_token_id)
        return [(value, len(document)) for value, document in zip(found, ids)]

    def read(self, texts: Sequence[str], cut: Cut) -> list[Reading]:
        import numpy as np

        from ticlm.platform.likelihood import token_losses

        if not getattr(self.tokenizer, "is_fast", False):
            raise InputError(f"{self.folder}: its tokenizer does not say where tokens stand in a text (not a fast one)")
        encoded = self.tokenizer(list(texts), add_special_tokens=False, return_offsets_mapping=True)
        ids = [np.asarray(one, np.int64)[: cut.first] for one in encoded["input_ids"]]
        spans = [np.asarray(one, np.int64).reshape(-1, 2)[: cut.first] for one in encoded["offset_mapping"]]
        if cut.last is not None:
            ids, spans = [one[-cut.last :] for one in ids], [one[-cut.last :] for one in spans]
        if cut.scores_first:
            losses = token_losses(self.module, ids, self.window, self.tokenizer.eos_token_id)
        else:  # each text's own first token stands where end-of-text would
            spans = [one[1:] for one in spans]
            losses = token_losses(
                self.module, [one[1:] for one in ids], self.window, [int(one[0]) if len(one) else 0 for one in ids]
            )
        return [
            Reading(values, where, len(text[where[0, 0] : where[-1, 1]].encode()) if len(where) else 0)
            for text, values, where in zip(texts, losses, spans)
        ]

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, int]]:
        import numpy as np

        from ticlm.platform.likelihood import Window, window_losses

        cut = []
        for context, continuation in pairs:
            before = self.tokenizer(context, add_special_tokens=False)["input_ids"] or [self.tokenizer.eos_token_id]
            # a continuation keeps the tokens it has after its context, as when the whole is read at once
            whole = self.tokenizer(context + continuation, add_special_tokens=False)["input_ids"]
            after = whole[len(before) :] if whole[: len(before)] == before else None
            if after is None:
                after = self.tokenizer(continuation, add_special_tokens=False)["input_ids"]
            tokens = np.asarray([*before, *after][-(self.window + 1) :], np.int64)
            cut.append(Window(tokens, min(len(after), len(tokens) - 1)))
        losses = window_losses(self.module, cut)
        return [(-float(loss.sum(dtype=np.float64)), window.scored) for window, loss in zip(cut, losses)]

    def generate(self, prompts: Sequence[str], tokens: int) -> list[str]:
        return [self._continue(prompt, tokens) for prompt in prompts]

    def _continue(self, prompt: str, tokens: int) -> str:
        encoded = self.tokenizer(prompt or self.tokenizer.eos_token, return_tensors="pt").to(self.device)
        kept = encoded["input_ids"][:, -(self.window - tokens) :] if tokens < self.window else encoded["input_ids"]
        end = self.tokenizer.eos_token_id
        output = self.module.generate(input_ids=kept, max_new_tokens=tokens, do_sample=False, pad_token_id=end)
        return str(self.tokenizer.decode(output[0, kept.shape[1] :], skip_special_tokens=True))
