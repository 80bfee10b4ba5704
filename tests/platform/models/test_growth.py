"""Models that grow with their tokenizer: new rows from the parts of new tokens, and nothing else changes."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError
from ticlm.core.settings import parse
from ticlm.core.store import Store
from ticlm.core.vocabulary import growth as records
from ticlm.core.vocabulary.growth import Growth
from ticlm.core.vocabulary.token_bytes import token_bytes
from ticlm.datasets.corpus import build
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.platform.models.growth import grow
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.external_inputs import external_inputs
from ticlm.platform.study.settings import Study
from ticlm.platform.study.stored_rounds import published
from ticlm.platform.tasks.packed_rows import Perplexity

OLD = 20
RECORD = Growth(
    base="toy", base_sha256="", base_size=OLD, period="202301", parts=((3, 4), (3, 4, 5), (19, 0, 1)), counts=(9, 8, 7)
)
LLAMA = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
PHI = {**LLAMA, "pad_token_id": None}
FAST = {"kind": "cosine", "max_rate": 5e-3, "warmup_steps": 1}
TOKENS = torch.tensor([[1, 3, 4, 5, 19, 7, 0, 2]])


def model(kind: str = "llama", rows: int = OLD, **changes: Any) -> PreTrainedModel:
    torch.manual_seed(0)
    ends = {"bos_token_id": 0, "eos_token_id": 0}
    made = AutoConfig.for_model(kind, vocab_size=rows, **(PHI if kind == "phi" else LLAMA), **ends, **changes)
    found = AutoModelForCausalLM.from_config(made).eval()
    if kind == "phi":  # its output layer has a bias, which begins as 0
        torch.nn.init.normal_(found.get_output_embeddings().bias)
    return found


def rows_of(layer: Any) -> torch.Tensor:
    return layer.weight  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("kind", "tied", "rows"), [("llama", True, OLD), ("llama", False, OLD), ("phi", False, OLD), ("llama", False, 64)]
)
def test_a_grown_model_says_the_same_of_old_tokens(kind: str, tied: bool, rows: int) -> None:
    """A row of `rows` beyond the tokenizer's is padding, and is taken before the tables grow."""
    module = model(kind, rows, tie_word_embeddings=tied)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    with torch.no_grad():
        plain = module(TOKENS, output_hidden_states=True)
    grow(module, RECORD, "parts", 0)
    with torch.no_grad():
        grown = module(TOKENS, output_hidden_states=True)
    size = max(rows, OLD + 3)
    assert grown.logits.shape[-1] == size == module.config.vocab_size
    assert torch.equal(grown.hidden_states[-1], plain.hidden_states[-1])
    torch.testing.assert_close(grown.logits[..., :OLD], plain.logits[..., :OLD], rtol=0, atol=1e-6)
    tables = 0
    for name, value in module.state_dict().items():
        if value.shape == before[name].shape and value.shape[0] not in (size, OLD):
            assert torch.equal(value, before[name]), name
            continue
        tables += 1
        assert torch.equal(value[:OLD], before[name][:OLD]), name
        assert torch.equal(value[OLD + 3 :], before[name][OLD + 3 :]), name
        for number, parts in enumerate(RECORD.parts):
            assert torch.equal(value[OLD + number], value[list(parts)].mean(0)), name
    assert tables == (3 if kind == "phi" else 2)
    tables_are_one = rows_of(module.get_input_embeddings()) is rows_of(module.get_output_embeddings())
    assert tables_are_one == tied


def test_growing_draws_no_random_number_of_the_process() -> None:
    module = model()
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    grow(module, RECORD, "random", 3)
    assert torch.equal(torch.rand(1), expected)


def test_rows_to_compare_with_are_the_mean_or_random() -> None:
    first, again, other, mean = (model(tie_word_embeddings=False) for _ in range(4))
    for module, rows, seed in ((first, "random", 1), (again, "random", 1), (other, "random", 2), (mean, "mean", 1)):
        grow(module, RECORD, rows, seed)  # type: ignore[arg-type]
    drawn = [rows_of(one.get_input_embeddings())[OLD:] for one in (first, again, other)]
    assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[0], drawn[2])
    assert not torch.equal(drawn[0], rows_of(first.get_output_embeddings())[OLD:])
    table = rows_of(mean.get_input_embeddings())
    assert torch.equal(table[OLD:], table[:OLD].mean(0, keepdim=True).expand(3, -1))


