"""An encoder–decoder as an answerer."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ticlm.core.errors import InputError
from ticlm.core.examples import MASK
from ticlm.core.row_columns import INPUTS, TARGETS
from ticlm.methods.objectives import Seq2Seq
from ticlm.platform.eval.loaded_model import LoadedModel
from ticlm.platform.tasks.answerer import NO_TOKEN, TOO_LONG, Continuation, Cut, Rank, TokenLosses

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ticlm.platform.eval.gradients import Sample

WINDOW = 512
"""Tokens that the encoder and the decoder each read at most, where neither the model nor its tokenizer says so: what T5
was trained with. Its relative positions set no limit of their own."""
UNLIMITED = 1_000_000
"""A tokenizer that names a longer window than this names none."""


class Seq2SeqCheckpoint(LoadedModel):
    """An encoder–decoder: the encoder reads a context, the decoder predicts what follows it.

    The context ends as a text does that the tokenizer encodes by itself: with the tokenizer's special tokens around it
    (T5: `</s>` behind it), or, if it adds none, with the end of text. An empty context is these tokens alone. The
    decoder begins with the model's `decoder_start_token_id`, or with the objective's `pad` if the model names none.

    The likelihood of a text (`read`, `roll`) is that of a prefix language model: the decoder predicts the text window
    by window, each token given those before it in its window, while the encoder reads the text before the window, as
    much as fits. So every token is scored once, and the losses add up to −ln P of the text by the chain rule. Before
    the first window stands an empty context, on which no prefix language model and no span-corruption model was
    trained: a small `stride` leaves only few tokens to it. A model that was trained on span corruption alone gives
    valid but high losses.
    """

    @cached_property
    def window(self) -> int:
        """The most tokens that the encoder reads, and the most that the decoder predicts: the model's
        `max_position_embeddings` or `n_positions`, else the tokenizer's `model_max_length`, else 512."""
        config = self.module.config
        for name in ("max_position_embeddings", "n_positions"):
            if getattr(config, name, None):
                return int(getattr(config, name))
        longest = getattr(self.tokenizer, "model_max_length", None)
        return int(longest) if longest and longest < UNLIMITED else WINDOW

    @cached_property
    def start(self) -> int:
        """The token that the decoder begins with. Raises InputError if neither the model nor the objective has one."""
        config, generation = self.module.config, getattr(self.module, "generation_config", None)
        named = [getattr(one, "decoder_start_token_id", None) for one in (config, generation)]
        token = next((token for token in (*named, getattr(self.objective, "pad", None)) if token is not None), None)
        if token is None:
            raise InputError(f"{self.folder}/config.json: no decoder_start_token_id, with which the decoder begins")
        return self.known(token)

    def rows(self, rows: Mapping[str, NDArray[Any]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Score the `targets` of rows given their `inputs`; see `Answerer.rows`. Padding does not count."""
        if not isinstance(self.objective, Seq2Seq):
            return super().rows(rows)
        import numpy as np

        from ticlm.platform.eval.encoder_decoder import Pair, pair_scores

        columns, pad = self.columns(rows), self.objective.pad
        pairs = [
            Pair(_trimmed(inputs, pad), _trimmed(targets, pad), _trimmed(inputs, pad) != pad)
            for inputs, targets in zip(columns[INPUTS], columns[TARGETS], strict=True)
        ]
        weighted = [pair.labels != pad for pair in pairs]
        scores = pair_scores(self.module, pad, pairs)
        sums = [one.losses[mine].sum(dtype=np.float64) for one, mine in zip(scores, weighted, strict=True)]
        return np.array(sums, np.float64), np.array([mine.sum() for mine in weighted], np.float64)

    def read(self, texts: Sequence[str], cut: Cut) -> list[TokenLosses]:
        """Score every token of texts, as a prefix language model does (see the class). With `cut.stride` the decoder
        predicts only so many tokens at a time. Raises InputError if that is more than the window."""
        import numpy as np

        from ticlm.platform.eval.encoder_decoder import Pair, pair_scores
        from ticlm.platform.eval.tokenization import excerpt

        step = cut.stride or self.window
        if step > self.window:
            raise InputError(f"stride must be at most the window of {self.folder}, {self.window}, got {cut.stride}")
        parts = [excerpt(text, one, cut) for text, one in zip(texts, self.encoder.encode(texts), strict=True)]
        pairs, ends = list[Pair](), list[int]()
        for part in parts:
            before = [] if part.before is None else [part.before]
            whole = np.concatenate([np.array(before, np.int64), part.ids])
            for start in range(len(before), len(whole), step):
                pairs.append(Pair(self._context(whole[:start]), whole[start : start + step]))
            ends.append(len(pairs))
        losses = [one.losses for one in pair_scores(self.module, self.start, pairs)]
        empty = np.zeros(0, np.float32)
        joined = [np.concatenate([empty, *losses[start:end]]) for start, end in zip([0, *ends], ends)]
        return [TokenLosses(values, part.offsets, part.bytes) for values, part in zip(joined, parts, strict=True)]

    def score(self, pairs: Sequence[tuple[str, str]], end: bool = False) -> list[Continuation | str]:
        """Score continuations: the encoder reads the context, the decoder predicts the continuation, which is cut into
        tokens by itself; the end of text behind it is scored only with `end`."""
        import numpy as np

        from ticlm.platform.eval.encoder_decoder import Pair, pair_scores

        before, after = ([one.ids for one in self.encoder.encode([pair[side] for pair in pairs])] for side in (0, 1))
        ending = np.array([self.end] if end else [], np.int64)
        same = [(context.tobytes(), answer.tobytes()) for context, answer in zip(before, after, strict=True)]
        found: dict[tuple[bytes, bytes], Continuation | str] = {}
        # By their tokens: scored twice, equal answers differ by rounding, and break a tie.
        asked: dict[tuple[bytes, bytes], Pair] = {}
        whole: dict[tuple[bytes, bytes], bool] = {}
        for one, context, answer in zip(same, before, after, strict=True):
            labels = np.concatenate([answer, ending]) if len(answer) else answer
            if 0 < len(labels) <= self.window:
                asked.setdefault(one, Pair(self._context(context), labels))
                whole[one] = len(context) <= self._room
            else:
                found[one] = TOO_LONG if len(labels) else NO_TOKEN
        scores = pair_scores(self.module, self.start, list(asked.values()))
        found |= {one: score.continuation(not whole[one]) for one, score in zip(asked, scores, strict=True)}
        return [found[one] for one in same]

    def generate(self, prompts: Sequence[str], tokens: int, stop: str = "", beams: int = 1) -> list[str | None]:
        """Let the encoder read each prompt and the decoder write. Raises InputError if `tokens` are more than the
        decoder's window."""
        return self.decoded(self._written(prompts, tokens, beams, [self.start], self.stops(stop)), stop)

    def fill(
        self, clozes: Sequence[str], tokens: int, stop: str = "", beams: int = 1, plain: bool = False
    ) -> list[str | None]:
        """Let the encoder read each cloze and the decoder write what its mask stands for; see `Answerer.fill`."""
        if plain:
            said = self._written(clozes, max(1, tokens - 1), beams, [self.start], ())  # one of them is the start
        else:
            said = self._written(clozes, tokens, beams, [self.start, self.mask], self.sentinels)
        return self.decoded([one and [token for token in one if token not in self.sentinels] for one in said], "")

    def ranks(self, pairs: Sequence[tuple[str, str]]) -> list[Rank | str]:
        """Rank the first token of each answer behind the mask, with which the decoder begins. An answer is cut into
        tokens as it stands in the place of the mask, like the spans that the model has learned."""
        from ticlm.platform.eval.likelihood import ranked

        answers = [ids for _, ids in self.encoder.pairs([_in_span(cloze, answer) for cloze, answer in pairs])]
        asked = [i for i, answer in enumerate(answers) if len(answer)]
        contexts = [self._prompt(one.ids) for one in self.encoder.encode([pairs[i][0] for i in asked])]
        found = ranked(self.module, contexts, [int(answers[i][0]) for i in asked], [self.start, self.mask])
        return self.as_ranks([len(answer) for answer in answers], dict(zip(asked, found, strict=True)))

    def sample(self, text: str, target: str, inputs: int, targets: int) -> Sample | None:
        """Return an input for the encoder, with the special tokens around it, and a target for the decoder; see
        `Answerer.gradient_norms`."""
        import numpy as np
        import torch

        from ticlm.platform.eval.gradients import Sample, entities

        labels, cut = self.ended(target, targets)
        if not len(labels):
            return None
        longest = inputs if self._is_relative else min(inputs, self.window)
        part, ids = self.first_tokens(text, max(0, longest - sum(map(len, self.around))))
        decoded = np.concatenate([[self.start], labels[:-1]])
        found = [torch.from_numpy(one).to(self.device) for one in (self._prompt(ids), decoded, labels)]
        arguments = {"input_ids": found[0][None], "decoder_input_ids": found[1][None]}
        return Sample(arguments, found[2], entities(part), cut or part != text)

    @cached_property
    def mask(self) -> int:
        """The token of MASK. Raises InputError if the tokenizer has none."""
        token = self.tokenizer.convert_tokens_to_ids(MASK)
        if token is None or token == self.tokenizer.unk_token_id:
            raise InputError(f"{self.folder}: its tokenizer has no {MASK}, which stands for the answer of a cloze")
        return int(token)

    @cached_property
    def sentinels(self) -> frozenset[int]:
        """The tokens of all sentinels, the mask among them."""
        return self.stops(MASK.rstrip("0>")) | {self.mask}

    def _written(
        self, prompts: Sequence[str], tokens: int, beams: int, start: Sequence[int], stops: Collection[int]
    ) -> list[list[int] | None]:
        from ticlm.platform.eval.decoding import written

        if tokens > self.window:
            raise InputError(f"{tokens} tokens are more than {self.folder} can write at once, {self.window}")
        contexts = [self._prompt(one.ids) for one in self.encoder.encode(prompts)]
        return written(self.module, contexts, start, tokens, self.tokenizer.eos_token_id, stops, beams)

    def context(self, text: str) -> list[int]:
        """Return the tokens that the encoder reads of a text, cut to its window on the left."""
        return [int(token) for token in self._context(self.encoder.encode([text])[0].ids)]

    @cached_property
    def around(self) -> tuple[list[int], list[int]]:
        """The special tokens before and behind a context."""
        before, behind = self.encoder.special_tokens()
        if before or behind:
            return before, behind
        return [], [self.end]

    @property
    def _room(self) -> int:
        """Tokens of text that fit the encoder's window beside the special ones."""
        return max(0, self.window - sum(map(len, self.around)))

    @property
    def _is_relative(self) -> bool:
        """Whether positions are relative, as a T5's, so that they set no limit to what the encoder reads."""
        return hasattr(self.module.config, "relative_attention_num_buckets")

    def _prompt(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the tokens that the encoder reads of a prompt, int64[n], with the special ones around them: all where
        positions are relative (T5), else as many as `_context`."""
        import numpy as np

        # Relative positions set no limit, and a task says how much is to be read.

        if not self._is_relative:
            return self._context(ids)
        before, behind = self.around
        return np.concatenate([np.array(before, np.int64), ids, np.array(behind, np.int64)])

    def _context(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the tokens that the encoder reads of a context, int64[n]: the last ones, as many as fit its window,
        with the special tokens around them."""
        import numpy as np

        before, behind = self.around
        kept = ids[max(0, len(ids) - self._room) :]
        return np.concatenate([np.array(before, np.int64), kept, np.array(behind, np.int64)])


def _in_span(cloze: str, answer: str) -> tuple[str, str]:
    """Return the text before a cloze's mask, and the answer behind it with the space that stands between the two."""
    # A byte-level tokenizer writes a word behind a space as another token than a word at the beginning of a text. Spans
    # are learned with the space: without it, p@k was 0 at every k beside an exact match of 11 %.
    before = cloze.partition(MASK)[0]
    bare = before.rstrip(" ")  # a tokenizer joins the space to the next word
    return bare, f" {answer}" if answer and bare and bare != before else answer


def _trimmed(row: NDArray[np.int64], pad: int) -> NDArray[np.int64]:
    """Return a row int64[n] without the padding at its end; a row of padding alone stays whole."""
    kept = (row != pad).nonzero()[0]
    return row[: kept[-1] + 1] if len(kept) else row
