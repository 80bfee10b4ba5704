"""A model in a folder: the same request has the same reply, whatever was asked before."""

from __future__ import annotations

from pathlib import Path

import pytest

from ticlm.datasets.llm.asking import Asker, ChatLimits
from ticlm.datasets.llm.chat import ChatRequest, Message
from ticlm.datasets.llm.journal import Journal
from ticlm.datasets.llm.local_chat import LocalChat
from ticlm.platform.core.errors import InputError
from ticlm.platform.core.fingerprint import fingerprint

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import (
        LlamaConfig,
        LlamaForCausalLM,
        PreTrainedTokenizerFast,
        T5Config,
        T5ForConditionalGeneration,
    )

    words = {word: n for n, word in enumerate(["<pad>", "</s>", "<unk>", "who", "is", "mayor", "of", "Ada", "Stone"])}
    raw = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")
    torch.manual_seed(0)
    size = {"vocab_size": len(words), "pad_token_id": 0, "eos_token_id": 1}
    t5 = T5ForConditionalGeneration(
        T5Config(d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, decoder_start_token_id=0, **size)
    )
    llama = LlamaForCausalLM(
        LlamaConfig(
            hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, bos_token_id=None, **size
        )
    )
    made = {}
    for name, model in (("t5", t5), ("llama", llama)):
        made[name] = tmp_path_factory.mktemp(name)
        model.save_pretrained(made[name])
        tokenizer.save_pretrained(made[name])
    return made


@pytest.mark.parametrize("kind", ["t5", "llama"])
def test_a_folder_answers_the_same_each_time(folders: dict[str, Path], kind: str) -> None:
    chat = LocalChat(folder=str(folders[kind]), as_of="202301", max_tokens=4, beams=2)
    client = chat.open()
    messages = [Message("user", "who is mayor of Ada")]
    first = client.complete(messages, 0.0, 0, 2)
    sampled = client.complete(messages, 1.0, 7, 3)
    assert client.complete(messages, 0.0, 0, 2) == first and client.complete(messages, 1.0, 7, 3) == sampled
    assert len(first.texts) == 2 and len(sampled.texts) == 3 and first.prompt_tokens >= 5
    assert "who is mayor" not in first.texts[0], "the reply has not the question in it"
    with pytest.raises(InputError, match=r"chat\.beams: 3 replies"):
        client.complete(messages, 0.0, 0, 3)


def test_a_model_is_known_by_its_files_and_not_by_its_folder(folders: dict[str, Path], tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    folders["t5"].rename(moved)
    try:
        there = LocalChat(folder=str(moved), as_of="202301")
        known = there.model
    finally:
        moved.rename(folders["t5"])
    assert LocalChat(folder=str(folders["t5"]), as_of="202301").model == known
    assert LocalChat(folder=str(folders["llama"]), as_of="202301").model != known
    with pytest.raises(InputError, match=r"has no config\.json"):
        _ = LocalChat(folder=str(tmp_path), as_of="202301").model


@pytest.mark.ray
@pytest.mark.nightly  # each copy loads torch and transformers
def test_copies_on_ray_say_what_one_model_says(ray_local: None, folders: dict[str, Path], tmp_path: Path) -> None:
    alone = LocalChat(folder=str(folders["t5"]), as_of="202301", max_tokens=4)
    several = alone.model_copy(update={"workers": 2})
    assert fingerprint(several.identity) == fingerprint(alone.identity)
    asked = [ChatRequest((Message("user", text),), 1.0, 3) for text in ("who is mayor", "mayor of Ada", "Stone is")]
    assert [one.key(several) for one in asked] == [one.key(alone) for one in asked]
    refused = ChatRequest(asked[0].messages, n=3)
    with Journal(str(tmp_path / "one.jsonl")) as one, Journal(str(tmp_path / "two.jsonl")) as two:
        expected = Asker(one, ChatLimits()).ask_all(alone, asked)
        asker = Asker(two, ChatLimits(at_once=2))
        assert asker.ask_all(several, asked) == expected
        with pytest.raises(InputError, match=r"chat\.beams: 3 replies"):
            asker.ask(several, refused)
