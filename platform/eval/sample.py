"""Samples of what published checkpoints write after a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ticlm.core.errors import InputError
from ticlm.core.progress import Show
from ticlm.core.reading.characters import unpaired
from ticlm.core.store import Store
from ticlm.platform.eval import model_folder
from ticlm.platform.study.stored_rounds import check_model

if TYPE_CHECKING:
    from ticlm.platform.eval.checkpoint import Checkpoint
    from ticlm.platform.eval.model_folder import StudyModel


def generate(root: str, checkpoint: str, prompt: str, tokens: int, temperature: float, seed: int) -> str:
    """Return the prompt and a model's continuation, up to its end of text or `tokens` tokens. For an encoder–decoder,
    which reads the prompt and writes apart from it, return the written text alone.

    `checkpoint` names a model as `model_folder.find` reads it. A temperature of 0 takes the likeliest token each time;
    how the folder would have its model sample or penalise does not count. Raises InputError if the prompt is empty, is
    no text, has no token, or does not fit the model's window.
    """
    check_prompt(prompt)
    return _written(model_folder.find(root, checkpoint), prompt, tokens, temperature, seed)[0]


def continuations(
    models: Sequence[StudyModel], prompt: str, tokens: int, temperature: float, seed: int, show: Show
) -> list[str]:
    """Return what each model writes after a prompt, without the prompt. One model at a time is loaded, and a round that
    several methods share once."""
    check_prompt(prompt)
    written: dict[str, str] = {}
    show.begin("models", len({one.round for one in models}), "models")
    for one in models:
        if one.round not in written:
            written[one.round] = _written(one.folder, prompt, tokens, temperature, seed)[1]
            show.update("models", len(written))
    show.end("models")
    return [written[one.round] for one in models]


def check_prompt(prompt: str) -> None:
    """Raise InputError if a prompt is empty or no text."""
    if not prompt:
        raise InputError("the prompt is empty; give a text to go on from")
    if half := unpaired(prompt):
        raise InputError(f"the prompt has {half}, half of a surrogate pair, which is no character; give UTF-8 text")


def _written(place: str, prompt: str, tokens: int, temperature: float, seed: int) -> tuple[str, str]:
    """Return the prompt with the continuation of the model of a folder, and the continuation alone."""
    check_model(place)
    model_folder.objective(place)
    # torch takes seconds to load: only after all that is known without it
    import torch

    from ticlm.platform.eval import decoding
    from ticlm.platform.eval.checkpoint import load_checkpoint
    from ticlm.platform.eval.seq2seq import Seq2SeqCheckpoint

    with Store(place).local("") as folder:
        model = load_checkpoint(Path(folder))
        shown = _shown(model, prompt, tokens)
        start = model.start if isinstance(model, Seq2SeqCheckpoint) else None
        torch.manual_seed(seed)
        drawn = decoding.drawn(model.module, shown, tokens, temperature, _ends(model), start)
        whole = str(model.tokenizer.decode(drawn, skip_special_tokens=True))
        if start is not None:
            return whole, whole
        if whole.startswith(prompt):  # a decoder of the new tokens alone may lose the space before them
            return whole, whole[len(prompt) :]
        return whole, str(model.tokenizer.decode(drawn[len(shown) :], skip_special_tokens=True))


def _shown(model: Checkpoint, prompt: str, tokens: int) -> list[int]:
    """Return the tokens that the model reads of a prompt, with the special ones around it."""
    from ticlm.platform.eval.seq2seq import Seq2SeqCheckpoint

    plain = model.tokenizer(prompt, add_special_tokens=False, verbose=False)["input_ids"]
    if not plain:
        raise InputError(f"the prompt {prompt[:40]!r} has no token of this model; give a text to go on from")
    if isinstance(model, Seq2SeqCheckpoint):
        shown, room = model.context(prompt), model.window - sum(map(len, model.around))
        count = len(plain)
    else:
        shown, room = list(model.tokenizer(prompt, verbose=False)["input_ids"]), model.window - tokens
        count = len(shown)
    if room < count or tokens > model.window:
        raise InputError(
            f"the prompt has {count} tokens, and the window of {model.window} leaves room for "
            f"{max(0, room)} beside {tokens} more; shorten one of them"
        )
    model.known(max(shown))
    return shown


def _ends(model: Checkpoint) -> list[int]:
    """Return the tokens that end a text: the tokenizer's, and those that the folder names, such as the end of a turn of
    a chat model."""
    named = getattr(getattr(model.module, "generation_config", None), "eos_token_id", None)
    every = [model.tokenizer.eos_token_id, *(named if isinstance(named, list) else [named])]
    return sorted({token for token in every if type(token) is int and 0 <= token < model.vocabulary})
