"""Let a model speak: a prompt through a published checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ticlm.platform import modelfolder
from ticlm.platform.store import Store


def generate(root: str, checkpoint: str, prompt: str, tokens: int, temperature: float, seed: int) -> str:
    """The prompt with what the model adds, up to its end of text or `tokens` tokens.

    `checkpoint` is a model folder or the first characters of a finished round's id in the root.
    """
    import torch
    from transformers import AutoTokenizer

    from ticlm.platform import model

    with Store(modelfolder.find(root, checkpoint)).local("") as folder:
        module: Any = model.load(Path(folder)).eval()
        tokenizer = AutoTokenizer.from_pretrained(folder)
    encoded = tokenizer(prompt or tokenizer.eos_token, return_tensors="pt")
    torch.manual_seed(seed)
    sampling = {"do_sample": True, "temperature": temperature} if temperature > 0 else {"do_sample": False}
    output = module.generate(
        input_ids=encoded["input_ids"],
        attention_mask=encoded["attention_mask"],
        max_new_tokens=tokens,
        pad_token_id=tokenizer.eos_token_id,
        **sampling,
    )
    return str(tokenizer.decode(output[0], skip_special_tokens=True))
