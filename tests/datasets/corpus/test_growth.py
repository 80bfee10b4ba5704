"""Tokenizers that grow: what merges are learned, that nothing old moves, and that no later text is read."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from speakers import byte_level, fast, metaspace
from tokenizers import Tokenizer

from ticlm.core.errors import InputError
from ticlm.core.settings import parse
from ticlm.core.store import Store
from ticlm.core.vocabulary import growth
from ticlm.core.vocabulary.token_bytes import token_bytes
from ticlm.datasets.corpus import build
from ticlm.datasets.corpus.growth import merges
from ticlm.datasets.corpus.growth.grown import GrownTokenizer, words_of
from ticlm.datasets.corpus.recipe import CorpusRecipe

TEXTS = (
    "Covid spread. Covid tests, lockdown, lockdown again: the lockdowns of Ålesund and Łódź.",
    "A ChatGPT prompt, ChatGPT answers; 東京 and 東京 again, <|endoftext|> is only text here.",
    "def lockdown(covid):\n    return covid.lockdown()\n",
) * 3
ODD = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.sampled_from(TEXTS)
WORDS = st.dictionaries(st.lists(st.integers(0, 3), min_size=1, max_size=7).map(tuple), st.integers(1, 5), max_size=8)
NAMES = {0: "a", 1: "b", 2: "ab", 3: "aa"}


def slowly(words: dict[tuple[int, ...], int], first: int, most: int, least: int) -> list[tuple[int, int, int, int]]:
    """The definition: all pairs are counted anew for each merge."""
    names, found, cut = dict(NAMES), list[tuple[int, int, int, int]](), dict(words)
    while len(found) < most:
        counts: Counter[tuple[int, int]] = Counter()
        for word, count in cut.items():
            for pair in pairwise(word):
                counts[pair] += count
        new = {p: c for p, c in counts.items() if c >= least and names[p[0]] + names[p[1]] not in names.values()}
        if not new:
            break
        pair = min(new, key=lambda p: (-new[p], p))
        piece = first + len(found)
        names[piece] = names[pair[0]] + names[pair[1]]
        found.append((*pair, piece, new[pair]))
        again: Counter[tuple[int, ...]] = Counter()
        for word, count in cut.items():
            again[merges.merged(word, pair, piece)] += count
        cut = dict(again)
    return found


@given(WORDS, st.integers(1, 12), st.integers(1, 3))
def test_merges_are_those_of_counting_all_pairs_anew(words: dict[tuple[int, ...], int], most: int, least: int) -> None:
    learned = merges.learn(words, NAMES, 10, most, least)
    assert [tuple(one) for one in learned] == slowly(words, 10, most, least)
    backwards = dict(reversed(words.items()))
    assert merges.learn(backwards, NAMES, 10, most, least) == learned, "the order of words is of no matter"


def test_merges_by_hand() -> None:
    """`lo w` stands five times and `lo` is old; `low er` then stands twice. A pair that spells an old piece stays."""
    names = {0: "l", 1: "o", 2: "w", 3: "lo", 4: "er", 5: "ow"}
    words = {(3, 2): 3, (3, 2, 4): 2, (1, 2): 9}
    learned = merges.learn(words, names, 6, 10, 2)
    assert learned == [merges.Merge(3, 2, 6, 5), merges.Merge(6, 4, 7, 2)]
    assert merges.parts(learned) == ((3, 2), (3, 2, 4))


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the base in `base`, and `tokenizer` that grew from it on TEXTS."""
    folder = tmp_path_factory.mktemp("grown")
    fast(byte_level()).save_pretrained(folder / "base")
    settings = GrownTokenizer.model_validate(grows(folder / "base"))
    info = settings.train(TEXTS, "202301", Store(folder))
    assert info.as_of is None and info.name.endswith("grown by 40 tokens on 202301") and info.vocab_size == 420
    return folder


def grows(base: Path | str, **changes: Any) -> dict[str, Any]:
    return {"kind": "grown", "base": {"name": str(base), "as_of": "202212"}, "vocab_size": 420} | changes


def both(folder: Path) -> tuple[Tokenizer, Tokenizer]:
    found = [Tokenizer.from_file(str(folder / f"{name}/tokenizer.json")) for name in ("base", "tokenizer")]
    for one in found:
        one.encode_special_tokens = True
    return found[0], found[1]


