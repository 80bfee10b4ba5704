"""Let a model speak: a prompt through a published checkpoint."""

from __future__ import annotations

from pathlib import Path

from ticlm.platform.core.errors import InputError
from ticlm.platform.core.store import Store
from ticlm.platform.eval import model_folder


def generate(root: str, checkpoint: str, prompt: str, tokens: int, temperature: float, seed: int) -> str:
    """The prompt with what the model adds, up to its end of text or `tokens` tokens.

    `checkpoint` is a model folder or the first characters of a finished round's id in the root.
    """
    import torch

    from ticlm.methods.objectives import Causal
    from ticlm.platform.eval.checkpoint import Checkpoint

    with Store(model_folder.find(root, checkpoint)).local("") as folder:
        model = Checkpoint(Path(folder), Causal())
        tokenizer = model.tokenizer
    encoded = tokenizer(prompt or tokenizer.eos_token, return_tensors="pt")
    room = model.window - tokens
    if room < encoded["input_ids"].shape[1]:
        raise InputError(
            f"the prompt has {encoded['input_ids'].shape[1]} tokens, and the window of {model.window} leaves room for "
            f"{max(0, room)} beside {tokens} more; shorten one of them"
        )
    torch.manual_seed(seed)
    sampling = {"do_sample": True, "temperature": temperature} if temperature > 0 else {"do_sample": False}
    output = model.module.generate(
        input_ids=encoded["input_ids"],
        attention_mask=encoded["attention_mask"],
        max_new_tokens=tokens,
        pad_token_id=tokenizer.eos_token_id,
        **sampling,
    )
    return str(tokenizer.decode(output[0], skip_special_tokens=True))