def test_a_model_smaller_than_its_tokenizer_does_not_grow() -> None:
    with pytest.raises(InputError, match="has 12 embeddings, its tokenizer 20 tokens"):
        grow(model(rows=12), RECORD, "parts", 0)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with corpora of the same texts: `old` trains its tokenizer, that of `new` grows from it; and `model`."""
    folder = tmp_path_factory.mktemp("growing")
    for month in range(1, 4):
        words = " ".join(f"lockdown{'xyz'[month % 3]} covid{n} spread again because vaccines arrived" for n in range(9))
        lines = [
            {"url": f"{month}/{n}", "text": f"{words} {n}", "timestamp": f"2023-{month:02}-05T00:00:00Z"}
            for n in range(60)
        ]
        (folder / f"2023{month:02}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    old = {
        "name": "old",
        "version": "1",
        "documents": {"kind": "files", "paths": [f"{folder}/*.jsonl"]},
        "periods": {"initial": "202301", "step": "month", "last": "202303"},
        "splits": {"eval": 0.2, "tune": 0.1},
        "length": 16,
        "executor": "process",
        "tokenizer": {"kind": "train", "vocab_size": 270},
    }
    grown = {"kind": "grown", "base": {"name": "old@1", "as_of": "202301"}, "vocab_size": 290}
    for recipe in (old, old | {"name": "new", "tokenizer": grown}):
        build.build(parse(CorpusRecipe, recipe, "recipe"), str(folder))
    model(rows=270).save_pretrained(folder / "model")
    shutil.copytree(folder / "corpora/old@1/tokenizer", folder / "model", dirs_exist_ok=True)
    return folder


def study(root: Path, make: Callable[..., Study], grows: str | None = "parts", **changes: Any) -> Study:
    imported = {"kind": "folder", "path": str(root / "model"), "as_of": "202301", "grow": grows}
    written = {
        "corpus": "new@1",
        "periods": {"initial": "202301", "step": "month", "last": "202303"},
        "model": imported,
        "initial": {"budget": 0, "schedule": FAST},
        "continual_tokens": {"steps": 3},
        "methods": [{"base": "cyclic-cosine", "schedule": FAST}, {"base": "lwf-per-token", "schedule": FAST}],
    }
    return make(**written | changes)


def test_a_study_starts_from_a_model_that_grows(root: Path, toy_study: Callable[..., Study]) -> None:
    """The first checkpoint is the grown model as it is; penalties and averages see models of its shape alone."""
    averaged = {"base": "cyclic-cosine", "name": "anchored", "schedule": FAST, "deploy": {"kind": "anchor"}}
    methods = [{"base": "lwf-per-token", "schedule": FAST}, averaged]
    made = plan.make(study(root, toy_study, methods=methods), str(root))
    assert external_inputs(made) == [
        "base of the tokenizer old@1, as of 202301",
        f"initial model {root}/model, grown by 20 tokens (parts), as of 202301",
    ]
    driver.train(made)
    assert not made.pending() and made.parameters is not None
    first = made.tree.runs[0].rounds["202301"]
    folder = root / published(Store(root), made.ids[first])
    loaded = AutoModelForCausalLM.from_pretrained(folder)
    expected = AutoModelForCausalLM.from_pretrained(root / "model")
    record = records.read(Store(folder), "")
    assert record is not None and loaded.config.vocab_size == 290
    grow(expected, record, "parts", 0)
    for name, value in expected.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], value), name
    other = plan.make(study(root, toy_study, "mean", methods=methods), str(root))
    assert other.pending() and not {*made.ids.values()} & {*other.ids.values()}, "how rows are made is part of ids"


@pytest.mark.parametrize(
    ("corpus", "grows", "own", "line"),
    [
        ("new@1", None, "old", "grew from it; give the model rows for the new tokens with model: {…, grow: parts}"),
        ("old@1", "parts", "old", "model.grow: the tokenizer of corpus old@1 did not grow from another one"),
        ("new@1", "parts", "new", "has the tokenizer of corpus new@1 already; leave grow out"),
        ("new@1", "parts", "other", "has not the tokenizer that the one of corpus new@1 grew from"),
        ("new@1", "parts", "", "has no tokenizer.json; put that of old@1 there, if it is the model's"),
    ],
    ids=["silently", "no growth", "grown already", "another", "none"],
)
def test_what_cannot_grow_is_refused_when_it_is_planned(
    root: Path, toy_study: Callable[..., Study], tmp_path: Path, corpus: str, grows: str | None, own: str, line: str
) -> None:
    shutil.copytree(root / "model", tmp_path / "model")
    file = tmp_path / "model/tokenizer.json"
    match own:
        case "new":
            shutil.copyfile(root / "corpora/new@1/tokenizer/tokenizer.json", file)
        case "other":
            file.write_text("{}")
        case "":
            file.unlink()
    imported = {"kind": "folder", "path": str(tmp_path / "model"), "as_of": "202301", "grow": grows}
    with pytest.raises(InputError) as refused:
        plan.make(study(root, toy_study, corpus=corpus, model=imported), str(root))
    assert line in str(refused.value) and "\n" not in str(refused.value)


def test_a_teacher_from_before_the_growth_is_refused(root: Path, toy_study: Callable[..., Study]) -> None:
    teacher = {"path": str(root / "model"), "as_of": "202301"}
    lwf = {"base": "lwf-per-token", "schedule": FAST, "penalties": [{"kind": "lwf", "teacher": teacher}]}
    made = plan.make(study(root, toy_study, methods=[lwf], batch_rows=2), str(root))
    with pytest.raises(InputError) as refused:
        driver.train(made)
    assert "\n" not in str(refused.value)
    assert str(refused.value) == (
        f"teacher {root}/model has a vocabulary of 270, the model one of 290: their predictions cannot be compared"
    )


class Even:
    """Takes two nats for each target."""

    def rows(self, rows: Any) -> tuple[Any, Any]:
        count = (rows["tokens"][:, 1:] >= 0).sum(1).astype(float)
        return 2 * count, count


def test_bytes_are_counted_from_the_tokens_that_are_scored(root: Path) -> None:
    task = Perplexity(compare="bits-per-byte")
    bits = dict[str, float]()
    for name in ("old@1", "new@1"):
        corpus = Corpus.open(str(root / f"corpora/{name}"))
        task.check(corpus)
        found = {one.metric: one for one in task.measure(Even(), corpus, "202302", 5)}  # type: ignore[arg-type]
        rows = [row for block in corpus.rows("202302", "eval").all(100) for row in block["tokens"]]
        tokenizer = corpus.tokenizer()
        size = sum(len(tokenizer.decode(row[1:], skip_special_tokens=True).encode()) for row in rows)
        assert found["bits-per-byte"].n == size < corpus.split("202302", "eval").bytes
        assert found["bits-per-byte"].value == pytest.approx(found["nll"].n * 2 / math.log(2) / size)
        bits[name] = found["bits-per-byte"].value
    assert bits["new@1"] < bits["old@1"], "fewer tokens of as many nats"
    assert Perplexity().metric == "nll" and task.metric == "bits-per-byte"


def test_bits_per_byte_of_other_tokenizers_are_refused(toy_root: Path, toy_study: Callable[..., Study]) -> None:
    task = {"kind": "perplexity", "compare": "bits-per-byte"}
    with pytest.raises(InputError, match=r"evaluations\.perplexity: .* corpus toy@1: no byte-level BPE") as refused:
        plan.make(toy_study(evaluations=[task]), str(toy_root))
    assert "\n" not in str(refused.value)
    file = (toy_root / "corpora/toy@1/tokenizer/tokenizer.json").read_bytes()
    with pytest.raises(InputError):
        token_bytes(file, 64, "toy")
