"""The tokenizer of kind `grown`: an older byte-level BPE with further merges, learned on a later period."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from ticlm.core import paths
from ticlm.core.corpus import TokenizerInfo
from ticlm.core.errors import FutureMonthError, InputError
from ticlm.core.periods import span
from ticlm.core.reading import json_texts
from ticlm.core.remote.credentials import without_credentials
from ticlm.core.settings import Settings
from ticlm.core.store import Store
from ticlm.core.vocabulary import growth
from ticlm.core.vocabulary.growth import Growth
from ticlm.core.vocabulary.token_bytes import is_byte_level
from ticlm.datasets.corpus.growth import merges
from ticlm.datasets.corpus.growth.merges import Merge, Word
from ticlm.datasets.corpus.tokenizers import SMALLEST, PretrainedTokenizer, all_cores, batches, upto

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SLOW_FILES = ("vocab.json", "merges.txt", "tokenizer.model")
"""Files that say what tokenizer.json says, for other libraries; of the base, they do not know the new tokens."""


class GrownTokenizer(Settings):
    """A byte-level BPE whose merges go on: all tokens of `base` keep their ids, and further ones are learned on the
    train texts of the first period of the corpus, and on nothing later.

    The base cuts these texts; further merges join what it leaves apart, within words as it parts them. A text without a
    new token is cut as before.
    """

    kind: Literal["grown"] = "grown"
    base: PretrainedTokenizer
    """The tokenizer that grows: `{name: …, as_of: …}`, as of the kind `pretrained`; `NAME@VERSION` takes that of a
    corpus in the root."""
    vocab_size: int = Field(gt=SMALLEST)
    """Tokens of its vocabulary with those of the base; fewer are learned where no pair is frequent enough."""
    max_bytes: int = Field(1 << 27, gt=0)
    """Bytes of text that it learns from at most: the first ones in the corpus's shuffled order."""
    min_count: int = Field(2, gt=0)
    """How often two pieces must stand side by side to become one."""

    @property
    def identity(self) -> GrownTokenizer:
        """Return the settings that determine the tokens; see `PretrainedTokenizer.identity`."""
        return self.model_copy(update={"base": self.base.identity})

    @property
    def external_inputs(self) -> str:
        """Return a line on the base, which comes from outside the timeline."""
        return f"base of the tokenizer {self.base.name}, as of {self.base.as_of}"

    def check_period(self, period: str) -> None:
        """Raise FutureMonthError if the base has seen text from after the period that it grows on."""
        try:
            is_later = span(self.base.as_of)[1] > span(period)[1]
        except ValueError:  # `outside`, or a snapshot: no date to compare
            return
        if is_later:
            raise FutureMonthError("tokenizer.base, which grows on the first period,", period, self.base.as_of)

    def save_base(self, store: Store) -> TokenizerInfo:
        """Save the base to the store of a corpus, and return its description.

        Raises InputError if it cannot be loaded, is no byte-level BPE, or has `vocab_size` tokens already.
        """
        try:
            base = self.base.save(store)
        except InputError as error:
            raise InputError(str(error).replace("tokenizer.name", "tokenizer.base.name")) from None
        if not is_byte_level(_tokenizer_json(store)):
            raise InputError(f"tokenizer.base.name: {self.base.name} is no byte-level BPE; no other tokenizer can grow")
        if self.vocab_size <= base.vocab_size:
            raise InputError(
                f"tokenizer.vocab_size must be more than the {base.vocab_size:,} tokens of {self.base.name}, "
                f"got {self.vocab_size:,}"
            )
        return base

    def train(self, texts: Iterable[str], period: str, store: Store, special: tuple[str, ...] = ()) -> TokenizerInfo:
        """Learn merges on `texts` (in any order), save the grown tokenizer and the record of its new tokens to the
        store, and return its description. Tokens named in `special` are the base's own.

        Raises InputError if there is no text, or no pair of pieces to learn.
        """
        from tokenizers import Tokenizer

        self.check_period(period)
        base = self.save_base(store)  # again: an attempt that was interrupted may have left a grown one
        data = _tokenizer_json(store)
        old = Tokenizer.from_str(json.dumps(data))
        names = {token: piece for piece, token in data["model"]["vocab"].items()}
        texts = upto(self.max_bytes, texts)
        words, added = words_of(old, texts, names), {entry["content"] for entry in data.get("added_tokens", [])}
        if not words:
            raise InputError(f"tokenizer: the first period, {period}, has no text in its train split to learn from")
        learned = merges.learn(words, names, base.vocab_size, self.vocab_size - base.vocab_size, self.min_count, added)
        if not learned:
            raise InputError(f"tokenizer: no two pieces stand side by side {self.min_count} times in {period}")
        parts, counts = merges.parts(learned), tuple(one.places for one in learned)
        new = extended(data, names, learned)
        _check_ids(old, Tokenizer.from_str(new.decode()), learned)
        for name in SLOW_FILES:
            store.remove(f"{paths.TOKENIZER}/{name}")
        store.write(paths.tokenizer_file(), new)
        record = Growth(
            base=base.name,
            base_sha256=base.sha256,
            base_size=base.vocab_size,
            period=period,
            parts=parts,
            counts=counts,
        )
        growth.write(store, record)
        return TokenizerInfo(
            name=f"{without_credentials(base.name)}, grown by {record.new:,} tokens on {period}",
            vocab_size=record.size,
            end_of_text=base.end_of_text,
            sha256=hashlib.sha256(new).hexdigest(),
        )


