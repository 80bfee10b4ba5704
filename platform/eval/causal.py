"""A causal language model as an answerer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ticlm.core.errors import InputError
from ticlm.core.examples import MASK
from ticlm.core.row_columns import TOKENS
from ticlm.methods.objectives import Causal
from ticlm.platform.eval.loaded_model import LoadedModel
from ticlm.platform.tasks.answerer import NO_TOKEN, TOO_LONG, Continuation, Cut, Rank, TokenLosses

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ticlm.platform.eval.gradients import Sample


class CausalCheckpoint(LoadedModel):
    """A causal model as an answerer: it reads a text from left to right. End-of-text stands before the first token of a
    text, and in place of an empty context or prompt."""

    @cached_property
    def before_texts(self) -> int:
        """The token before the first one of a text: end-of-text, unless the tokenizer has one for a beginning."""
        tokens = (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id)
        known = [token for token in tokens if token is not None]
        if not known:
            raise InputError(f"{self.folder}: its tokenizer names no end-of-text token (eos_token), nor a bos_token")
        return self.known(known[0])

    @property
    def window(self) -> int:
        """The longest input in tokens."""
        return int(getattr(self.module.config, "max_position_embeddings", None) or 2048)

    def rows(self, rows: Mapping[str, NDArray[Any]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Score packed rows [rows, L + 1]: all tokens but the first, each given those before; see `Answerer.rows`."""
        if not isinstance(self.objective, Causal):
            return super().rows(rows)
        import torch

        from ticlm.platform.eval.likelihood import row_losses

        tokens = torch.from_numpy(self.columns(rows)[TOKENS])
        losses = row_losses(self.module, tokens)
        return losses.numpy(), torch.full_like(losses, tokens.shape[1] - 1).numpy()

    def read(self, texts: Sequence[str], cut: Cut) -> list[TokenLosses]:
        """Score every token of texts, the first one after end-of-text; windows as in `likelihood.windows`."""
        from ticlm.platform.eval.likelihood import token_losses
        from ticlm.platform.eval.tokenization import excerpt

        if cut.stride is not None and cut.stride > self.window:
            raise InputError(f"stride must be at most the window of {self.folder}, {self.window}, got {cut.stride}")
        end = self.before_texts
        parts = [excerpt(text, one, cut) for text, one in zip(texts, self.encoder.encode(texts), strict=True)]
        before = [end if part.before is None else part.before for part in parts]
        losses = token_losses(self.module, [part.ids for part in parts], self.window, before, stride=cut.stride)
        return [TokenLosses(values, part.offsets, part.bytes) for values, part in zip(losses, parts, strict=True)]

    def score(self, pairs: Sequence[tuple[str, str]], end: bool = False) -> list[Continuation | str]:
        """Score continuations behind their contexts; the continuations of one context are read together.

        An answer (`end`) has the same tokens behind an empty context as behind any other: a space before it too.
        """
        import numpy as np

        from ticlm.platform.eval.shared_context import Branches, branch_scores

        found: list[Continuation | str] = [NO_TOKEN] * len(pairs)
        places: dict[bytes, list[int]] = {}
        branches: dict[bytes, Branches] = {}
        cut: dict[int, bool] = {}
        first: dict[tuple[bytes, bytes], int] = {}
        asked = [(before, f" {after}" if after else after) for before, after in pairs] if end else pairs
        ending = np.array([self.end] if end else [], np.int64)
        tokens = self.encoder.pairs(asked)
        same = [(before.tobytes(), after.tobytes()) for before, after in tokens]
        for i, (before, answer) in enumerate(tokens):
            if first.setdefault(same[i], i) != i:  # scored twice, equal answers differ by rounding, and break a tie
                continue
            after = np.concatenate([answer, ending]) if len(answer) else answer
            if not len(after) or len(after) > self.window:
                found[i] = TOO_LONG if len(after) else NO_TOKEN
                continue
            context = self._started(before)
            kept = context[-(self.window + 1 - len(after)) :]  # the last token of `after` is no input
            cut[i] = len(kept) < len(context)
            # What has the same context is read with it, but one token is not worth a row that only grows by it.
            # A number is no key of tokens: those have eight bytes each, so sixteen at least.
            key = kept.tobytes() if len(kept) > 1 else b"%d" % i
            branches.setdefault(key, Branches(kept, [])).continuations.append(after)
            places.setdefault(key, []).append(i)
        scores = branch_scores(self.module, list(branches.values()))
        for mine, several in zip(places.values(), scores, strict=True):
            for i, one in zip(mine, several, strict=True):
                found[i] = one.continuation(cut[i])
        return [found[first[one]] for one in same]

    def generate(self, prompts: Sequence[str], tokens: int, stop: str = "", beams: int = 1) -> list[str | None]:
        """Continue each prompt. Raises InputError if `tokens` leave no room for a prompt in the window."""
        from ticlm.platform.eval.decoding import continued

        room = self.window - tokens
        if room < 1:
            raise InputError(
                f"{tokens} tokens leave no room for a prompt in the window of {self.folder}, {self.window} tokens"
            )
        started = [self._started(one.ids)[-room:] for one in self.encoder.encode(prompts)]
        end, stops = self.tokenizer.eos_token_id, self.stops(stop)
        return self.decoded(continued(self.module, started, tokens, end, stops, beams), stop)

    def fill(
        self, clozes: Sequence[str], tokens: int, stop: str = "", beams: int = 1, plain: bool = False
    ) -> list[str | None]:
        """Continue the text before each mask; see `Answerer.fill`."""
        return self.generate([before_mask(cloze) for cloze in clozes], tokens, stop, beams)

    def beginning(self, texts: Sequence[str], tokens: int, cloze: bool = False) -> list[str]:
        """Return the beginning of each text; of a cloze, the beginning of the text before its mask, and the mask."""
        if not cloze:
            return super().beginning(texts, tokens)
        before = [text.partition(MASK)[0] for text in texts]
        parts = zip(texts, before, super().beginning(before, tokens), strict=True)
        return [text if part == whole else f"{part} {MASK}" for text, whole, part in parts]

    def ranks(self, pairs: Sequence[tuple[str, str]]) -> list[Rank | str]:
        """Rank the first token of each answer behind the text before its mask; see `Answerer.ranks`."""
        from ticlm.platform.eval.likelihood import ranked

        texts = [(before_mask(cloze), answer) for cloze, answer in pairs]
        spaced = [(before, " " + answer if before and answer else answer) for before, answer in texts]
        tokens = self.encoder.pairs(spaced)
        asked = [i for i, (_, after) in enumerate(tokens) if len(after)]
        contexts = [self._started(tokens[i][0])[-self.window :] for i in asked]
        found = ranked(self.module, contexts, [int(tokens[i][1][0]) for i in asked])
        return self.as_ranks([len(after) for _, after in tokens], dict(zip(asked, found, strict=True)))

    def sample(self, text: str, target: str, inputs: int, targets: int) -> Sample | None:
        """Return input and target as one text with a space between them; see `Answerer.gradient_norms`."""
        import numpy as np
        import torch

        from ticlm.platform.eval.gradients import Sample, entities

        labels, cut = self.ended(f" {target}" if target else target, targets)
        if not len(labels):
            return None
        part, ids = self.first_tokens(text, min(inputs, self.window + 1 - len(labels)))
        whole = torch.from_numpy(np.concatenate([self._started(ids), labels])).to(self.device)
        arguments = {"input_ids": whole[None, :-1]}
        return Sample(arguments, whole[len(whole) - len(labels) :], entities(part), cut or part != text)

    def _started(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a prompt's tokens; end-of-text for an empty one."""
        import numpy as np

        return ids if len(ids) else np.array([self.before_texts], np.int64)


def before_mask(cloze: str) -> str:
    """Return the text before a cloze's mask, without spaces at its end: a tokenizer joins them to the next word."""
    return cloze.partition(MASK)[0].rstrip()
