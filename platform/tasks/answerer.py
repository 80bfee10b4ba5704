"""What a task may ask of a model, whatever the model is: the loss of rows and texts, the likelihood of a continuation,
what it writes behind a prompt or in place of a mask, and the rank of an answer there.

An encoder–decoder meets it as well as a causal model. What each reads before the tokens that are scored is said in
`eval/causal.py` and `eval/seq2seq.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class TokenLosses(NamedTuple):
    """The scored tokens of a text: `losses` [n] are −ln P in nats, `offsets` [n, 2] are the characters [start, end)
    that each token stands for, `bytes` is the number of UTF-8 bytes of the text that was scored."""

    losses: NDArray[np.float32]
    offsets: NDArray[np.int64]
    bytes: int


class Cut(NamedTuple):
    """The tokens of a text to read: of its `first` tokens (None: all) the `last` ones (None: all of these).

    `scores_first` says whether the first token that is read is scored too, or only stands before the others. A text
    longer than the model's window is read in windows that move on by `stride` tokens, by default by their whole length.
    """

    first: int | None = None
    last: int | None = None
    scores_first: bool = True
    stride: int | None = None


class Continuation(NamedTuple):
    """The score of a continuation: `logprob` is ln P of all its `tokens` given its context; `greedy` says whether each
    of them is the likeliest one; `cut` says whether the context lost its beginning to fit the model's window."""

    logprob: float
    tokens: int
    greedy: bool
    cut: bool


TOO_LONG = "longer than the model's window"
NO_TOKEN = "without a token"
NOT_NUMBERS = "among logits that are not numbers"
"""Why a continuation has no probability, or an answer no rank."""


class Rank(NamedTuple):
    """`rank` is 1 for the token that a greedy search chooses; `tokens` is the length of the whole answer."""

    rank: int
    tokens: int


class GradientNorm(NamedTuple):
    """The gradient of an example's loss, which is the mean −ln P of its `targets` tokens in nats.

    `norm` is the L2 norm of the gradients of all parameters together, `norm_sum` the sum of the norms of all tensors,
    and `groups` the L2 norm of each group of parameters. `entities` is the number of sentinels in the input that was
    read; `cut` says whether the input or the target lost its end."""

    norm: float
    norm_sum: float
    groups: Mapping[str, float]
    loss: float
    targets: int
    entities: int
    cut: bool


class Answerer(Protocol):
    """A model as tasks see it. All log-probabilities are natural."""

    def rows(self, rows: Mapping[str, NDArray[Any]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Score rows of a corpus, given as columns of tokens [rows, length]. Returns (nll, n), both float64[rows]: the
        summed −ln P of a row's targets in nats, and the number of its targets that count."""
        ...

    def roll(self, texts: Sequence[str]) -> list[tuple[float, int]]:
        """Score whole documents. Returns (ln P in nats, number of tokens) for each; every token is scored once."""
        ...

    def read(self, texts: Sequence[str], cut: Cut) -> list[TokenLosses]:
        """Score the tokens that `cut` names of each text, once each."""
        ...

    def score(self, pairs: Sequence[tuple[str, str]], end: bool = False) -> list[Continuation | str]:
        """Score (context, continuation) pairs. A continuation that cannot be scored gives the reason instead (TOO_LONG,
        NO_TOKEN). A context that does not fit the window loses its beginning; it may be empty.

        With `end`, each continuation is a whole answer: the end of text behind it is scored and counted as one of its
        tokens, and a model that reads context and answer as one text reads a space between them. Continuations of the
        same tokens behind the same context have exactly the same score."""
        ...

    def generate(self, prompts: Sequence[str], tokens: int, stop: str = "", beams: int = 1) -> list[str | None]:
        """Continue each prompt up to the end of text, the first `stop`, or `tokens` tokens, by a search with `beams`
        beams (1: always the likeliest token); returns the continuation without the prompt. A prompt that does not fit
        the window loses its beginning; a T5's encoder, whose positions are relative, reads all of it. The result is
        None where the model's logits are not numbers."""
        ...

    def fill(
        self, clozes: Sequence[str], tokens: int, stop: str = "", beams: int = 1, plain: bool = False
    ) -> list[str | None]:
        """Write what the MASK of each text stands for, as `generate` writes. A causal model continues the text before
        the mask, up to `stop`. An encoder–decoder reads the whole text and writes from the mask to the next sentinel.
        If `plain`, it writes the mask itself and whatever it likes behind the next sentinel too, as in the code
        released with CKL: `tokens` then count the decoder's start and the mask, and sentinels are removed."""
        ...

    def ranks(self, pairs: Sequence[tuple[str, str]]) -> list[Rank | str]:
        """Return, for each (cloze, answer), the rank of the answer's first token among all tokens at the mask. An
        answer that cannot be ranked gives the reason instead (NO_TOKEN, NOT_NUMBERS)."""
        ...

    def gradient_norms(self, pairs: Sequence[tuple[str, str]], inputs: int, targets: int) -> list[GradientNorm | str]:
        """Return the norms of the gradient of each (input, target), one at a time; the weights stay as they are.

        The model reads the first `inputs` tokens of an input, special ones among them, and predicts the first `targets`
        tokens of the target, the end of text among them. A causal model reads a space between the two, and only as much
        of the input as leaves room for the target. A target without a token gives the reason instead (NO_TOKEN)."""
        ...

    def beginning(self, texts: Sequence[str], tokens: int, cloze: bool = False) -> list[str]:
        """Return the beginning of each text that `tokens` tokens hold, the tokenizer's special tokens among them. Of a
        `cloze` a causal model only reads the text before the mask: it keeps its mask, whatever is cut."""
        ...
