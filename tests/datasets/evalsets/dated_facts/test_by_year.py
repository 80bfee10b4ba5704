"""KairosQA and TAQA: rows equal those of their stated rules, written out here again, whatever Python's hash seed is."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from paths import ROOT

from ticlm.core import settings
from ticlm.core.examples import Examples
from ticlm.datasets.evalsets import recipe as sets
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe, builds

pytestmark = pytest.mark.usefixtures("loop")

YEARS = range(2015, 2023)


def kairos_rows() -> list[dict[str, Any]]:
    """Questions with one or two values a year, values that come back, years in no order, and distractors."""
    chosen = random.Random(7)
    rows = []
    for number in range(12):
        answers: list[Any] = [
            [[f"v{number}-{chosen.randrange(5)}" for _ in range(chosen.choice((1, 1, 2)))], year]
            for year in chosen.sample(YEARS, 5)
        ]
        answers += [[[f"d{number}-{other}"], -1] for other in range(chosen.randrange(4))]
        chosen.shuffle(answers)
        rows.append(
            {
                "question": f"In {{year}}, who led firm {number}?",
                "multi_choice_answers": answers,
                "subject": f"firm {number}",
                "relation": "chief executive",
                "subject_rank": number,
            }
        )
    return rows


def kairos_literally(rows: list[dict[str, Any]], shots: int = 5) -> dict[int, list[tuple[str, list[str], str]]]:
    """(prompt, options in their order, the right one) by year, straight from the rules of the set."""
    made: dict[int, list[tuple[str, list[str], str]]] = {}
    for year in YEARS:
        asked = []
        for line, row in enumerate(rows):
            correct, others, distractors = [], [], []
            for values, of in row["multi_choice_answers"]:
                if of == year:
                    correct.extend(values)
                elif of == -1:
                    distractors.extend(values)
                else:
                    others.append((abs(of - year), values))
            if not correct:
                continue
            rng = random.Random(year + line)
            right = rng.choice(correct)
            options = [right]
            others.sort(key=lambda pair: pair[0])
            for candidate in [value for _, values in others for value in values] + sorted(distractors):
                if len(options) == 4:
                    break
                if candidate not in correct and candidate not in options:
                    options.append(candidate)
            rng.shuffle(options)
            asked.append((row["question"].format(year=year), options, right))
        before = "".join(f"{question} {right}\n\n" for question, _, right in asked[:shots])
        made[year] = [(before + question, options, right) for question, options, right in asked[shots:]]
    return {year: asked for year, asked in made.items() if asked}


def build(root: Path, **examples: Any) -> Examples:
    recipe = settings.parse(ExampleSetRecipe, {"name": "mine", "version": 1, "examples": examples}, "r")
    return sets.build(recipe, str(root))


def write(path: Path, rows: list[Any]) -> str:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return str(path)


def kairos_built(root: Path, path: str) -> dict[int, list[tuple[str, list[str], str]]]:
    """What the builder makes, in the form of `kairos_literally`; the order of the options follows from `place`."""
    made = build(root, kind="kairos-qa", paths=[path])
    found: dict[int, list[tuple[str, list[str], str]]] = {}
    for label in made.periods:
        for example in made.read(label, "all"):
            answer, *options = example.choices
            options.insert(int(example.about["place"]), answer)
            found.setdefault(int(label[:4]), []).append((example.text, options, answer))
    return found


def test_kairos_rows_are_those_of_its_rules(tmp_path: Path) -> None:
    rows = kairos_rows()
    found = kairos_built(tmp_path / "root", write(tmp_path / "test.jsonl", rows))
    assert found == kairos_literally(rows)
    assert (
        sum(map(len, found.values())) == sum(len({of for _, of in r["multi_choice_answers"]} - {-1}) for r in rows) - 40
    )
    assert {len(options) for asked in found.values() for _, options, _ in asked} >= {4}


TAQA: dict[str, list[Any]] = {
    "train": [{"question": "Who is mayor of Ulm?", "answer": {"2020": ["Ann", "Ann Alder"], "2019": ["Ben"]}}],
    "dev": [
        {"question": "Who leads Firm?", "answer": {"2019": ["Cay"], "2020": ["Cay"], "2021": []}, "avg_pageview": 7.5},
        {"question": "Who won?", "answer": {"2018": ["X"], "2019": ["Y"], "2020": ["Y", "Z"], "2021": ["X"]}},
    ],
}


def taqa_literally() -> set[tuple[str, str, str, str, tuple[str, ...], tuple[str, ...]]]:
    """(period, subset, prompt, answer, aliases, outdated) of each row, straight from the format."""
    made = set()
    for part, rows in TAQA.items():
        for row in rows:
            for year, texts in row["answer"].items():
                before = sorted((y for y in row["answer"] if y < year), reverse=True)
                outdated = [text for y in before for text in row["answer"][y] if text not in texts]
                prompt = f"Answer the following question: {row['question']}\nAs of year {year}, the answer is:"
                if texts:
                    unique = tuple(dict.fromkeys(outdated))
                    made.add((f"{year}01-{year}12", part, prompt, texts[0], tuple(texts[1:]), unique))
    return made


def taqa_built(root: Path, folder: Path) -> set[tuple[str, str, str, str, tuple[str, ...], tuple[str, ...]]]:
    made = build(root, kind="taqa", paths=[write(folder / f"{part}.jsonl", rows) for part, rows in TAQA.items()])
    return {
        (label, part, one.text, str(one.answer), one.aliases, one.outdated)
        for label in made.periods
        for part in ("train", "dev")
        for one in made.read(label, part)
    }


def test_taqa_rows_are_those_of_its_format(tmp_path: Path) -> None:
    assert taqa_built(tmp_path / "root", tmp_path) == taqa_literally()


def test_other_lines_are_counted(tmp_path: Path) -> None:
    good = kairos_rows()[:7]
    bad = ["{", {"question": " "}, {"question": "Who?", "multi_choice_answers": [["A", 2020]]}, {"question": "Who?"}]
    made = build(tmp_path / "root", kind="kairos-qa", paths=[write(tmp_path / "test.jsonl", [*good, *bad])], shots=2)
    rows, years = builds(made.store)[-1].steps[:2]
    assert rows.dropped == {"broken JSON line": 1, "without question": 1, "unreadable answers": 2}
    assert (rows.kept, years.read) == (7, 35)
    unreadable: list[Any] = [{"20": ["A"]}, {"2020": "A"}, ["A"], {"2020": []}]
    wrong = [{"question": "Who?", "answer": answer} for answer in unreadable]
    paths = [write(tmp_path / name, [*TAQA["train"], *wrong]) for name in ("test.jsonl", "other.jsonl")]
    (rows, _) = builds(build(tmp_path / "taqa", kind="taqa", paths=paths).store)[-1].steps
    assert rows.dropped == {"in a file that is none of train, dev, test": 5, "unreadable answers": 4}


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["0", "1", "271828"])
def test_no_hash_seed_changes_a_row(seed: str, tmp_path: Path) -> None:
    """The tests above, in a process of its own: the order of a set would show."""
    code = (
        "import sys; sys.path[:0] = ['tests/support', 'tests/datasets/evalsets/dated_facts']; import test_by_year as t;"
        "from pathlib import Path; to = Path(sys.argv[1]); rows = t.kairos_rows();"
        "assert t.kairos_built(to / 'a', t.write(to / 'test.jsonl', rows)) == t.kairos_literally(rows);"
        "assert t.taqa_built(to / 'b', to) == t.taqa_literally(); print('same')"
    )
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert "same" in done.stdout, done.stderr
