"""Salient spans as rows: by hand on small streams, and in corpora that are built from a few sentences."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builds import hashes, without_ray
from hypothesis import given
from hypothesis import strategies as st

from ticlm.core.corpus import Corpus, TokenizerInfo
from ticlm.core.errors import InputError
from ticlm.core.settings import parse
from ticlm.core.store import Store
from ticlm.core.token_rows import Tokens
from ticlm.datasets.corpus import build, parts
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.corpus.row_makers import TokenStream
from ticlm.datasets.corpus.salient.marking import BEGIN, INSIDE, LONG, OUTSIDE, TITLE
from ticlm.datasets.corpus.salient.row_maker import LONG_TITLE, NO_SPAN, TOO_LONG, SalientSpans
from ticlm.datasets.text.spans import SENTINELS
from ticlm.datasets.text.taggers import RulesTagger
from ticlm.platform.run.check import check

PAD, END, FIRST = 0, 1, 900
IDS = tuple(range(FIRST, FIRST + 100))
TOKENIZER = TokenizerInfo(name="toy", vocab_size=1000, end_of_text=END, sha256="")
MAKER = SalientSpans(tagger=RulesTagger())
Document = Sequence[tuple[int, int]]
"""Tokens with their tags."""


def outside(*tokens: int) -> list[tuple[int, int]]:
    return [(token, OUTSIDE) for token in tokens]


def span(first: int, *others: int) -> list[tuple[int, int]]:
    return [(first, BEGIN), *((token, INSIDE) for token in others)]


def stream(documents: Sequence[Document], cuts: Sequence[int] = ()) -> TokenStream:
    """A stream of these documents, read in blocks that end at `cuts`."""
    marked = [pair for document in documents for pair in (*document, (END, OUTSIDE))]
    places = sorted(min(cut, len(marked)) for cut in cuts)

    def blocks(of: int, dtype: type) -> Iterator[Tokens]:
        yield from np.split(np.array([pair[of] for pair in marked], dtype), places)

    return TokenStream(len(marked), lambda: blocks(0, np.uint16), END, 7, lambda: blocks(1, np.uint8), sentinels=IDS)


def made(given: TokenStream, inputs: int, targets: int) -> list[tuple[list[int], list[int], tuple[int, int]]]:
    """The inputs and targets of every row without padding and ends, and the numbers of its spans."""
    maker = MAKER.model_copy(update={"inputs": inputs})
    columns = maker.columns(targets, TOKENIZER, PAD)
    found = []
    for block in maker.rows(given, columns):
        for row, other, numbers in zip(block["inputs"], block["targets"], block["spans"], strict=True):
            first, count = numbers.copy().view("<i8").tolist()
            found.append((text(row), text(other), (first, count)))
    return found


def text(row: Tokens) -> list[int]:
    (end,) = np.flatnonzero(row == END)
    assert (row[end + 1 :] == PAD).all() and not (row[:end] == PAD).any()
    return [int(token) for token in row[:end]]


def count(given: TokenStream, inputs: int, targets: int) -> tuple[int, int, dict[str, int]]:
    maker = MAKER.model_copy(update={"inputs": inputs})
    rows, tokens, left = maker.count(given, maker.columns(targets, TOKENIZER, PAD))
    return rows, tokens, {reason: number for reason, number in left.items() if number}


def test_a_chunk_ends_where_the_inputs_are_full_and_never_inside_a_span() -> None:
    document = [*outside(10, 11), *span(12, 13, 14), *outside(15), *span(16), *outside(17, 18)]
    assert made(stream([document]), 4, 20) == [
        ([10, 11, FIRST], [FIRST, 12, 13, 14, FIRST + 1], (0, 1)),
        ([15, FIRST, 17], [FIRST, 16, FIRST + 1], (1, 1)),
    ]
    assert count(stream([document]), 4, 20) == (2, 8 + 10, {NO_SPAN: 1})


def test_a_chunk_ends_where_the_targets_are_full() -> None:
    document = [*outside(10), *span(11, 12), *outside(13), *span(14, 15), *outside(16)]
    assert made(stream([document]), 99, 6) == [
        ([10, FIRST, 13], [FIRST, 11, 12, FIRST + 1], (0, 1)),
        ([FIRST, 16], [FIRST, 14, 15, FIRST + 1], (1, 1)),
    ]
    assert len(made(stream([document]), 99, 8)) == 1


def test_a_chunk_has_at_most_ninety_nine_spans() -> None:
    rows = made(stream([[pair for token in range(100, 205) for pair in span(token)]]), 300, 600)
    assert [numbers for _, _, numbers in rows] == [(0, 99), (99, 6)]
    assert rows[0][0] == list(IDS[:99]) and rows[0][1][-1] == IDS[99]


def test_chunks_without_a_span_are_left_out_and_counted() -> None:
    documents = [outside(*range(10, 17)), [*outside(20), *span(21)], outside()]
    assert made(stream(documents), 4, 9) == [([20, FIRST], [FIRST, 21, FIRST + 1], (0, 1))]
    assert count(stream(documents), 4, 9) == (1, 3 + 4, {NO_SPAN: 7})


def test_a_span_that_fits_no_target_ends_its_chunk_and_is_counted() -> None:
    long = [(token, LONG) for token in range(30, 38)]
    document = [*outside(10), *span(11), *long, *outside(12), *span(13)]
    assert made(stream([document]), 20, 6) == [
        ([10, FIRST], [FIRST, 11, FIRST + 1], (0, 1)),
        ([12, FIRST], [FIRST, 13, FIRST + 1], (1, 1)),
    ]
    assert count(stream([document]), 20, 6)[2] == {TOO_LONG: 8}


def test_the_title_stands_unmasked_before_every_chunk() -> None:
    title = [(40, TITLE), (41, TITLE)]
    document = [*title, *span(10), *outside(11, 12), *span(13), *outside(14)]
    rows = made(stream([document, [*title, *outside(15)]]), 6, 9)
    assert [inputs for inputs, _, _ in rows] == [[40, 41, FIRST, 11, 12], [40, 41, FIRST, 14]]
    assert count(stream([document, [*title, *outside(15)]]), 6, 9)[2] == {NO_SPAN: 3}
    assert count(stream([document]), 3, 9) == (0, 0, {LONG_TITLE: len(document)})


PIECES = st.lists(st.tuples(st.sampled_from(["span", "outside", "long"]), st.integers(1, 6)), max_size=15)


@given(st.lists(PIECES, min_size=1, max_size=5), st.lists(st.integers(0, 99), max_size=4), st.integers(3, 9))
def test_every_token_is_in_a_row_or_counted_however_the_stream_is_read(
    documents: list[list[tuple[str, int]]], cuts: list[int], inputs: int
) -> None:
    marked: list[Document] = []
    for pieces in documents:
        tokens: list[tuple[int, int]] = []
        for at, (kind, size) in enumerate(pieces):
            some = range(10 + at, 10 + at + size)
            tokens += {"span": span(*some), "outside": outside(*some), "long": [(t, LONG) for t in some]}[kind]
        marked.append(tokens)
    rows = made(stream(marked), inputs, 9)
    assert made(stream(marked, cuts), inputs, 9) == rows
    number, held, left = count(stream(marked, cuts), inputs, 9)
    assert (number, held) == (len(rows), sum(len(one) + len(other) + 2 for one, other, _ in rows))
    shown = sum(token < FIRST for one, other, _ in rows for token in (*one, *other))
    assert shown + sum(left.values()) == sum(len(document) for document in marked)
    assert all(other[0] == FIRST and sum(token >= FIRST for token in one) for one, other, _ in rows)


SENTENCES = (
    "On 3 May 2020 the mayor of New York met Angela Merkel in Łódź.",
    "Prices fell by 3% in March 2021, said the Bank of England,  and by 4,5 % in 2022.",
    "Nobody knew.\nThe old Grand Central was closed — « New Café » (1995) opened.",
    "It was said that <extra_id_0> and <extra_id_1> are of May 2001.",
    "東京 in 2020, and a family 👩‍👩‍👧 of 4 in the New Forest.",
)
TITLES = ("Mayors", "Who pays?", "", "Grand Central Station", "World News in 2020")


def documents(count: int) -> list[dict[str, str]]:
    """Documents of some sentences, with a title as the first line of each."""
    chance = random.Random(0)
    return [
        {
            "url": f"https://example/{number}",
            "text": f"{TITLES[number % 5]}\n" + " ".join(chance.choices(SENTENCES, k=chance.randint(1, 12))),
            "timestamp": "2023-01-07T12:00:00Z",
        }
        for number in range(count)
    ]


def recipe(folder: Path, lines: Sequence[dict[str, str]], **changes: Any) -> CorpusRecipe:
    folder.mkdir(exist_ok=True)
    (folder / "texts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    settings = {
        "name": "spans",
        "version": 1,
        "documents": {"kind": "files", "paths": [str(folder)]},
        "periods": {"initial": 202301, "last": 202301},
        "splits": {"eval": 0.2, "tune": 0},
        "tokenizer": {"kind": "train", "vocab_size": 600},
        "length": 48,
        "rows": {"kind": "salient-spans", "tagger": "rules", "inputs": 60, "title": True},
    }
    return parse(CorpusRecipe, settings | changes, "recipe")


def pairs(corpus: Corpus, split: str, period: str = "202301") -> list[tuple[str, str]]:
    """The inputs and targets of every row as text, without padding and ends."""
    tokenizer, reader = corpus.tokenizer(), corpus.rows(period, split)
    rows = reader.take(np.arange(len(reader)))
    whole = {name: [tokenizer.decode(row, skip_special_tokens=False) for row in rows[name]] for name in rows}
    ends = ("<pad>", "<|endoftext|>")
    for end in ends:
        whole = {name: [one.replace(end, "") for one in some] for name, some in whole.items()}
    return list(zip(whole["inputs"], whole["targets"], strict=True))


def filled(masked: str, target: str) -> str:
    """The text of a row: its spans in the place of their sentinels."""
    for number, sentinel in enumerate(SENTINELS):
        span = target.partition(sentinel)[2].partition(SENTINELS[(number + 1) % 100])[0]
        masked = masked.replace(sentinel, span)
    return masked


def without_forged(lines: list[dict[str, str]]) -> list[dict[str, str]]:
    return [line for line in lines if "<extra_id_" not in line["text"]]


def test_the_rows_of_a_corpus_are_the_texts_of_its_documents(tmp_path: Path, loop: None) -> None:
    lines = without_forged(documents(60))
    settings = {"kind": "salient-spans", "tagger": "rules", "inputs": 400}
    corpus = build.build(recipe(tmp_path / "texts", lines, rows=settings, length=400), str(tmp_path))
    found = [filled(*pair) for split in ("train", "eval") for pair in pairs(corpus, split)]
    short = [line["text"] for line in lines if len(line["text"]) < 300]
    assert len(short) > 10
    assert set(short) <= set(found)
    assert [(column.name, column.length) for column in corpus.info.columns] == [("inputs", 400), ("targets", 400)]


def test_every_chunk_begins_with_its_title_and_the_chunks_make_the_text(tmp_path: Path, loop: None) -> None:
    body = " and ".join(f"the Łódź of {year}" for year in range(1950, 1980))
    lines = [{**documents(1)[0], "text": f"Grand Central Station\n{body}"}]
    corpus = build.build(recipe(tmp_path / "texts", lines, splits={"eval": 0, "tune": 0}), str(tmp_path))
    texts = [filled(*pair) for pair in pairs(corpus, "train")]
    assert len(texts) > 2 and all(text.startswith("Grand Central Station. ") for text in texts)
    assert not corpus.periods["202301"].dropped
    pieces = sorted((text.removeprefix("Grand Central Station.") for text in texts), key=f" {body}".find)
    assert "".join(pieces) == f" {body}"


def test_the_spans_of_a_row_are_those_of_its_targets(tmp_path: Path, loop: None) -> None:
    corpus = build.build(recipe(tmp_path / "texts", documents(60)), str(tmp_path))
    known = {found.strip() for text in SENTENCES for found in _found(text)}
    for split in ("train", "eval"):
        rows, spans = pairs(corpus, split), list(corpus.spans("202301", split))
        assert len(rows) == len(spans) == corpus.split("202301", split).rows > 10
        for (masked, target), mine in zip(rows, spans, strict=True):
            texts = [part for part in target.split("<extra_id_")[1:-1]]
            assert [part.partition(">")[2].strip() for part in texts] == [span.text for span in mine]
            assert {span.text for span in mine} <= known and masked.count("<extra_id_") >= len(mine)
            assert {span.label for span in mine} <= {"DATE", "NAME", "NUMBER"}


def _found(text: str) -> list[str]:
    ((_, spans),) = RulesTagger().tagged([f"A {text}"])
    ((_, others),) = RulesTagger().tagged([f"A. {text} A"])
    return [f"A {text}"[s.begin : s.end] for s in spans] + [f"A. {text} A"[s.begin : s.end] for s in others]


def test_a_text_cannot_forge_a_sentinel(tmp_path: Path, loop: None) -> None:
    corpus = build.build(recipe(tmp_path / "texts", documents(60)), str(tmp_path))
    ids = {corpus.tokenizer().convert_tokens_to_ids(sentinel): at for at, sentinel in enumerate(SENTINELS)}
    reader = corpus.rows("202301", "train")
    rows = reader.take(np.arange(len(reader)))
    for inputs, targets, spans in zip(rows["inputs"], rows["targets"], corpus.spans("202301", "train"), strict=True):
        assert [ids[token] for token in inputs.tolist() if token in ids] == list(range(len(spans)))
        assert [ids[token] for token in targets.tolist() if token in ids] == list(range(len(spans) + 1))


def test_parts_change_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_ray(monkeypatch)
    lines = documents(300)
    some = recipe(tmp_path / "texts", lines, by_source=True)
    one = build.build(some, str(tmp_path / "one"))
    monkeypatch.setattr(parts, "LEAST_PART_BYTES", 4096)
    monkeypatch.setattr(parts, "count_of", lambda size: 5)
    several = build.build(some, str(tmp_path / "several"))
    assert hashes(one) == hashes(several)
    for split in ("train", "eval"):
        files = [[file.sha256 for file in corpus.split("202301", split).spans] for corpus in (one, several)]
        assert files[0] == files[1] != []


def test_a_tokenizer_without_sentinels_is_refused_in_a_line(tmp_path: Path) -> None:
    from speakers import byte_level
    from transformers import PreTrainedTokenizerFast

    plain = PreTrainedTokenizerFast(tokenizer_object=byte_level(), eos_token="<|endoftext|>", pad_token="<pad>")
    plain.save_pretrained(tmp_path / "plain")
    named = {"kind": "pretrained", "name": str(tmp_path / "plain"), "as_of": "201904"}
    with pytest.raises(InputError, match=r"plain lacks <extra_id_0> and 99 more, special tokens that these rows need"):
        build.build(recipe(tmp_path / "texts", documents(9), tokenizer=named), str(tmp_path))


def test_targets_need_room_for_a_span(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="length must be at least 4 for rows: salient-spans, got 3"):
        MAKER.columns(3, TOKENIZER, PAD)


def test_what_finds_the_spans_is_part_of_a_corpus(tmp_path: Path) -> None:
    lines = documents(1)
    rows = [
        {"kind": "salient-spans", "tagger": tagger, "title": title}
        for tagger in ("rules", {"kind": "rules", "labels": ["DATE"]}, {"kind": "rules", "labels": ["NAME"]})
        for title in (True, False)
    ]
    assert len({recipe(tmp_path, lines, rows=row).identity for row in rows}) == len(rows)


def test_a_corpus_of_other_rows_keeps_no_spans(tmp_path: Path, loop: None) -> None:
    corpus = build.build(recipe(tmp_path / "texts", documents(9), rows="prefix-lm"), str(tmp_path))
    with pytest.raises(InputError, match="keeps no spans of its rows"):
        next(corpus.spans("202301", "train"))


def test_a_pipeline_from_outside_is_declared_and_its_labels_are_kept(tmp_path: Path, loop: None) -> None:
    spacy = pytest.importorskip("spacy")
    made_here = spacy.blank("en")
    ruler = made_here.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "GPE", "pattern": "Łódź"}, {"label": "PERSON", "pattern": "Angela Merkel"}])
    made_here.meta["name"], made_here.meta["version"] = "toy", "1.0"
    made_here.to_disk(tmp_path / "pipeline")
    tagger = {"kind": "spacy", "pipeline": str(tmp_path / "pipeline"), "as_of": 201902}
    rows = {"kind": "salient-spans", "tagger": tagger, "inputs": 60}
    corpus = build.build(recipe(tmp_path / "texts", documents(40), rows=rows), str(tmp_path))
    assert corpus.info.external_inputs == ("salient spans by en_toy 1.0, as of 201902",)
    found = {span for spans in corpus.spans("202301", "train") for span in spans}
    assert found == {("Łódź", "GPE"), ("Angela Merkel", "PERSON")}


def test_damaged_spans_are_named(tmp_path: Path, loop: None) -> None:
    corpus = build.build(recipe(tmp_path / "texts", documents(20)), str(tmp_path))
    assert check(Store(str(tmp_path)))[1] == []
    (file,) = tmp_path.rglob("train/spans-00000.parquet")
    file.write_bytes(file.read_bytes()[:-9] + b"123456789")
    with pytest.raises(InputError, match=r"spans .*spans-00000\.parquet"):
        list(corpus.spans("202301", "train"))
    assert any("spans-00000.parquet" in problem for problem in check(Store(str(tmp_path)))[1])


def test_a_share_of_the_spans_is_masked_and_the_others_stand_in_the_inputs(tmp_path: Path, loop: None) -> None:
    """Which ones they are is decided by the text alone."""
    lines = [{**documents(1)[0], "text": f"The mayor met Ada Stone in {1700 + n}."} for n in range(200)]
    found = {}
    for share in (1, 0.6):
        rows = {"kind": "salient-spans", "tagger": "rules", "inputs": 40, "masked": share}
        asked = recipe(
            tmp_path / f"texts-{share}", lines, rows=rows, name=f"some-{share}", splits={"eval": 0, "tune": 0}
        )
        corpus = build.build(asked, str(tmp_path))
        spans = [one for row in corpus.spans("202301", "train") for one in row]
        found[share] = len(spans), sum(span.text.strip() == "Ada Stone" for span in spans)
        assert {filled(*pair) for pair in pairs(corpus, "train")} <= {line["text"] for line in lines}
    assert found[1] == (400, 200)
    assert 210 < found[0.6][0] < 270 and 95 < found[0.6][1] < 145, "3 deviations around 240 and 120"
