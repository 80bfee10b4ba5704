"""`ticlm convert`: turn a released checkpoint of OpenLM, or a model in GGUF, into a model folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ticlm.core.errors import InputError


def convert(
    checkpoint: Annotated[
        Path, typer.Argument(metavar="CHECKPOINT", help="A checkpoint of OpenLM, epoch_N.pt; or a model in GGUF.")
    ],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The model folder to write; it must not exist.")],
    heads: Annotated[
        int | None,
        typer.Option(help="Attention heads of OpenLM; needed if no params.txt beside it names a known model."),
    ] = None,
    tokenizer: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Copy this tokenizer.json, or that of this folder, into the model folder."),
    ] = None,
) -> None:
    """Turn a checkpoint of OpenLM, as TiC-LM published them, or a model in GGUF, as llama.cpp reads them, into a
    Hugging Face folder with equal logits.

    A study starts from it with model: {kind: folder, path: FOLDER, as_of: PERIOD}; ticlm eval FOLDER scores it.
    """
    if not checkpoint.expanduser().exists():  # before torch is loaded, which takes seconds
        raise InputError(f"{checkpoint}: no such file")
    from ticlm.platform.cli.console import say
    from ticlm.platform.models import gguf_files

    if (file := gguf_files.found_at(checkpoint.expanduser())) is not None:
        made = gguf_files.convert(file, folder.expanduser(), tokenizer)
    else:
        from ticlm.platform.models import convert

        made = convert.convert(checkpoint.expanduser(), folder.expanduser(), heads, tokenizer)
    until = f"; its path says that it was trained up to {made.cutoff}" if made.cutoff else ""
    say(f"{made.folder}: {made.architecture}, {made.parameters:,} parameters{until}")
