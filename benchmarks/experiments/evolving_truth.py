"""The questions of EvolvingQA about the synthetic encyclopedia against what really changed in it: precision and recall.

python -m benchmarks.experiments.evolving_truth ROOT            # questions by rules
python -m benchmarks.experiments.evolving_truth ROOT --prompts  # through the prompts, answered by a stand-in

The tagger knows the names of the world. A question of NEW may also ask for the subject of a new sentence, which is no
news of its own; such questions are counted apart.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.truth.encyclopedia import truth
from benchmarks.truth.names import names_pipeline

from ticlm.core.examples import Examples
from ticlm.core.settings import parse
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe, build
from ticlm.datasets.synthetic.encyclopedia import Encyclopedia, EncyclopediaStyle
from ticlm.datasets.synthetic.world import SyntheticWorld

WORLD = SyntheticWorld(towns=32, firms=36, clubs=20, offices=10)
STYLE = EncyclopediaStyle(paragraphs=4, sentences=4, report=10, edits=0.1)
DAYS = [date(2023, month, 1) for month in range(2, 6)]
STAND_IN = {"kind": "deterministic", "function": "ticlm.datasets.generation.stand_in:deterministic"}
Found = set[tuple[str, ...]]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--prompts", action="store_true", help="write the questions by way of the prompts")
    parser.add_argument("--rules", choices=("plain", "strict"), default="plain", help="which rules write them")
    options = parser.parse_args(arguments)
    root = options.root.absolute()
    names_pipeline(WORLD, DAYS[-1]).to_disk(root / "names")
    wiki = {"world": WORLD.model_dump(), "encyclopedia": STYLE.model_dump(), "moved": "unchanged"}
    days = [f"{day:%Y%m%d}" for day in DAYS]
    made(root, "changes", {"kind": "wiki-revisions", "longer_than": 0, "wiki": wiki | {"snapshots": days}})
    tagger = {"kind": "spacy", "pipeline": str(root / "names"), "as_of": days[0][:6]}
    given = {"kind": "evolving-questions", "changes": str(root / "examples/changes@1"), "tagger": tagger}
    chat = {"chat": STAND_IN} if options.prompts else {}
    held_against_truth(
        made(root, "prompts" if chat else "rules", given | {"per_article": 1000, "rules": options.rules} | chat)
    )


def made(root: Path, name: str, given: dict[str, Any]) -> Examples:
    recipe = {"name": name, "version": 1, "examples": given, "executor": "process"}
    return build(parse(ExampleSetRecipe, recipe, name), str(root))


def held_against_truth(questions: Examples) -> None:
    """Print precision and recall of EDITED, NEW and UNCHANGED."""
    known = truth(Encyclopedia(WORLD, STYLE), DAYS)
    edited, true_edited, new, true_new, subjects = Found(), Found(), Found(), Found(), 0
    for month in known.months:
        label = f"{month.day:%Y%m}"
        for one in questions.read(label, "edited"):
            edited.add((label, one.about["title"], one.outdated[0], str(one.answer)))
        true_edited |= {(label, one.title, one.old_value, one.value) for one in month.edited}
        for one in questions.read(label, "new"):
            if one.answer == one.about["title"]:
                subjects += 1
            else:
                new.add((label, one.about["title"], str(one.answer)))
        true_new |= {(label, one.title, answer) for one in month.new for answer in one.answers}
    first = f"{DAYS[0]:%Y%m}"
    sides = [one for name in ("unchanged", "unchanged-train") for one in questions.read(first, name)]
    same: Found = {(one.about["title"],) for one in sides}
    shares("EDITED", edited, true_edited)
    shares("NEW", new, true_new)
    print(f"       and {subjects} questions of NEW that ask for the subject of a new sentence")
    shares("UNCHANGED (articles)", same, {(title,) for title in known.unchanged})


def shares(name: str, found: Found, true: Found) -> None:
    right = len(found & true)
    print(f"{name}: precision {right / len(found):.3f} of {len(found)}, recall {right / len(true):.3f} of {len(true)}")


if __name__ == "__main__":
    main()
