"""A model in a folder: the same request has the same reply, whatever was asked before."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import dprs
import pytest

from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.datasets.llm.asking import Asker, ChatLimits
from ticlm.datasets.llm.chat import ChatRequest, Message
from ticlm.datasets.llm.journal import Journal
from ticlm.datasets.llm.local_chat import LocalChat

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
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, std=0.5)  # so that replies differ from each other
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


FOLDERS_OWN = {
    "do_sample": True,
    "temperature": 5.0,
    "top_k": 2,
    "top_p": 0.3,
    "num_beams": 3,
    "repetition_penalty": 9.0,
    "no_repeat_ngram_size": 1,
    "min_new_tokens": 4,
    "suppress_tokens": [6, 7],
}


def with_decoding(folder: Path, target: Path, file: str, said: dict[str, object]) -> Path:
    """A copy of a folder whose `file` also says how its model decodes; only one of the two files does."""
    shutil.copytree(folder, target)
    old = json.loads((target / file).read_text())
    (target / file).write_text(json.dumps(old | said))
    if file == "config.json":
        (target / "generation_config.json").unlink()
    return target


@pytest.mark.parametrize("file", ["generation_config.json", "config.json"])
@pytest.mark.parametrize("kind", ["t5", "llama"])
def test_how_a_folder_would_decode_changes_no_reply(
    folders: dict[str, Path], tmp_path: Path, kind: str, file: str
) -> None:
    plain = LocalChat(folder=str(folders[kind]), as_of="202301", max_tokens=6)
    other = LocalChat(folder=str(with_decoding(folders[kind], tmp_path / "own", file, FOLDERS_OWN)), as_of="202301")
    one, two = plain.open(), other.model_copy(update={"max_tokens": 6}).open()
    messages = [Message("user", "who is mayor of Ada")]
    for temperature, seed in ((0.0, 0), (0.0, 1), (0.0, 2), (1.0, 3), (0.7, 4)):
        said = two.complete(messages, temperature, seed, 1)
        assert said.texts == one.complete(messages, temperature, seed, 1).texts
        decoding = said.raw["decoding"]
        assert decoding["do_sample"] == (temperature > 0) and decoding["num_beams"] == 1
        assert temperature == 0 or (decoding["temperature"], decoding["top_k"]) == (temperature, 50)


def test_a_key_says_that_a_folder_was_not_followed_and_other_keys_stay(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    plain = LocalChat(folder=str(folders["t5"]), as_of="202301")
    assert plain.parameters == {"max_tokens": 128, "beams": 1}, "replies that are the same keep their keys"
    assert plain.identity.folder == plain.model.removeprefix("sha256:")
    same: dict[str, object] = {
        "max_length": 99,
        "temperature": 0.3,
        "top_k": 50,
        "do_sample": False,
        "renormalize_logits": False,
    }
    cases: list[tuple[str, dict[str, object], bool]] = [
        ("generation_config.json", same, True),
        ("generation_config.json", {"do_sample": True}, False),
        ("generation_config.json", {"repetition_penalty": 1.1}, False),
        ("config.json", {"no_repeat_ngram_size": 3}, False),
    ]
    for number, (file, said, followed) in enumerate(cases):
        folder = with_decoding(folders["t5"], tmp_path / str(number), file, said)
        chat = LocalChat(folder=str(folder), as_of="202301")
        assert (chat.parameters == plain.parameters) is followed, said
        assert (chat.identity.folder == chat.model.removeprefix("sha256:")) is followed, said
    (tmp_path / "0/generation_config.json").write_text("[" * 10**5)
    assert LocalChat(folder=str(tmp_path / "0"), as_of="202301").parameters == plain.parameters


def test_what_was_decoded_is_kept_with_the_reply(folders: dict[str, Path], tmp_path: Path) -> None:
    chat = LocalChat(folder=str(folders["llama"]), as_of="202301", max_tokens=4)
    with Journal(str(tmp_path / "r.jsonl")) as journal:
        Asker(journal, ChatLimits()).ask(chat, ChatRequest((Message("user", "who is mayor"),)))
    kept = json.loads((tmp_path / "r.jsonl").read_text())["raw"]["decoding"]
    assert kept == {"do_sample": False, "num_beams": 1, "max_new_tokens": 4} | {
        name: kept[name] for name in ("eos_token_id", "pad_token_id", "transformers_version", "num_return_sequences")
    }


OPENS = """
import sys
from ticlm.datasets.llm.local_chat import LocalChat
from ticlm.datasets.retrieval.encoders import DprEncoders
from ticlm.core.errors import InputError
for folder in sys.argv[1:]:
    try:
        if "chat" in folder:
            LocalChat(folder=folder, as_of="202301").open()
        else:
            DprEncoders(question=folder, context=folder, as_of="202301", device="cpu").encoded("question", None, ["a"])
        print("opened")
    except InputError as error:
        print("refused", error)
"""


def with_code(folder: Path, target: Path, trace: Path, known: bool) -> str:
    """A copy of a folder that names classes of its own, whose module leaves a trace when it is imported. `known`: its
    kind is one of transformers', so that it opens without them."""
    shutil.copytree(folder, target)
    (target / "evil.py").write_text(f"import pathlib\npathlib.Path({str(trace)!r}).touch()\n")
    classes = {"AutoConfig": "evil.C", "AutoModelForCausalLM": "evil.M"}
    own: dict[str, dict[str, object]] = {
        "config.json": {"auto_map": classes},
        "tokenizer_config.json": {"auto_map": {"AutoTokenizer": ["evil.T", None]}},
    }
    if not known:
        own["config.json"]["model_type"], own["tokenizer_config.json"]["tokenizer_class"] = "evil", "Evil"
    for file, said in own.items():
        (target / file).write_text(json.dumps(json.loads((target / file).read_text()) | said))
    return str(target)


def test_code_of_a_folder_is_neither_run_nor_asked_about(folders: dict[str, Path], tmp_path: Path) -> None:
    encoder = Path(dprs.make_encoders(tmp_path / "dpr")[0])
    evil = [
        with_code(folder, tmp_path / f"{what}-{known}", tmp_path / "ran", known)
        for what, folder in (("chat", folders["llama"]), ("encoder", encoder))
        for known in (True, False)
    ]
    ours, theirs = pty.openpty()  # a terminal, at which somebody says yes to everything
    try:
        os.write(ours, b"y\n" * 20)
        ran = subprocess.run(
            [sys.executable, "-c", OPENS, *evil], stdin=theirs, capture_output=True, text=True, timeout=300
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert not (tmp_path / "ran").exists() and "[y/N]" not in ran.stdout + ran.stderr
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert [line.split()[0] for line in ran.stdout.splitlines()] == ["opened", "refused"] * 2, ran.stdout


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
