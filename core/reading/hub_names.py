"""Names of models on a hub, and which files of a repository a model needs. `core.hub` fetches them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from ticlm.core.errors import InputError
from ticlm.core.reading import json_texts
from ticlm.core.reading.near import hint

NAME = re.compile(r"([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:@(\w[\w.+/-]*))?(?::([^:@]+))?")
PAGES = ("models", "datasets", "spaces")
"""What no organisation is called, as the hub has pages of these names; `models/STUDY` is a model of a study here."""
COMMIT = re.compile(r"[0-9a-f]{40}")
WEIGHTS = re.compile(r"(model(-\d+-of-\d+)?|adapters)\.safetensors")
SHARD = re.compile(r"model-\d+-of-(\d+)\.safetensors")
PICKLED = re.compile(r"pytorch_model[^/]*\.bin")
OTHER_WEIGHTS = re.compile(r".*\.(bin|pt|pth|ckpt|pkl|h5|msgpack|safetensors|gguf)")
TEXTS = re.compile(r"(?!.*\.bin\.index\.json|trainer_state\.json|requirements).*\.(json|txt|model|jinja|tiktoken|spm)")
"""Configurations, tokenizers and templates. Indices name other weights, and logs can be larger than weights."""
TOKENIZER = re.compile(r"(tokenizer|vocab|merges|special_tokens|added_tokens|spiece|sentencepiece|chat_template).*")
VOCABULARY = re.compile(r"tokenizer\.(json|model)|vocab\.(json|txt)|.*\.(spm|tiktoken)|(spiece|sentencepiece).*\.model")
Kind = Literal["model", "code", "tokenizer", "encoder"]
"""What is fetched: a model, one with its code, a tokenizer alone, or an encoder. The weights of an encoder may be
pickled, as those of DPR were published; torch reads them without running anything."""


@dataclass(frozen=True)
class HubName:
    """A repository of models, its branch, tag or commit ("": main), and a folder in it ("": the root)."""

    repository: str
    revision: str = ""
    subfolder: str = ""

    def __str__(self) -> str:
        revision = f"@{self.revision}" if self.revision else ""
        return f"{self.repository}{revision}{f':{self.subfolder}' if self.subfolder else ''}"

    @property
    def is_commit(self) -> bool:
        """Whether the revision is a whole commit, which never means anything else."""
        return COMMIT.fullmatch(self.revision) is not None


class OnlyPickles(InputError):
    """There are weights, and none that may be loaded."""


def parse(text: str) -> HubName | None:
    """Return the name of a model on a hub that a text spells, or None if it cannot be one."""
    found = NAME.fullmatch(text)
    if found is None or not {"", ".", ".."}.isdisjoint((found[3] or "x").split("/")):
        return None
    if found[1].partition("/")[0] in PAGES:
        return None
    return HubName(found[1], found[2] or "", found[3] or "")


def chosen(text: str, subfolder: str, kind: Kind, files: Collection[str]) -> list[str]:
    """Return the paths of the files that a model in a folder of a repository needs, of all files there. The tokenizer
    comes from the root if the folder has none.

    Raises InputError, which calls the model by `text`, if there is none that may be loaded.
    """
    prefix = f"{subfolder}/" if subfolder else ""
    names = sorted(one.removeprefix(prefix) for one in files if one.startswith(prefix))
    names = [one for one in names if "/" not in one]
    if not names and prefix:
        folders = sorted({file.rpartition("/")[0] for file in files if "/" in file})
        have = f"it has {', '.join(folders[:8]) or 'none'}{' …' if folders[8:] else ''}"
        raise InputError(f"{text}: no folder {subfolder} there{hint(subfolder, folders)}; {have}")
    if kind == "tokenizer":
        kept = [one for one in names if TOKENIZER.fullmatch(one) or one == "config.json"]
    else:
        kept = [*_weights(text, kind, names), *filter(TEXTS.fullmatch, names)]
        if "config.json" not in names:
            raise InputError(f"{text}: no config.json there, so no model that transformers can load")
        kept += [one for one in names if kind == "code" and one.endswith(".py")]
    found = [f"{prefix}{one}" for one in kept]
    if prefix and not any(map(VOCABULARY.fullmatch, names)):
        found += sorted(one for one in files if TOKENIZER.fullmatch(one) and "/" not in one and one not in names)
    return found


def _weights(text: str, kind: Kind, names: Sequence[str]) -> list[str]:
    """Return the names of the files of weights. Raises InputError if none may be loaded."""
    found = [one for one in names if WEIGHTS.fullmatch(one)]
    shards = [part for one in found if (part := SHARD.fullmatch(one))]
    if shards and len(shards) < int(shards[0][1]) and "model.safetensors" not in found:
        raise InputError(f"{text}: {len(shards)} of {int(shards[0][1])} files of weights are there")
    if any(one.startswith("model") for one in found):
        return found
    if kind == "encoder" and (pickled := list(filter(PICKLED.fullmatch, names))):
        return pickled
    others = [one for one in names if OTHER_WEIGHTS.fullmatch(one)]
    if gguf := [one for one in others if one.endswith(".gguf")]:
        raise InputError(f"{text}: weights in GGUF alone; download {gguf[0]}, and turn it into a folder: ticlm convert")
    if others:
        raise OnlyPickles(f"{text}: no model.safetensors, only {others[0]}, which may run code when it is loaded")
    raise InputError(f"{text}: no weights there (model.safetensors)")


def check_code(text: str, commit: str, config: bytes, trusted: Collection[str]) -> None:
    """Raise InputError if a model has code, by its config.json, at another commit than a trusted one, or in another
    repository, whose commit nobody named."""
    classes = json_texts.read_object(config).get("auto_map")
    if not isinstance(classes, dict):
        return
    if commit not in trusted:
        raise InputError(f"{text}: it is at commit {commit}; read its code, and trust that, or leave the flag out")
    if other := next((one for one in map(str, classes.values()) if "--" in one), None):
        raise InputError(f"{text}: its code is that of another repository ({other}), which is not run")
