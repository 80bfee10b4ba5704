"""A part of a static task: one benchmark, given by a file of questions or by its name in lm-evaluation-harness; and
the parts of CORE."""

from __future__ import annotations

from importlib.metadata import version
from typing import Literal

from pydantic import Field, model_validator

from ticlm.core.errors import InputError
from ticlm.core.extras import Extra, require
from ticlm.core.fingerprint import fingerprint
from ticlm.core.settings import Settings
from ticlm.core.store import Store

HARNESS = Extra("static", ("lm_eval",))
"""What static tasks are asked through."""


class Part(Settings):
    """One benchmark: JSON lines in LLM-Foundry's format (`file`), or a task of lm-evaluation-harness (`harness`).

    Each line of a file is a question with `choices`, a sentence with two beginnings (`context_options`), a text to be
    continued word for word (`continuation`), or a question with an `answer` and `aliases`; see `files.py`.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    """Name of the benchmark in results."""
    file: str | None = None
    """File of questions in LLM-Foundry's format, relative to `files` of the task."""
    harness: str | None = None
    """Name of a task of lm-evaluation-harness, in place of a file."""
    shots: int = Field(0, ge=0)
    """Number of solved examples before each question, drawn from the other questions."""
    seed: int = 1234  # the harness's default
    """Seed of that draw."""
    baseline: float | None = Field(None, ge=0, lt=1)
    """The accuracy of guessing. By default that of a blind choice among the choices of each question, or 0 if there are
    no choices."""
    delimiter: str = " "
    """Text between a question and its answer; a space at its end belongs to the answer."""
    between: str = "\n"
    """Text between solved examples."""
    chosen_by: Literal["tokens", "sum", "bytes"] = "tokens"
    """Which choice the model makes: the one with the highest log P per token (LLM-Foundry's rule, which CORE follows),
    in sum, or per byte."""
    answer_tokens: int = Field(64, gt=0)
    """The largest number of tokens to generate for a question with an `answer`."""
    metric: str = "acc"
    """The metric to take from a task of lm-evaluation-harness."""

    @model_validator(mode="after")
    def _one_source(self) -> Part:
        if (self.file is None) == (self.harness is None):
            raise ValueError(f"{self.name}: give either file, or harness (a task's name in lm-evaluation-harness)")
        return self

    def path(self, files: str) -> str:
        """Return the path of its file; `files` is the folder of files that are given by a relative path."""
        assert self.file is not None
        alone = "://" in self.file or self.file.startswith(("/", "~")) or not files
        return self.file if alone else f"{files.rstrip('/')}/{self.file}"

    def sha256(self, files: str) -> str:
        """Return what determines its questions: the hash of its file, or for a task of the harness a hash of its name
        and the harness's version, with which prompts may change. Raises InputError if the file or the harness is
        missing."""
        if self.file is None:
            return fingerprint(("lm-evaluation-harness", _harness_version(), self.harness))
        store, name = located(self.path(files))
        try:
            return store.sha256(name)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            raise InputError(
                f"task {self.name}: no file {self.path(files)}; `files` is the folder of the task files"
            ) from None

    @property
    def identity(self) -> Part:
        """The part without what changes no answer: the place of its file, and its baseline."""
        return self.model_copy(update={"file": None if self.file is None else "", "baseline": None})


def _harness_version() -> str:
    require("a task of the harness", HARNESS.name, *HARNESS.modules)
    return version("lm_eval")


def located(path: str) -> tuple[Store, str]:
    """Return the folder of a file, and its name in that folder."""
    from pathlib import Path

    if "://" not in path:
        path = str(Path(path).expanduser().resolve())
    folder, _, name = path.rpartition("/")
    return Store(folder or "/"), name


ANSWER = "\nAnswer: "


CORE: tuple[Part, ...] = (
    Part(name="hellaswag_zeroshot", file="language_understanding/hellaswag.jsonl"),
    Part(name="jeopardy", file="world_knowledge/jeopardy_all.jsonl", shots=10, delimiter=ANSWER),
    Part(name="bigbench_qa_wikidata", file="world_knowledge/bigbench_qa_wikidata.jsonl", shots=10),
    Part(name="arc_easy", file="world_knowledge/arc_easy.jsonl", shots=10, delimiter=ANSWER),
    Part(name="arc_challenge", file="world_knowledge/arc_challenge.jsonl", shots=10, delimiter=ANSWER),
    Part(name="copa", file="commonsense_reasoning/copa.jsonl"),
    Part(name="commonsense_qa", file="commonsense_reasoning/commonsense_qa.jsonl", shots=10),
    Part(name="piqa", file="commonsense_reasoning/piqa.jsonl", shots=10, delimiter=ANSWER),
    Part(name="openbook_qa", file="commonsense_reasoning/openbook_qa.jsonl"),
    Part(name="lambada_openai", file="language_understanding/lambada_openai.jsonl"),
    Part(name="hellaswag", file="language_understanding/hellaswag.jsonl", shots=10),
    Part(name="winograd", file="language_understanding/winograd_wsc.jsonl"),
    Part(name="winogrande", file="language_understanding/winogrande.jsonl"),
    Part(name="bigbench_dyck_languages", file="symbolic_problem_solving/bigbench_dyck_languages.jsonl", shots=10),
    Part(name="agi_eval_lsat_ar", file="symbolic_problem_solving/agi_eval_lsat_ar.jsonl", shots=3),
    Part(name="bigbench_cs_algorithms", file="symbolic_problem_solving/bigbench_cs_algorithms.jsonl", shots=10),
    Part(name="bigbench_operators", file="symbolic_problem_solving/bigbench_operators.jsonl", shots=10),
    Part(name="bigbench_repeat_copy_logic", file="symbolic_problem_solving/bigbench_repeat_copy_logic.jsonl", shots=10),
    Part(name="squad", file="reading_comprehension/squad.jsonl", shots=10),
    Part(name="coqa", file="reading_comprehension/coqa.jsonl"),
    Part(name="boolq", file="reading_comprehension/boolq.jsonl", shots=10, delimiter=ANSWER),
    Part(
        name="bigbench_language_identification",
        file="language_understanding/bigbench_language_identification.jsonl",
        shots=10,
    ),
)
"""The 22 parts of CORE. Shots are those of the settings released with TiC-LM. Paths and delimiters are those of DCLM as
far as they are known here; if a release differs, give the part its own."""
