"""Every key has a meaning, under the key; the reference shows it, and is current."""

from __future__ import annotations

import subprocess
import sys

import pytest
from paths import ROOT

from ticlm.core.settings import Settings
from ticlm.platform.cli.reference import page
from ticlm.platform.cli.reference.files import FILES
from ticlm.platform.cli.reference.meanings import meanings, summary

REACHABLE = list(dict.fromkeys(kind for file in FILES.values() for kind in page.reachable(file.settings)))


def test_the_walk_reaches_every_part() -> None:
    """The other tests would pass on an empty list."""
    names = {kind.__name__ for kind in REACHABLE}
    assert len(REACHABLE) > 90 and names >= {"Study", "AutoregressiveCosine", "EWC", "Imported", "Cadence", "Prepare"}
    assert names >= {"CrawlDocuments", "Phrase", "Lengths", "Wikidata", "ProperNouns", "Convention", "Part", "Scoring"}


@pytest.mark.parametrize("kind", REACHABLE, ids=lambda kind: kind.__name__)
def test_every_key_has_a_sentence_of_its_own(kind: type[Settings]) -> None:
    said = meanings(kind)
    assert summary(kind), "the class says what it is"
    for name in kind.model_fields:
        if name != "kind":
            assert name in said, f"{kind.__module__}.{kind.__name__}.{name} needs a docstring under it"
            assert said[name].endswith((".", ")")) and len(said[name]) > 15, said[name]


class Base(Settings):
    """A class."""

    one: int = 1
    """The first
    key."""
    two: int = 2


class Derived(Base):
    one: int = 3
    three: int = 3
    """Another key."""


def test_a_meaning_is_inherited_and_says_nothing_else() -> None:
    assert meanings(Base) == {"one": "The first key."}
    assert meanings(Derived) == {"one": "The first key.", "three": "Another key."}


@pytest.mark.parametrize(
    ("kind", "row"),
    [
        ("Study", "| `first_periods` | whole number > 0 or null | `null` |"),
        ("Study", "| `batch_rows` | whole number > 0 | required |"),
        ("Calendar", "| `only` | list of label or `tic-cc` or null | `null` |"),
        ("Calendar", "| `step` | one of `week`, `month`, `quarter`, `half-year`, `year` | `month` |"),
        (
            "Continual",
            "| `adapter` | [LoRA](#lora) or [KAdapter](#kadapter) or [Modular](#modular) or [Adapter](#adapter) or a"
            " class of your own or null | `null` |",
        ),
        ("Continual", "| `penalties` | list of [EWC](#ewc) or [LwF](#lwf) or a class of your own | `[]` |"),
        ("Resources", "| `workers` | whole number > 0 or list of 2: whole number, whole number | `1` |"),
        ("PresetModel", "| `changes` | mapping | `{}` |"),
        ("Continual", "| `seeds` | list, not empty, of whole number | `[0]` |"),
        ("FixedReplay", "| `alpha` | number > 0, ≤ 1 | `0.5` |"),
    ],
)
def test_a_row_says_type_default_and_meaning(kind: str, row: str) -> None:
    shown = page.section(next(one for one in REACHABLE if one.__name__ == kind))
    assert any(line.startswith(row) for line in shown.splitlines()), shown


def test_the_page_is_current() -> None:
    """Else write it anew: python docs/reference.py."""
    code = "import sys; from ticlm.platform.cli.reference import page; sys.stdout.buffer.write(page.text().encode())"
    made = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True)
    assert made.stdout.decode() == (ROOT / "docs/reference.md").read_text(), made.stderr.decode()
