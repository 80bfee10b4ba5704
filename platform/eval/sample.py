"""A sample of what a published checkpoint writes after a prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ticlm.platform.core.errors import InputError
from ticlm.platform.core.store import Store
from ticlm.platform.eval import model_folder
from ticlm.platform.study.stored_rounds import check_model


def generate(root: str, checkpoint: str, prompt: str, tokens: int, temperature: float, seed: int) -> str:
    """Return the prompt with what a model adds to it, up to its end of text or `tokens` tokens; of an encoder–decoder,
    which reads the prompt and writes apart from it, what it writes.

    `checkpoint` names a model as `model_folder.find` reads it. Raises InputError if
    the prompt does not fit the model's window.
    """
    import torch

    from ticlm.platform.eval.checkpoint import load_checkpoint
    from ticlm.platform.eval.seq2seq import Seq2SeqCheckpoint

    place = model_folder.find(root, checkpoint)
    check_model(place)
    with Store(place).local("") as folder:
        model = load_checkpoint(Path(folder))
        tokenizer = model.tokenizer
    sampling: dict[str, Any] = {"do_sample": temperature > 0}
    if temperature > 0:
        sampling["temperature"] = temperature
    if isinstance(model, Seq2SeqCheckpoint):
        shown, room = model.context(prompt), model.window
        sampling["decoder_start_token_id"] = model.start
    else:
        shown, room = tokenizer(prompt or tokenizer.eos_token)["input_ids"], model.window - tokens
    if room < len(shown) or tokens > model.window:
        raise InputError(
            f"the prompt has {len(shown)} tokens, and the window of {model.window} leaves room for "
            f"{max(0, room)} beside {tokens} more; shorten one of them"
        )
    torch.manual_seed(seed)
    ids = torch.tensor([shown])
    output = model.module.generate(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=tokens,
        pad_token_id=tokenizer.eos_token_id,
        **sampling,
    )
    return str(tokenizer.decode(output[0], skip_special_tokens=True))
