"""Parts of speech: words in groups of one's own, by universal parts or by tags of a language."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sets import PERIOD, kept, measured
from speakers import speaker

from ticlm.core.errors import InputError
from ticlm.core.settings import parse
from ticlm.datasets.evalsets import recipe as benchmark
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe
from ticlm.datasets.examples.word_tags import GROUPS, PartsOfSpeech, ProperNouns, WordTagger
from ticlm.methods.objectives import Causal
from ticlm.platform.eval.checkpoint import load_checkpoint
from ticlm.platform.tasks.parts_of_speech import PartOfSpeechPerplexity

spacy = pytest.importorskip("spacy")

TEXT = "Oslo sold 12 ferries. 👩‍👩‍👧 Ada Byron visited 3 towns"
WORDS = {
    "proper noun": ["Oslo", "Ada", "Byron"],
    "noun": ["ferries", "towns"],
    "verb": ["sold", "visited"],
    "number": ["12", "3"],
}


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Rules for a few words: both kinds of tags, without training."""
    made = spacy.blank("en")
    ruler = made.add_pipe("attribute_ruler")
    rules = [
        ({"IS_ALPHA": True}, "NOUN"),
        ({"IS_DIGIT": True}, "NUM"),
        ({"IS_TITLE": True}, "PROPN"),
        ({"LOWER": {"IN": ["sold", "visited"]}}, "VERB"),
    ]
    for pattern, part in rules:
        ruler.add([[pattern]], {"POS": part})
    folder = tmp_path_factory.mktemp("pipeline") / "rules"
    made.to_disk(folder)
    return str(folder)


@pytest.fixture(scope="module")
def english(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tagger of a few tags of English, which has learned nothing."""
    made = spacy.blank("en")
    tagger = made.add_pipe("tagger")
    for tag in ("NNP", "NN", "VB", "CD"):
        tagger.add_label(tag)
    made.initialize()
    folder = tmp_path_factory.mktemp("pipeline") / "english"
    made.to_disk(folder)
    return str(folder)


def words(text: str, found: Any) -> dict[str, list[str]]:
    return {name: [text[start:end] for start, end in spans] for name, spans in found.items()}


def test_words_are_found_by_group_and_every_group_is_there(pipeline: str) -> None:
    tagger = WordTagger(PartsOfSpeech(pipeline=pipeline))
    found, empty = tagger([TEXT, ""])
    assert words(TEXT, found) == WORDS and empty == dict.fromkeys(GROUPS, ())
    mixed = PartsOfSpeech(pipeline=pipeline, groups={"names and numbers": ("PROPN", "NUM"), "name": ("PROPN",)})
    (found,) = WordTagger(mixed)([TEXT])
    assert words(TEXT, found) == {
        "names and numbers": ["Oslo", "12", "Ada", "Byron", "3"],
        "name": WORDS["proper noun"],
    }
    (nouns,) = WordTagger(ProperNouns(pipeline=pipeline))([TEXT])
    assert [*nouns.values()] == [found["name"]]


def test_tags_of_english_are_groups_where_the_pipeline_gives_them(pipeline: str, english: str) -> None:
    groups = {"proper noun": ("NNP",), "noun": ("NN",), "verb": ("VB",), "number": ("CD",)}
    settings = PartsOfSpeech(pipeline=english, groups=groups)
    assert settings.identity != PartsOfSpeech(pipeline=english, groups=groups | {"noun": ("NN", "NNP")}).identity
    (found,) = WordTagger(settings)([TEXT])
    assert [*found] == [*groups] and sum(map(len, found.values())) == len(spacy.blank("en")(TEXT)), "each has one tag"
    with pytest.raises(
        InputError, match=r"parts_of_speech.groups: .*rules never gives CD, NN, NNP, VB; it knows ADJ, "
    ):
        _ = PartsOfSpeech(pipeline=pipeline, groups=groups).identity
    with pytest.raises(InputError, match=r"parts_of_speech.groups: .*english never gives NOUN, NUM, PROPN, VERB; it "):
        _ = PartsOfSpeech(pipeline=english).identity
    with pytest.raises(InputError, match=r"^parts_of_speech.pipeline: nowhere is neither an installed spaCy package"):
        _ = PartsOfSpeech(pipeline="nowhere").identity
    for odd in ({}, {"": ("NOUN",)}, {"noun": ()}):
        with pytest.raises(InputError, match=r"^test: groups"):
            parse(PartsOfSpeech, {"pipeline": pipeline, "groups": odd}, "test")


def test_from_texts_to_the_perplexity_of_each_group(tmp_path: Path, pipeline: str, loop: None) -> None:
    lines = [{"text": TEXT, "timestamp": "2023-01-05"}, {"text": "who?", "answer": "Ada", "timestamp": "2023-01-05"}]
    (tmp_path / "texts.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    given: dict[str, Any] = {
        **{"name": "wiki", "version": "1", "parts_of_speech": {"pipeline": pipeline}, "nouns": {"pipeline": pipeline}},
        "examples": {"kind": "files", "paths": [str(tmp_path / "texts.jsonl")]},
    }
    recipe = parse(ExampleSetRecipe, given, "test")
    plain = recipe.model_copy(update={"parts_of_speech": None})
    assert recipe.identity != plain.identity
    data = benchmark.build(recipe, str(tmp_path / "root"))
    assert data.info.external_inputs == ("proper nouns by en_pipeline 0.0.0", "parts of speech by en_pipeline 0.0.0")
    by_text = {one.text: one for one in data.read(PERIOD, "all")}
    marked, question = by_text[TEXT], by_text["who?"]
    assert words(TEXT, marked.parts) == WORDS and (question.parts, question.nouns) == (None, None)
    assert marked.parts is not None and marked.nouns == marked.parts["proper noun"]
    checkpoint = load_checkpoint(speaker(tmp_path / "model", window=200), Causal())
    task = PartOfSpeechPerplexity(name="parts", examples="wiki@1")
    found = measured(task, checkpoint, kept(tmp_path / "texts", marked))
    assert [source for _, source in found] == ["", *GROUPS] and {metric for metric, _ in found} == {"nll"}
    assert all(one.n >= len(WORDS.get(source, ())) for (_, source), one in found.items())
