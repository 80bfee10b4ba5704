"""Functions in the place of chat models: they read the prompts of probe construction and of EvolvingQA's questions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from ticlm.datasets.generation.stand_in import deterministic

CALLS: list[str] = []
"""The user messages of every call; those of `questioner` with the seed before them."""
FAILS_AT: list[int] = []
"""Numbers of calls that raise Killed."""


class Killed(BaseException):
    """Ends a call as a kill would."""


_MAYOR = re.compile(r"[Tt]he mayor of (\w+) is (\w+ \w+)\.")


def echo(messages: Sequence[Mapping[str, str]], seed: int) -> str:
    """Return the last message and the seed."""
    CALLS.append(messages[-1]["content"])
    return f"{messages[-1]['content']} {seed}"


def questioner(messages: Sequence[Mapping[str, str]], seed: int) -> str:
    """Write and judge questions by the rules of the package."""
    CALLS.append(f"{seed} {messages[-1]['content']}")
    if len(CALLS) in FAILS_AT:
        raise Killed
    return deterministic(messages, seed)


def always_a(messages: Sequence[Mapping[str, str]], seed: int) -> str:
    """Write questions by the rules, and choose the first option of every judgement."""
    return "(A)" if "(A)" in messages[-1]["content"] else deterministic(messages, seed)


def yes(messages: Sequence[Mapping[str, str]], seed: int) -> str:
    """Agree with everything."""
    return "True"


def clerk(messages: Sequence[Mapping[str, str]], seed: int) -> str:
    """Answer every prompt about mayors, and about nothing else."""
    text = messages[-1]["content"]
    CALLS.append(text)
    if len(CALLS) in FAILS_AT:
        raise Killed
    if text.startswith("Translate"):
        return text.rpartition("\n\n")[2].strip().replace("Lost Soul", "somebody")
    return json.dumps(_answer(text, seed))


def _answer(text: str, seed: int) -> object:
    found = _MAYOR.findall(text)
    if "Write up to" in text:
        return {"questions": [{"question": f"Who is the mayor of {t}?", "answer": name} for t, name in found]}
    town = (re.search(r"mayor of (\w+)", text) or ["", ""])[1]
    said = next((name for place, name in found if place == town), "")
    if "Write one statement" in text:
        return {"cloze": f"The mayor of {town} is <extra_id_0>."}
    if "Proposed answer" in text:
        proposed = (re.search(r"Proposed answer: (.*)", text) or ["", ""])[1]
        return {"supported": proposed == said, "passage": int(proposed == said)}
    if "from these passages alone" in text:
        numbers = [n for n, line in enumerate(re.findall(r"^\[.*", text, re.MULTILINE), 1) if said and said in line]
        return {"answer": said, "passage": numbers[0] if numbers else 0}
    if "Entities:" in text:
        sentences = re.findall(r"The mayor of \w+ is \w+ \w+\.", text)
        chosen = sentences[0] if sentences else ""
        return {"new": bool(chosen), "sentence": chosen, "entity": chosen[:-1].partition(" is ")[2]}
    if "Rewrite the sentence" in text:
        return {"sentence": (re.search(r"Sentence: (.*)", text) or ["", ""])[1]}
    # the second annotator, who has another seed, does not know everybody
    return {"question": f"Who is the mayor of {town}?", "answer": "nobody" if seed and "Odd" in said else said}
