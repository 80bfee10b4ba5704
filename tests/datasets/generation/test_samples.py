"""Texts that a model writes by itself: the same ones each time, dated by what the model has read, as any documents."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from speakers import speaker

from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.periods import Calendar
from ticlm.core.settings import parse
from ticlm.core.store import Store
from ticlm.datasets.corpus import build
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.corpus.tokenizers import PretrainedTokenizer
from ticlm.datasets.generation import samples
from ticlm.datasets.generation.samples import ModelSamples
from ticlm.datasets.io.documents import Document, Skipped


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return speaker(tmp_path_factory.mktemp("models") / "mine", window=48)


def texts(source: ModelSamples) -> list[str]:
    found = [one for entry in source.inputs(Calendar()) for piece in source.pieces(entry) for one in source.read(piece)]
    assert all(isinstance(one, Document) and f"{one.timestamp:%Y%m%d}" == "20240201" for one in found if one)
    return [one.text for one in found if isinstance(one, Document)]


def test_texts_follow_from_the_seed_and_the_model_alone(folder: Path) -> None:
    import torch

    source = ModelSamples(model=str(folder), as_of="202402", documents=5, tokens=12, at_once=3)
    before = torch.random.get_rng_state()
    found = texts(source)
    assert found == texts(source) != texts(source.model_copy(update={"seed": 1}))
    assert torch.equal(before, torch.random.get_rng_state()), "random numbers of this process stay as they are"
    assert len(set(found)) == len(found) > 3
    stamps = [
        [one.stamp for one in each.inputs(Calendar())] for each in (source, source.model_copy(update={"seed": 1}))
    ]
    assert len(stamps[0]) == 2 and stamps[0] != stamps[1]


def test_a_model_that_ends_at_once_gives_no_bad_record(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ModelSamples, "_written", lambda self, batch, count: ["a text", *[" "] * (count - 1)])
    source = ModelSamples(model=str(folder), as_of="202402", documents=4, tokens=12)
    (entry,) = source.inputs(Calendar())
    found = [one for piece in source.pieces(entry) for one in source.read(piece)]
    assert [type(one) for one in found] == [Document, Skipped, Skipped, Skipped]


def test_each_token_says_that_the_work_goes_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`limits.record_cpu_s` is for one step: a batch of a large model takes hours."""
    places: list[str] = []
    monkeypatch.setattr(samples, "reached", places.append)
    texts(ModelSamples(model=str(folder), as_of="202402", documents=3, tokens=12))
    assert places == [f"token {number} of a batch" for number in range(1, len(places) + 1)] and len(places) > 3


def test_a_tokenizer_with_several_chat_templates_travels_whole(folder: Path, tmp_path: Path) -> None:
    """transformers writes them into a folder of their own."""
    chat = shutil.copytree(folder, tmp_path / "chat")
    config = json.loads((chat / "tokenizer_config.json").read_text())
    config["chat_template"] = [{"name": name, "template": "{{ messages }}"} for name in ("default", "tool_use")]
    (chat / "tokenizer_config.json").write_text(json.dumps(config))
    PretrainedTokenizer(name=str(chat), as_of="202402").save(Store(tmp_path / "corpus"))
    (saved,) = (tmp_path / "corpus").rglob("tokenizer_config.json")
    assert json.loads(saved.read_text())["chat_template"] == config["chat_template"]
    assert {one.name for one in saved.parent.iterdir()} <= {one.name for one in chat.iterdir()}


def test_a_model_that_moved_is_the_same_model(folder: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(folder, tmp_path / "moved")
    here, there = (ModelSamples(model=str(one), as_of="202402", tokens=12) for one in (folder, moved))
    assert fingerprint(here.identity) == fingerprint(there.identity)
    (moved / "README.md").write_text("no text depends on it")
    assert here.inputs(Calendar()) == there.inputs(Calendar())
    (moved / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:-1] + b"!")
    other = shutil.copytree(moved, tmp_path / "other")
    assert ModelSamples(model=str(other), as_of="202402", tokens=12).inputs(Calendar()) != here.inputs(Calendar())


def test_a_corpus_of_samples_is_built_like_any(folder: Path, tmp_path: Path) -> None:
    recipe = {
        "name": "samples",
        "version": 1,
        "documents": {"kind": "samples", "model": str(folder), "as_of": 202402, "documents": 40, "tokens": 20},
        "periods": {"initial": 202402, "last": 202402},
        "splits": {"eval": 0.5, "tune": 0, "by": "tokens"},
        "tokenizer": {"kind": "pretrained", "name": str(folder), "as_of": 202402},
        "length": 16,
        "executor": "process",
    }
    build.build(parse(CorpusRecipe, recipe, "samples.yaml"), str(tmp_path))
    corpus = Corpus.open(f"{tmp_path}/corpora/samples@1")
    assert corpus.split("202402", "eval").rows > 3 < corpus.split("202402", "train").rows
    own = {file.name: file.read_bytes() for file in folder.iterdir() if file.name.startswith(("tokenizer", "chat_"))}
    kept = Path(tmp_path, "corpora", "samples@1", "tokenizer")
    assert {file.name: file.read_bytes() for file in kept.iterdir()} == own, "the tokenizer travels unchanged"


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"documents.model: .* has no config.json"):
        ModelSamples(model=str(tmp_path), as_of="202402").inputs(Calendar())


def test_texts_longer_than_the_window_are_refused(folder: Path) -> None:
    with pytest.raises(InputError, match=r"documents\.tokens must be below the model's window of 48 tokens, got 48"):
        ModelSamples(model=str(folder), as_of="202402", tokens=48).inputs(Calendar())


def test_a_tokenizer_whose_end_of_text_stands_in_the_models_config_keeps_it(folder: Path, tmp_path: Path) -> None:
    """GPT-2's own configuration says how long texts may be, and nothing else."""
    from transformers import AutoTokenizer, GPT2Config

    bare = tmp_path / "bare"
    bare.mkdir()
    shutil.copyfile(folder / "tokenizer.json", bare / "tokenizer.json")
    (bare / "tokenizer_config.json").write_text('{"model_max_length": 1024}')
    GPT2Config(eos_token_id=0, bos_token_id=0).save_pretrained(bare)
    known = AutoTokenizer.from_pretrained(bare)
    if known.eos_token_id is None:
        pytest.skip("this transformers takes no end of text from a class")
    info = PretrainedTokenizer(name=str(bare), as_of="202402").save(Store(str(tmp_path / "corpus")))
    found = AutoTokenizer.from_pretrained(tmp_path / "corpus/tokenizer")
    assert (found.eos_token_id, type(found)) == (
        known.eos_token_id,
        type(known),
    ) and info.end_of_text == found.eos_token_id


def test_a_model_that_memory_cannot_hold_is_not_said_to_be_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`limits.record_memory` bounds what a batch takes, and the build says so of a MemoryError."""

    def refused(*_: object, **__: object) -> None:
        raise OSError("unable to mmap 4 bytes from file: Cannot allocate memory (12)")

    samples._loaded.cache_clear()
    monkeypatch.setattr("transformers.AutoModelForCausalLM.from_pretrained", refused)
    with pytest.raises(MemoryError):
        texts(ModelSamples(model=str(folder), as_of="202402", documents=1, tokens=12))
