"""Small models with tokenizers of several kinds, as folders, and what transformers says about their texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch import nn
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

END = "<|endoftext|>"
WINDOW = 24
PAD, START = 1, 5
"""Of `tiny_t5`."""
TEXTS = (
    "Emmanuel Macron visited Paris. The mayor of Ålesund was there too, and so was Zoë.",
    "In 2019 the firm moved to Köln; in 2021 it moved again, to Łódź or to Paris.",
    "def mean(values):\n    return sum(values) / len(values)\n",
    "Question: Fill in the blank: Paris is the capital of _____\nAnswer: France",
)


def byte_level(trim: bool = True) -> Tokenizer:
    """GPT-2's kind: every byte is a token, so that rare characters are cut into several."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=trim)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=380, special_tokens=[END], initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer


def metaspace() -> Tokenizer:
    """SentencePiece's kind: spaces are marks, a text begins with one, and unknown characters fall back to bytes."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.Sequence(
        [decoders.Metaspace(prepend_scheme="first"), decoders.ByteFallback(), decoders.Fuse()]
    )
    pieces = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=420, special_tokens=["<unk>", END, *pieces], show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer


def unigram() -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=150, special_tokens=["<unk>", END], unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS * 4, trainer)
    return tokenizer


KINDS: dict[str, Callable[[], Tokenizer]] = {
    "byte level": byte_level,
    "byte level, spaces in offsets": lambda: byte_level(trim=False),
    "metaspace": metaspace,
    "unigram": unigram,
}


def fast(tokenizer: Tokenizer) -> Any:
    """As transformers has it."""
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END)


def speaker(folder: Path, tokenizer: Tokenizer | None = None, window: int = 24, **changes: Any) -> Path:
    """A Llama of random weights that knows the tokenizer's tokens."""
    made = fast(tokenizer or byte_level())
    made.save_pretrained(folder)
    torch.manual_seed(3)
    config = LlamaConfig(
        **{
            "vocab_size": len(made),
            "hidden_size": 16,
            "intermediate_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "max_position_embeddings": window,
            "bos_token_id": None,
            "eos_token_id": made.eos_token_id,
        }
        | changes
    )
    model = LlamaForCausalLM(config)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.35)
    model.save_pretrained(folder)
    return folder


def tiny_t5(folder: Path, tokenizer: Tokenizer | None = None, **changes: Any) -> Path:
    """A T5 of random weights whose padding and start are tokens of their own."""
    made = fast(tokenizer or byte_level())
    made.save_pretrained(folder)
    torch.manual_seed(3)
    config = T5Config(
        **{
            "vocab_size": len(made),
            "d_model": 32,
            "d_kv": 8,
            "d_ff": 32,
            "num_layers": 2,
            "num_heads": 2,
            "n_positions": WINDOW,
            "pad_token_id": PAD,
            "eos_token_id": made.eos_token_id,
            "decoder_start_token_id": START,
        }
        | changes
    )
    model = T5ForConditionalGeneration(config)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.35)
    model.save_pretrained(folder)
    return folder


def tiny_gpt2(folder: Path, tokenizer: Tokenizer | None = None, window: int = 64) -> Path:
    """A GPT-2 of random weights, with positions of its own and an output layer that shares the embeddings."""
    made = fast(tokenizer or byte_level())
    made.save_pretrained(folder)
    torch.manual_seed(5)
    sizes = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": window}
    end = made.eos_token_id
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(made), bos_token_id=end, eos_token_id=end, **sizes))
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.35)
    model.save_pretrained(folder)
    return folder


@torch.no_grad()
def said_directly(folder: Path, context: Sequence[int], continuation: Sequence[int]) -> float:
    """ln P of tokens after others by transformers alone: one text, no padding, no windows."""
    model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    ids = torch.tensor([[*context, *continuation]])
    logs = model(input_ids=ids).logits[0].double().log_softmax(-1)
    places = range(len(context) - 1, len(context) + len(continuation) - 1)
    return float(sum(logs[place, token] for place, token in zip(places, continuation)))
