"""Models in GGUF, the format of llama.cpp, as folders with safetensors, which all else here works on."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from ticlm.core.errors import InputError, in_one_line
from ticlm.core.extras import require
from ticlm.methods.objectives import Causal

MAGIC = b"GGUF"


def found_at(path: Path) -> Path | None:
    """Return the file in GGUF that a path is, or that is alone of its kind in a folder without config.json; None for
    any other path. Raises InputError for a folder with several."""
    if path.is_dir():
        files = sorted(path.glob("*.gguf")) if not (path / "config.json").exists() else []
        if len(files) > 1:
            raise InputError(f"{path}: {len(files)} files in GGUF are there; name one, such as {files[0]}")
        return files[0] if files else None
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return path if file.read(len(MAGIC)) == MAGIC else None


def check(name: str, path: Path) -> None:
    """Raise InputError, with the command that makes a folder of it, if a path is a model in GGUF."""
    if (file := found_at(path)) is not None:
        raise InputError(f"{name} is a model in GGUF; make a folder of it with: ticlm convert {file} {file.stem}")


def convert(file: Path, folder: Path, tokenizer: Path | None = None) -> Any:
    """Write a model folder with the logits of a file in GGUF. Its weights become float32, and it appears when it is
    whole. Without `tokenizer` (a tokenizer.json, or a folder that has one) it has that of the file.

    Raises InputError if the folder exists, or if the file or its tokenizer cannot be read.
    """
    require("ticlm convert of GGUF", "gguf", "gguf", "accelerate")  # transformers asks for both
    from ticlm.platform.models import convert as folders_of

    folders_of.check_new(folder)
    module = _loaded(file)
    made = module.config
    files = folders_of.tokenizer_files(tokenizer, made.vocab_size) if tokenizer else {}
    own = _tokenizer(file) if not files else None
    del made.quantization_config  # which would have transformers look for the file again
    made._name_or_path = ""
    with folders_of.new_folder(folder) as whole:
        # the module remembers that it was quantised, and refuses to be saved: another one takes its weights
        plain = _plain(module)
        plain.save_pretrained(whole)
        if own is not None:
            own.save_pretrained(whole)
        for name, source in files.items():
            shutil.copyfile(source, whole / name)
        with file.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        about = {"format": "GGUF", "file": file.name, "sha256": digest}
        (whole / folders_of.SOURCE).write_text(json.dumps(about, indent=1))
    return folders_of.Converted(folder, type(plain).__name__, sum(one.numel() for one in plain.parameters()))


def _loaded(file: Path) -> Any:
    import torch
    from transformers import AutoModelForCausalLM

    how = {"gguf_file": file.name, "dtype": torch.float32, "local_files_only": True}
    try:
        return AutoModelForCausalLM.from_pretrained(file.parent, trust_remote_code=False, **how)
    except Exception as error:  # of a damaged file or an unknown architecture, transformers raises all kinds
        raise InputError(f"{file}: no causal model could be read: {in_one_line(error)}") from None


def _tokenizer(file: Path) -> Any:
    from transformers import AutoTokenizer

    how = {"gguf_file": file.name, "local_files_only": True}
    try:
        return AutoTokenizer.from_pretrained(file.parent, trust_remote_code=False, **how)
    except Exception as error:  # as above
        why = in_one_line(error)
        raise InputError(f"{file}: its tokenizer cannot be read: {why}; name another with --tokenizer PATH") from None


def _plain(module: Any) -> Any:
    from ticlm.platform.models.folders import filled

    return filled(module.state_dict(), module.config, Causal())