def test_all_old_tokens_keep_their_ids_and_new_ones_get_the_next(grown: Path) -> None:
    old, new = (one.get_vocab() for one in both(grown))
    assert old.items() <= new.items()
    assert sorted(new[token] for token in new.keys() - old.keys()) == list(range(380, 420))


def test_each_new_token_is_recorded_with_the_old_ones_that_its_text_is_cut_into(grown: Path) -> None:
    (old, new), record = both(grown), growth.read(Store(grown))
    assert record is not None and record.base_size == 380 and record.new == 40 and record.period == "202301"
    assert record.base_sha256 == Store(grown).sha256("base/tokenizer.json")
    for number, parts in enumerate(record.parts):
        piece = new.id_to_token(380 + number)
        assert "".join(str(old.id_to_token(part)) for part in parts) == piece
        assert tuple(one.id for one in old.model.tokenize(piece)) == parts


@given(ODD)
def test_text_comes_back_and_is_cut_by_the_old_merges_and_then_the_new_ones(grown: Path, text: str) -> None:
    (old, new), record = both(grown), growth.read(Store(grown))
    assert record is not None
    ids = new.encode(text, add_special_tokens=False).ids
    assert new.decode(ids, skip_special_tokens=False) == text
    parted = [part for token in ids for part in (record.parts[token - 380] if token >= 380 else (token,))]
    assert parted == old.encode(text, add_special_tokens=False).ids
    sizes = token_bytes((grown / "tokenizer/tokenizer.json").read_bytes(), 420, "here")
    assert sum(int(sizes[token]) for token in ids) == len(text.encode())


def test_tokens_with_ids_between_pieces_stay_where_they_are(tmp_path: Path) -> None:
    """Those that stand beside a model's pieces are counted from the number of pieces on, unless they are among them."""
    bare = json.loads(byte_level().to_str())
    del bare["model"]["vocab"]["<|endoftext|>"]
    bare["model"]["vocab"] = {piece: token - 1 for piece, token in bare["model"]["vocab"].items()}
    bare["added_tokens"][0]["id"] = 379
    fast(Tokenizer.from_str(json.dumps(bare))).save_pretrained(tmp_path / "base")
    info = GrownTokenizer.model_validate(grows(tmp_path / "base")).train(TEXTS, "202301", Store(tmp_path))
    old, new = (one.get_vocab() for one in both(tmp_path))
    assert old["<|endoftext|>"] == new["<|endoftext|>"] == info.end_of_text == 379
    assert old.items() <= new.items() and max(new.values()) == 419


def test_words_are_counted_as_the_base_cuts_them() -> None:
    tokenizer = byte_level()
    names = {token: piece for piece, token in tokenizer.get_vocab().items() if piece != "<|endoftext|>"}
    words = words_of(tokenizer, ["Paris Paris, Paris"], names)
    texts = {"".join(names[token] for token in word): count for word, count in words.items()}
    assert texts == {"Paris": 1, "ĠParis": 2, ",": 1}


def test_bytes_of_tokens_are_known_of_byte_level_tokenizers_alone() -> None:
    with pytest.raises(InputError, match="no byte-level BPE"):
        token_bytes(metaspace().to_str().encode(), 420, "here")
    sizes = token_bytes(byte_level().to_str().encode(), 400, "here")
    assert sizes[byte_level().token_to_id("<|endoftext|>")] == 0 and (sizes[380:] == 0).all()


NEWS = ("furlough rules", "omicron boosters", "chatbot prompts")


def recipe(tmp_path: Path, months: int = 3, **changes: Any) -> CorpusRecipe:
    """Months of text; the words of each month are its own."""
    folder = tmp_path / f"texts-{months}"
    folder.mkdir(exist_ok=True)
    for month in range(1, months + 1):
        words = " ".join([NEWS[month - 1], "covid spread again because vaccines arrived"] * 9)
        lines = [
            {"url": f"{month}/{n}", "text": f"{words} {n}", "timestamp": f"2023-{month:02}-05T00:00:00Z"}
            for n in range(30)
        ]
        (folder / f"2023{month:02}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    written = {
        "name": "later",
        "version": "1",
        "documents": {"kind": "files", "paths": [f"{folder}/*.jsonl"]},
        "periods": {"initial": "202301", "step": "month", "last": f"2023{months:02}"},
        "splits": {"eval": 0.2, "tune": 0.1},
        "length": 16,
        "executor": "process",
        "tokenizer": grows(tmp_path / "base", vocab_size=430),
    }
    return parse(CorpusRecipe, written | changes, "recipe")


