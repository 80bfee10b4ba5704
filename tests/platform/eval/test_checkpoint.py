"""A checkpoint as an answerer: the numbers of transformers alone, whatever is asked beside, and errors of one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from speakers import END, KINDS, TEXTS, byte_level, fast, said_directly, speaker
from transformers import LlamaForCausalLM

from ticlm.core.errors import InputError
from ticlm.methods.objectives import Causal, Seq2Seq
from ticlm.platform.eval.causal import CausalCheckpoint
from ticlm.platform.eval.checkpoint import load_checkpoint
from ticlm.platform.tasks.answerer import NO_TOKEN, TOO_LONG, Continuation, Cut

LONG = " ".join(TEXTS)


@pytest.fixture(scope="module", params=["byte level", "metaspace"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return speaker(tmp_path_factory.mktemp("model"), KINDS[request.param]())


@pytest.fixture(scope="module")
def checkpoint(folder: Path) -> CausalCheckpoint:
    return load_checkpoint(folder, Causal())


def ids(checkpoint: CausalCheckpoint, text: str) -> list[int]:
    return list(checkpoint.tokenizer(text, add_special_tokens=False)["input_ids"])


def scored(checkpoint: CausalCheckpoint, *pairs: tuple[str, str]) -> list[Continuation]:
    found = checkpoint.score(pairs)
    assert all(isinstance(one, Continuation) for one in found), found
    return [one for one in found if isinstance(one, Continuation)]


def test_short_texts_read_as_by_transformers_alone(folder: Path, checkpoint: CausalCheckpoint) -> None:
    texts = ["Paris", "", "Zoë was there too", "Köln or Łódź"]
    for text, reading in zip(texts, checkpoint.read(texts, Cut()), strict=True):
        tokens = ids(checkpoint, text)[:24]
        assert len(tokens) < 24 and len(reading.losses) == len(reading.offsets) == len(tokens)
        assert -reading.losses.sum() == pytest.approx(
            said_directly(folder, [checkpoint.before_texts], tokens), abs=1e-4
        )


def test_long_texts_are_read_in_windows(folder: Path, checkpoint: CausalCheckpoint) -> None:
    tokens = ids(checkpoint, LONG)
    (reading,) = checkpoint.read([LONG], Cut())
    assert len(reading.losses) == len(tokens) > 4 * checkpoint.window
    done, whole, shown = 0, 0.0, [checkpoint.before_texts, *tokens]
    while done < len(tokens):
        end = min(done + checkpoint.window, len(tokens))
        start = max(0, end - checkpoint.window)
        whole += said_directly(folder, shown[start : done + 1], tokens[done:end])
        done = end
    assert -reading.losses.sum(dtype=np.float64) == pytest.approx(whole, abs=1e-3)
    assert checkpoint.roll([LONG, ""]) == [(pytest.approx(whole, abs=1e-3), len(tokens)), (0.0, 0)]


def test_company_changes_nothing(checkpoint: CausalCheckpoint) -> None:
    alone = [checkpoint.read([text], Cut())[0] for text in TEXTS]
    for one, other in zip(alone, checkpoint.read([*TEXTS], Cut()), strict=True):
        np.testing.assert_allclose(one.losses, other.losses, atol=1e-4)
        assert one.bytes == other.bytes


def test_only_a_part_is_read(folder: Path, checkpoint: CausalCheckpoint) -> None:
    text = "Emmanuel Macron visited Paris"
    tokens = ids(checkpoint, text)
    (part,) = checkpoint.read([text], Cut(first=7, last=5, scores_first=False))
    assert len(part.losses) == 4
    assert -part.losses.sum() == pytest.approx(said_directly(folder, tokens[2:3], tokens[3:7]), abs=1e-4)
    (single,) = checkpoint.read([text], Cut(first=1, scores_first=False))
    assert len(single.losses) == 0 and single.bytes == 0


def test_continuations_score_as_by_transformers_alone(folder: Path, checkpoint: CausalCheckpoint) -> None:
    pairs = [
        ("Paris was", " there"),
        ("Paris was", " the mayor of"),
        ("", "Paris"),
        ("In 2019 the firm moved to", " Köln"),
    ]
    for (context, continuation), found in zip(pairs, scored(checkpoint, *pairs), strict=True):
        before = ids(checkpoint, context) or [checkpoint.before_texts]
        after = ids(checkpoint, context + continuation)[len(ids(checkpoint, context)) :]
        assert found.tokens == len(after) and not found.cut
        assert found.logprob == pytest.approx(said_directly(folder, before, after), abs=1e-4)


def test_a_context_that_does_not_fit_loses_its_beginning(folder: Path, checkpoint: CausalCheckpoint) -> None:
    (found,) = scored(checkpoint, (LONG, " Paris was there"))
    whole = ids(checkpoint, LONG + " Paris was there")
    assert found.cut
    kept = whole[-(checkpoint.window + 1) : -found.tokens]
    assert found.logprob == pytest.approx(said_directly(folder, kept, whole[-found.tokens :]), abs=1e-4)


def test_what_is_longer_than_the_window_has_no_number(checkpoint: CausalCheckpoint) -> None:
    beginnings = [("a", " " + LONG[:length]) for length in range(len(LONG))]
    tokens = [len(after) for _, after in checkpoint.encoder.pairs(beginnings)]
    longest = beginnings[tokens.index(checkpoint.window)]
    fits, too_long, nothing = checkpoint.score([longest, ("a", LONG), ("a", "")])
    assert isinstance(fits, Continuation) and fits.tokens == checkpoint.window
    assert (too_long, nothing) == (TOO_LONG, NO_TOKEN)


def test_choices_of_one_context_score_as_alone(checkpoint: CausalCheckpoint) -> None:
    choices = [" France", " the firm in Köln", " Paris", " a", " the mayor of Ålesund was there"]
    pairs = [(context, choice) for context in ("Paris is the capital of", LONG, "") for choice in choices]
    for pair, together in zip(pairs, scored(checkpoint, *pairs), strict=True):
        (alone,) = scored(checkpoint, pair)
        assert together.logprob == pytest.approx(alone.logprob, abs=1e-4)
        assert (together.tokens, together.greedy, together.cut) == (alone.tokens, alone.greedy, alone.cut)


def said_alone(folder: Path, prompt: list[int], tokens: int, end: int) -> list[int]:
    model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    said: list[int] = []
    for _ in range(tokens):
        with torch.no_grad():
            said.append(int(model(input_ids=torch.tensor([prompt + said])).logits[0, -1].argmax()))
        if said[-1] == end:
            return said[:-1]
    return said


def test_what_it_says_is_the_likeliest_token_after_token(folder: Path, checkpoint: CausalCheckpoint) -> None:
    prompts = ["Paris", "The mayor of Ålesund", "", LONG]
    for prompt, text in zip(prompts, checkpoint.generate(prompts, 6), strict=True):
        tokens = ids(checkpoint, prompt)[-(checkpoint.window - 6) :] or [checkpoint.before_texts]
        said = said_alone(folder, tokens, 6, checkpoint.before_texts)
        assert text == checkpoint.tokenizer.decode(said, skip_special_tokens=True)


def test_what_it_says_greedily_is_called_greedy(checkpoint: CausalCheckpoint) -> None:
    prompts = [LONG[:end] for end in range(3, 60)]
    said = checkpoint.generate(prompts, 1)
    pairs = [(prompt, text) for prompt, text in zip(prompts, said, strict=True) if text is not None]
    # where the text that was said is read as the one token that it was said with
    single = [(pair, ids(checkpoint, pair[1])) for pair in pairs]
    certain = [pair for pair, tokens in single if len(tokens) == 1 and ids(checkpoint, "".join(pair))[-1:] == tokens]
    assert len(certain) > 3, "the example has lost its point"
    assert all(one.greedy for one in scored(checkpoint, *certain))
    assert not all(one.greedy for one in scored(checkpoint, *((prompt, " Emmanuel") for prompt, _ in certain)))


def test_it_stops_where_it_is_told_to(checkpoint: CausalCheckpoint) -> None:
    (said,) = checkpoint.generate(["Paris"], 12)
    assert said is not None
    stop = said[len(said) // 2]
    assert checkpoint.generate(["Paris", "In Köln"], 12, stop)[0] == said[: said.index(stop)]


def test_how_a_folder_would_sample_is_not_asked(tmp_path: Path) -> None:
    plain = load_checkpoint(speaker(tmp_path), Causal()).generate(["Paris"], 8)
    wishes = {"do_sample": True, "temperature": 5.0, "repetition_penalty": 9.0, "num_beams": 3, "eos_token_id": 5}
    (tmp_path / "generation_config.json").write_text(json.dumps(wishes))
    assert load_checkpoint(tmp_path, Causal()).generate(["Paris"], 8) == plain


def test_no_room_for_a_prompt(checkpoint: CausalCheckpoint) -> None:
    with pytest.raises(InputError, match=r"24 tokens leave no room for a prompt in the window of .*, 24 tokens"):
        checkpoint.generate(["Paris"], 24)


def test_a_stride_beyond_the_window_is_refused(checkpoint: CausalCheckpoint) -> None:
    with pytest.raises(InputError, match=r"stride must be at most the window of .*, 24, got 25"):
        checkpoint.read(["Paris"], Cut(stride=25))


def test_a_model_without_numbers_says_nothing(tmp_path: Path) -> None:
    broken = load_checkpoint(speaker(tmp_path), Causal())
    assert None not in broken.generate(["Paris", "In Köln"], 3)
    broken.module.lm_head.weight.data[0, 0] = float("nan")
    assert broken.generate(["Paris", "In Köln"], 3) == [None, None]


def test_nothing_asked_nothing_said(checkpoint: CausalCheckpoint) -> None:
    assert [checkpoint.read([], Cut()), checkpoint.score([]), checkpoint.generate([], 3)] == [[], [], []]


def test_a_token_for_the_beginning_of_texts_stands_before_them(tmp_path: Path) -> None:
    speaker(tmp_path)
    made = fast(byte_level())
    made.bos_token = "a"
    made.save_pretrained(tmp_path)
    checkpoint = load_checkpoint(tmp_path, Causal())
    begin = made.convert_tokens_to_ids("a")
    assert begin not in (None, made.eos_token_id)
    ((logprob, _),) = checkpoint.roll(["Paris"])
    assert logprob == pytest.approx(said_directly(tmp_path, [begin], ids(checkpoint, "Paris")), abs=1e-4)


def without_tokenizer(folder: Path) -> str:
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").unlink()
    return "has no tokenizer, and the task reads text"


def with_a_damaged_one(folder: Path) -> str:
    (folder / "tokenizer.json").write_text('{"version": ')
    return "its tokenizer cannot be loaded: "


def with_no_end_of_text(folder: Path) -> str:
    made = fast(byte_level())
    made.eos_token = None
    made.save_pretrained(folder)
    return "names no end-of-text token"


def with_another_models_tokenizer(folder: Path) -> str:
    speaker(folder, vocab_size=30)
    return "they do not belong together"


@pytest.mark.parametrize(
    "broken", [without_tokenizer, with_a_damaged_one, with_no_end_of_text, with_another_models_tokenizer]
)
def test_folders_that_cannot_read_are_told_in_one_line(tmp_path: Path, broken: Any) -> None:
    speaker(tmp_path)
    message = broken(tmp_path)
    with pytest.raises(InputError, match=message) as error:
        load_checkpoint(tmp_path, Causal()).read(["Paris"], Cut())
    assert str(tmp_path) in str(error.value) and "\n" not in str(error.value)


def test_an_objective_of_another_architecture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"objective: seq2seq, but .* is no encoder-decoder"):
        load_checkpoint(speaker(tmp_path), Seq2Seq())


@pytest.mark.slow
def test_the_numbers_of_lm_evaluation_harness(folder: Path, checkpoint: CausalCheckpoint) -> None:
    harness = pytest.importorskip("lm_eval.models.huggingface")
    from lm_eval.api.instance import Instance

    rival = harness.HFLM(pretrained=str(folder), device="cpu", dtype="float32", max_length=checkpoint.window)

    def asked(kind: str, *arguments: tuple[str, ...]) -> list[Any]:
        requests = [Instance(request_type=kind, doc={}, arguments=one, idx=0) for one in arguments]
        return list(getattr(rival, kind)(requests, disable_tqdm=True))

    texts = [*TEXTS, LONG, "Paris"]
    theirs = asked("loglikelihood_rolling", *((text,) for text in texts))
    assert [value for value, _ in checkpoint.roll(texts)] == pytest.approx(theirs, rel=1e-5, abs=1e-4)
    # the harness counts spaces that end a context to the continuation, so there are none
    contexts = [text.rstrip() for text in (*TEXTS, LONG)]
    pairs = [(context, choice) for context in contexts for choice in (" France", " Paris was there", " a")]
    found = scored(checkpoint, *pairs)
    theirs = asked("loglikelihood", *pairs)
    assert [one.logprob for one in found] == pytest.approx([value for value, _ in theirs], rel=1e-5, abs=1e-4)
    assert [one.greedy for one in found] == [greedy for _, greedy in theirs]
    assert rival.tokenizer.eos_token == END


def test_the_same_choice_twice_is_equally_likely(checkpoint: CausalCheckpoint) -> None:
    pairs = [(f"The {i} answers are", " the same") for i in range(20)]
    found = checkpoint.score([pair for pair in pairs for _ in range(2)])
    assert found[::2] == found[1::2]
