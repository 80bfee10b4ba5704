"""The files of a published tokenizer, which travel with the models that are trained on its tokens."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from ticlm.core.reading.hub_names import TOKENIZER


def take_as_they_are(own: Path, saved: Path, tokenizer: Any) -> None:
    """Put a folder's own files of a tokenizer in place of those that transformers saved, which say the same in other
    words and under another hash; the chat template is one of them, or a part of one.

    Where they need more than themselves, as GPT-2's, whose end of text stands in the model's config.json, only
    tokenizer.json is taken.
    """
    if not (own / "tokenizer.json").is_file():
        return
    shutil.copyfile(own / "tokenizer.json", saved / "tokenizer.json")
    files = [file for file in own.iterdir() if file.is_file() and TOKENIZER.fullmatch(file.name)]
    with tempfile.TemporaryDirectory(prefix="ticlm-") as folder:
        for file in files:
            shutil.copyfile(file, Path(folder, file.name))
        if not _says_as_much(Path(folder), tokenizer):
            return
    shutil.rmtree(saved)  # several chat templates lie in a folder there
    saved.mkdir()
    for file in files:
        shutil.copyfile(file, saved / file.name)


def _says_as_much(folder: Path, tokenizer: Any) -> bool:
    """Return whether a folder's files by themselves are this tokenizer, with its special tokens and chat template."""
    from transformers import AutoTokenizer

    config = folder / "tokenizer_config.json"
    if not config.is_file():
        return False
    pad = json.loads(config.read_bytes()).get("pad_token")  # `padding` reads it there
    if (pad["content"] if isinstance(pad, dict) else pad) != tokenizer.pad_token:
        return False
    try:
        alone = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    except Exception:  # transformers raises many kinds; with the model's files it was loaded before
        return False
    told = (type(tokenizer), tokenizer.eos_token_id, tokenizer.pad_token_id, tokenizer.chat_template)
    return bool(told == (type(alone), alone.eos_token_id, alone.pad_token_id, alone.chat_template))
