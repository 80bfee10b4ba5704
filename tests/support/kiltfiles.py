"""Small files in KILT's real JSON lines: all eleven datasets, and TriviaQA's questions in both of their forms."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

WIKIPEDIA = [{"wikipedia_id": "534366", "title": "Barack Obama", "start_paragraph_id": 1, "end_paragraph_id": 1}]
LONG = (
    "Soap has one end that likes water and another end that likes fat so it pulls the grease off your hands and the "
    "water carries both of them away down the drain"
)
ASKED: Mapping[str, Sequence[tuple[str, tuple[str, ...]]]] = {
    "fever": (("Homer Simpson is yellow.", ("SUPPORTS",)), ("The moon is a fish.", ("REFUTES",))),
    "ay2": (("SOCCER - [START_ENT] JAPAN [END_ENT] GET LUCKY WIN", ("Japan",)),),
    "wnwi": (("The river [START_ENT] Rhine [END_ENT] flows north", ("Rhine",)),),
    "wncw": (("Songs of [START_ENT] Queen [END_ENT] live", ("Queen",)),),
    "trex": (("Oslo [SEP] country", ("Norway", "Kingdom of Norway")),),
    "zsre": (("Hamlet [SEP] author", ("Shakespeare", "William Shakespeare")),),
    "nq": (("who wrote the book", ("Anna Berg", "A. Berg")), ("when did it open", ("1905",))),
    "hopo": (("Which of the two towns is older?", ("Trier",)),),
    "tqa": (("Which river runs through Rome?", ("Tiber", "The Tiber", "Tevere")),),
    "eli5": (("Why does soap clean hands?", (LONG, "It binds fat to water.")),),
    "wow": (("I like bread.\nSo do I, which kind?\nRye bread.", ("Rye is a grass grown as a grain",)),),
}
"""Dataset -> (input, answers) of its rows."""


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of a dataset as KILT has them; those of TriviaQA without inputs, and with a last output of provenance
    alone, as many have."""
    found = []
    for number, (text, answers) in enumerate(ASKED[name]):
        output: list[dict[str, Any]] = [{"answer": answer, "provenance": WIKIPEDIA} for answer in answers]
        row: dict[str, Any] = {"id": f"{name}_{number}", "input": text, "output": [*output, {"provenance": WIKIPEDIA}]}
        if name == "tqa":
            row = {"id": row["id"], "output": row["output"]}
        found.append(row | {"meta": {"left_context": "", "mention": "", "right_context": ""}})
    return found


def written(path: Path, lines: Sequence[Any]) -> str:
    """Write JSON lines (a text as it stands), and return the path."""
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return str(path)


def trivia(path: Path) -> str:
    """Write TriviaQA's questions: as in its release (`.json`), or as rows of `unfiltered.nocontext`."""
    asked = {f"tqa_{number}": text for number, (text, _) in enumerate(ASKED["tqa"])}
    if path.suffix == ".json":
        data = [{"QuestionId": k, "Question": v, "Answer": {"Value": "?"}} for k, v in asked.items()]
        path.write_text(json.dumps({"Data": data, "Domain": "unfiltered-web"}))
        return str(path)
    return written(path, [{"question_id": k, "question": v, "answer": {"value": "?"}} for k, v in asked.items()])
