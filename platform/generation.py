"""Let a model speak: a prompt through a published checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ticlm.platform.errors import InputError
from ticlm.platform.store import Store, read_record


def generate(root: str, checkpoint: str, prompt: str, tokens: int, temperature: float, seed: int) -> str:
    """The prompt with what the model adds, up to its end of text or `tokens` tokens.

    `checkpoint` is a model folder or the first characters of a finished round's id in the root.
    """
    import torch
    from transformers import AutoTokenizer

    from ticlm.platform import model

    store, path = _find(root, checkpoint)
    with store.local(path) as folder:
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


def _find(root: str, checkpoint: str) -> tuple[Store, str]:
    if Path(checkpoint).is_dir():
        return Store(str(Path(checkpoint).resolve().parent)), Path(checkpoint).resolve().name
    if "://" in checkpoint:
        parent, _, name = checkpoint.rstrip("/").rpartition("/")
        return Store(parent), name
    store = Store(root)
    matches = [name for name in store.folders("rounds") if name.startswith(checkpoint)]
    if len(matches) != 1:
        have = ", ".join(name[:8] for name in store.folders("rounds")[:8]) or "none"
        raise InputError(f"{checkpoint}: {len(matches)} rounds start with it in {root}; there are {have} …")
    record = read_record(store, f"rounds/{matches[0]}")
    if record is None:
        raise InputError(f"round {matches[0][:8]} is not finished")
    return store, f"rounds/{matches[0]}/{record.attempt}/model"
