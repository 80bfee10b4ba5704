"""Tiny encoders of DPR with random weights, and a set of changes with questions about them."""

from __future__ import annotations

import string
from pathlib import Path

from ticlm.core.examples import Example


def make_encoders(folder: Path, size: int = 16) -> tuple[str, str]:
    """Write an encoder of questions and one of passages below a folder; return their folders."""
    import torch
    from transformers import BertTokenizerFast, DPRConfig, DPRContextEncoder, DPRQuestionEncoder

    pieces = [*string.ascii_lowercase, *string.digits]
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces, *(f"##{piece}" for piece in pieces), ".", "?"]
    config = DPRConfig(
        vocab_size=len(words),
        hidden_size=size,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=2 * size,
        max_position_embeddings=256,
        initializer_range=0.5,
    )
    folders = []
    for number, kind in enumerate((DPRQuestionEncoder, DPRContextEncoder)):
        torch.manual_seed(number)
        target = folder / ("question", "context")[number]
        kind(config).save_pretrained(target)
        (target / "vocab.txt").write_text("\n".join(words))
        BertTokenizerFast(vocab=dict(zip(words, range(len(words))))).save_pretrained(target)
        folders.append(str(target))
    return folders[0], folders[1]


def article(number: int, text: str) -> Example:
    return Example(id=f"{number}", text=text, about={"title": f"Town {number}", "article": f"{number}"})


def question(name: str, text: str, answer: str, context: str = "", outdated: str = "", of: str = "") -> Example:
    about = {"article": of, "context": context, "month": "202302"}
    return Example(
        id=name,
        text=text,
        question=text,
        answer=answer,
        outdated=(outdated,) if outdated else (),
        about={key: value for key, value in about.items() if value},
    )