@pytest.fixture
def base(tmp_path: Path) -> Path:
    fast(byte_level()).save_pretrained(tmp_path / "base")
    return tmp_path


def test_a_corpus_grows_its_tokenizer_on_its_first_period_and_on_nothing_later(base: Path) -> None:
    whole = build.build(recipe(base), str(base / "whole"))
    again = build.build(recipe(base), str(base / "again"))
    alone = build.build(recipe(base, months=1), str(base / "alone"))
    assert 400 < whole.info.tokenizer.vocab_size <= 430
    names = ("tokenizer/tokenizer.json", "tokenizer/grown.json")
    assert len({tuple(one.store.sha256(name) for name in names) for one in (whole, again, alone)}) == 1
    assert whole.info.external_inputs == (f"base of the tokenizer {base / 'base'}, as of 202212",)
    pieces = whole.tokenizer().get_vocab()
    assert any("lough" in piece for piece in pieces)
    assert not [piece for piece in pieces if "micr" in piece or "chat" in piece], "pieces of later months"
    assert whole.tokenizer().eos_token_id == whole.info.tokenizer.end_of_text


def test_a_corpus_cut_with_a_grown_tokenizer_has_the_record_of_its_new_tokens(base: Path) -> None:
    first = build.build(recipe(base, months=1), str(base / "first"))
    own = f"{first.store.root}/tokenizer"
    other = build.build(
        recipe(base, tokenizer={"kind": "pretrained", "name": own, "as_of": "202301"}), str(base / "other")
    )
    assert growth.read(other.store) == growth.read(first.store) is not None
    assert other.info.tokenizer.sha256 == first.info.tokenizer.sha256


def test_a_tokenizer_that_grew_in_a_bucket_is_taken_by_its_corpus(base: Path, s3_bucket: str) -> None:
    first = build.build(recipe(base, months=1), s3_bucket)
    taken = {"kind": "pretrained", "name": "later@1", "as_of": "202301"}
    other = build.build(recipe(base, name="other", tokenizer=taken), s3_bucket)
    assert growth.read(other.store) == growth.read(first.store) is not None
    assert other.info.tokenizer.sha256 == first.info.tokenizer.sha256


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"base": {"name": "BASE", "as_of": "202302"}}, "202302"),
        ({"vocab_size": 380}, "tokenizer.vocab_size must be more than the 380 tokens of BASE, got 380"),
        ({"min_count": 10_000}, "no two pieces stand side by side 10000 times in 202301"),
        ({"base": {"name": "OTHER", "as_of": "202212"}}, "tokenizer.base.name: OTHER is no byte-level BPE"),
        ({"base": {"name": "absent@1", "as_of": "202212"}}, "tokenizer.base.name: absent@1: no corpus"),
    ],
    ids=["later", "small", "rare", "kind", "absent"],
)
def test_what_cannot_grow_is_refused_in_a_line(base: Path, changes: dict[str, Any], line: str) -> None:
    fast(metaspace()).save_pretrained(base / "other")
    places = {"BASE": str(base / "base"), "OTHER": str(base / "other")}
    if isinstance(changes.get("base"), dict):
        changes = changes | {"base": changes["base"] | {"name": places.get(n := changes["base"]["name"], n)}}
    for name, place in places.items():
        line = line.replace(name, place)
    with pytest.raises(InputError) as refused:
        build.build(recipe(base, tokenizer=grows(base / "base") | changes), str(base / "runs"))
    assert line in str(refused.value) and "\n" not in str(refused.value)


def test_a_damaged_record_of_new_tokens_is_named_and_copied_from_another_folder(grown: Path, tmp_path: Path) -> None:
    data = (grown / "tokenizer/grown.json").read_text()
    Store(tmp_path).write("tokenizer/grown.json", data.replace('"202301"', '"202302"').encode())
    with pytest.raises(InputError, match=r"is damaged.* copy it from the model folder"):
        growth.read(Store(tmp_path))
    shutil.copy(grown / "tokenizer/grown.json", tmp_path / "tokenizer/grown.json")
    assert growth.read(Store(tmp_path)) == growth.read(Store(grown))
