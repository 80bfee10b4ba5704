from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from uniseg.wordbreak import words as segments

from ticlm.datasets.filters.ngram_counts import Recurrence
from ticlm.datasets.filters.repetition import Repetition
from ticlm.datasets.io.documents import Document

OFF = {"lines": 9.0, "paragraphs": 9.0, "line_chars": 9.0, "paragraph_chars": 9.0, "most_common": (), "repeated": ()}


def reason(text: str, step: Repetition) -> str | None:
    document = Document(text=text, id="", timestamp=datetime(2014, 3, 1, tzinfo=UTC))
    result = step(document)
    return result if isinstance(result, str) else None


def only(**limits: object) -> Repetition:
    """A step with these limits and no others."""
    return Repetition.model_validate(OFF | limits)


def slow_reason(text: str, step: Repetition) -> str | None:
    """The rule written down once more, as plainly as possible and with strings."""

    def parts(between: str) -> list[str]:
        return [part.strip() for part in text.split(between) if part.strip()]

    def copies(found: list[str]) -> list[str]:
        return [part for part in found if found.count(part) > 1]

    def share(some: list[str], all_of_them: list[str]) -> float:
        return sum(map(len, some)) / sum(map(len, all_of_them))

    lines, paragraphs = parts("\n"), parts("\n\n")
    if len(lines) > 1 and len(copies(lines)) / len(lines) > step.lines:
        return "repeated lines"
    if len(paragraphs) > 1 and len(copies(paragraphs)) / len(paragraphs) > step.paragraphs:
        return "repeated paragraphs"
    if len(lines) > 1 and share(copies(lines), lines) > step.line_chars:
        return "characters in repeated lines"
    if len(paragraphs) > 1 and share(copies(paragraphs), paragraphs) > step.paragraph_chars:
        return "characters in repeated paragraphs"
    words = [word for word in segments(text) if word[0].isalnum()]
    if not words:
        return "without words"
    for n, limit in step.most_common:
        grams = Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
        most = max(((count, len("".join(gram))) for gram, count in grams.items()), default=(1, 0))
        if most[0] > 1 and most[0] * most[1] / len("".join(words)) > limit:
            return f"one {n}-gram too often"
    for n, limit in step.repeated:
        grams = Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
        again = [i for i in range(len(words) - n + 1) if grams[tuple(words[i : i + n])] > 1]
        covered = {at for i in again for at in range(i, i + n)}
        if share([words[at] for at in covered], words) > limit:
            return f"characters in repeated {n}-grams"
    return None


WORDS = ["a", "of", "the", "Of", "can't", "3.14", "漢字", "-", "...", "\n", "\n", "\n\n", "house", "water"]
LIMIT = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0, 2.0])


@settings(max_examples=500)
@given(
    st.lists(st.sampled_from(WORDS), max_size=40),
    st.builds(
        Repetition,
        lines=LIMIT,
        paragraphs=LIMIT,
        line_chars=LIMIT,
        paragraph_chars=LIMIT,
        most_common=st.tuples(*(st.tuples(st.just(n), LIMIT) for n in (1, 2, 3, 4))),
        repeated=st.tuples(*(st.tuples(st.just(n), LIMIT) for n in (2, 5, 6, 10))),
    )
    | st.just(Repetition()),
)
def test_repetition_is_what_the_slow_rule_finds(words: list[str], step: Repetition) -> None:
    text = " ".join(words)
    assert reason(text, step) == slow_reason(text, step)


@pytest.mark.parametrize(
    "step, within, beyond",
    [
        # all copies count: 3 of 10 lines, 4 of 13
        (only(lines=0.3), "a\n" * 3 + "b\nc\nd\ne\nf\ng\nh", "a\n" * 4 + "b\nc\nd\ne\nf\ng\nh\ni\nj"),
        (only(paragraphs=0.5), "a\n\na\n\nb\n\nc", "a\n\n\na\n\nb"),
        (only(line_chars=0.2), "ab\nab\n" + "c" * 16, "ab\n ab\t\n" + "c" * 15),
        (only(paragraph_chars=0.2), "ab\n\nab\n\n" + "c" * 16, "ab\n\nab\n\n" + "c" * 15),
        (only(lines=0.0), "a", "a\na"),
        # "a b" twice: 4 of 20 characters
        (only(most_common=((2, 0.2),)), "a b, a b " + "c" * 16, "a b, a b " + "c" * 15),
        # of "ab c" and "a b", twice each, the longer counts: 6 of 24
        (only(most_common=((2, 0.25),)), "ab c. ab c x d e y d e " + "z" * 12, "ab c. ab c x d e y d e " + "z" * 11),
        # "a a" twice, though its copies overlap: 4 of 6
        (only(most_common=((2, 2 / 3),)), "a a a bcd", "a a a bc"),
        # an n-gram that occurs once repeats nothing, however long
        (only(most_common=((2, 0.0),)), "one two three", "one two one two"),
        # every character counts once: "a a a" has two bigrams "a a" in 3 of 6 characters
        (only(repeated=((2, 0.5),)), "a a a bcd", "a a a bc"),
        (only(repeated=((5, 0.5),)), "a b c d e x a b c d e " + "y" * 9, "a b c d e x a b c d e " + "y" * 8),
        # case matters, marks do not
        (only(repeated=((2, 0.0),)), "a b A b", "a b ... a - b"),
    ],
)
def test_a_limit_may_be_reached_and_not_passed(step: Repetition, within: str, beyond: str) -> None:
    assert reason(within, step) is None
    assert reason(beyond, step) is not None
    assert slow_reason(within, step) is None and slow_reason(beyond, step) == reason(beyond, step)


def test_the_first_limit_that_is_passed_gives_the_reason() -> None:
    strict = {"lines": 0.0, "paragraphs": 0.0, "line_chars": 0.0, "paragraph_chars": 0.0}
    grams = {"most_common": ((2, 0.0), (3, 0.0)), "repeated": ((5, 0.0), (6, 0.0))}
    text = "a b c d e f\n\na b c d e f"
    expected = {
        "lines": "repeated lines",
        "paragraphs": "repeated paragraphs",
        "line_chars": "characters in repeated lines",
        "paragraph_chars": "characters in repeated paragraphs",
        "most_common": "one 2-gram too often",
        "repeated": "characters in repeated 5-grams",
    }
    limits: dict[str, object] = {**strict, **grams}
    for name, said in expected.items():
        assert reason(text, only(**limits)) == said
        del limits[name]
    assert reason(text, only()) is None


def test_characters_are_those_of_words() -> None:
    found = Recurrence.of("One, two; 3.5 — one... (two)!")
    assert found.chars == 3 + 3 + 3 + 3 + 3
    assert found.repeated(1) == 6 and found.repeated(2) == 0
    assert found.most_common(1) == 6 and found.most_common(2) == 0


def test_few_words_have_no_long_ngrams() -> None:
    assert Recurrence.of("one two").repeated(10) == 0
    assert Recurrence.of("").chars == 0 and Recurrence.of("").most_common(2) == 0
    assert reason("...", only()) == "without words"