def words_of(tokenizer: Tokenizer, texts: Iterable[str], names: dict[int, str]) -> Counter[Word]:
    """Return how often each word stands in the texts, as the pieces that a tokenizer cuts it into. A token that is no
    piece of its model, such as a special one, ends a word."""
    tokenizer.encode_special_tokens = True  # no text can forge one
    tokenizer.no_truncation()
    tokenizer.no_padding()
    found: Counter[Word] = Counter()
    for batch in batches(texts):
        with all_cores():
            encoded = tokenizer.encode_batch(batch, add_special_tokens=False)
        for one in encoded:
            found.update(_words(one.ids, one.word_ids, names))
    return found


def _words(ids: list[int], numbers: list[int | None], names: dict[int, str]) -> Iterator[Word]:
    for (_, is_piece), word in groupby(zip(numbers, ids), lambda one: (one[0], one[1] in names)):
        if is_piece:
            yield tuple(token for _, token in word)


def extended(tokenizer: dict[str, Any], names: dict[int, str], learned: list[Merge]) -> bytes:
    """Return the tokenizer.json of a tokenizer with further merges behind its own, and a new piece for each.

    Tokens that stand beside the model's pieces come among them, with their ids: the library would otherwise count them
    anew from the number of pieces on.
    """
    model = dict(tokenizer["model"])
    vocabulary, known, texts = dict(model["vocab"]), list(model["merges"]), dict(names)
    for entry in tokenizer.get("added_tokens", []):
        vocabulary.setdefault(entry["content"], entry["id"])
    as_pairs = not known or not isinstance(known[0], str)
    for one in learned:
        pair = [texts[one.left], texts[one.right]]
        texts[one.piece] = "".join(pair)
        vocabulary[texts[one.piece]] = one.piece
        known.append(pair if as_pairs else " ".join(pair))
    model |= {"vocab": vocabulary, "merges": known}
    return json.dumps(tokenizer | {"model": model}, ensure_ascii=False).encode()


def _check_ids(old: Tokenizer, new: Tokenizer, learned: list[Merge]) -> None:
    """Raise InputError unless each token of the base has its id, and each new one the next."""
    before, after = old.get_vocab(), new.get_vocab()
    moved = next((token for token, number in before.items() if after.get(token) != number), None)
    ids = sorted(number for token, number in after.items() if token not in before)
    if moved is not None or ids != [one.piece for one in learned]:
        raise InputError(f"tokenizer.base cannot grow: its token {moved!r} would have another id")


def _tokenizer_json(store: Store) -> dict[str, Any]:
    return json_texts.read_object(store.read(paths.tokenizer_file()))
