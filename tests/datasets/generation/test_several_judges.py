"""Several judges: their votes decide together, and what each would keep and how far they agree is counted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ticlm.core import settings
from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.settings import Settings
from ticlm.datasets.generation.agreement import KEPT, VERDICTS, agreement, verdicts_by_prompt
from ticlm.datasets.generation.calls import PromptCalls
from ticlm.datasets.generation.judges import AnyJudges, each, identities
from ticlm.datasets.generation.judging import JudgeVotes, judged
from ticlm.datasets.generation.prompts import read_prompts
from ticlm.datasets.llm.asking import Asker, ChatLimits
from ticlm.datasets.llm.function_chat import DeterministicChat
from ticlm.datasets.llm.journal import Journal

RULES: dict[str, Any] = {"kind": "deterministic", "function": "chats:questioner"}
FIRST: dict[str, Any] = {"kind": "deterministic", "function": "chats:always_a"}
YES: dict[str, Any] = {"kind": "deterministic", "function": "chats:yes"}
GPT: dict[str, Any] = {"kind": "openai", "model": "m", "as_of": "202301"}
RECORD: dict[str, Any] = {"kind": "recorded", "path": "replies.jsonl", "of": GPT}
PAIRS = [{"first": "28", "second": "Twenty-Eight"}, {"first": "28", "second": "29"}]


class Panel(Settings):
    """Settings with judges."""

    judge: AnyJudges | None = None
    """The judges."""


def test_votes_of_all_judges_decide_and_each_ones_verdicts_are_counted(tmp_path: Path) -> None:
    chats = [DeterministicChat.model_validate(one) for one in (RULES, YES, FIRST)]
    with Journal(str(tmp_path / "replies.jsonl")) as journal:
        calls = PromptCalls(Asker(journal, ChatLimits(at_once=1)), read_prompts("")[0])
        assert judged(calls, chats[:2], JudgeVotes(), "equivalent", PAIRS) == ["true", "tie"]
        counts = calls.statistics()
        assert counts["calls by prompt"] == {"equivalent": 2 * 2 * 6}, "each with the same seeds and orders"
        assert counts[KEPT] == {"equivalent: judge 1, chats:questioner": 1, "equivalent: judge 2, chats:yes": 0}
        assert counts[VERDICTS] == {"equivalent: true, true": 1, "equivalent: false, true": 1}
        assert counts["judges"]["equivalent: votes true"] == 18
        # the third takes the first option: of its own it decides nothing, and it tips no balance
        assert judged(calls, chats, JudgeVotes(seeds=(0,)), "equivalent", PAIRS) == ["true", "tie"]
        third = calls.statistics()
        assert third[VERDICTS] == {"equivalent: true, true, tie": 1, "equivalent: false, true, tie": 1}
        assert judged(calls, chats[:2], JudgeVotes(decide="all"), "equivalent", PAIRS) == ["true", "tie"]
        calls.statistics()
        assert judged(calls, chats[:1], JudgeVotes(), "equivalent", PAIRS) == ["true", "false"]
        assert not {KEPT, VERDICTS} & calls.statistics().keys(), "one judge agrees with nobody"


def test_kappa_is_that_of_the_books() -> None:
    two = {("yes", "yes"): 20, ("yes", "no"): 5, ("no", "yes"): 10, ("no", "no"): 15}
    assert agreement(two)[:2] == (50, 35) and agreement(two).kappa == pytest.approx(0.4)
    assert agreement({("true", "true"): 3}).kappa is None
    # Fleiss (1971) as its article in Wikipedia works it out: 10 subjects, 14 raters, 5 categories
    rows: list[tuple[int, ...]] = [
        (0, 0, 0, 0, 14),
        (0, 2, 6, 4, 2),
        (0, 0, 3, 5, 6),
        (0, 3, 9, 2, 0),
        (2, 2, 8, 1, 1),
        (7, 7, 0, 0, 0),
    ]
    rows += [(3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7)]
    said = Counter(tuple(word for word, count in enumerate(row) for _ in range(count)) for row in rows)
    assert agreement(said).kappa == pytest.approx(0.20993, abs=1e-5) and agreement(said).same == 1
    counts = {"equivalent: true, tie": 2, "supported: false, true": 3}
    assert verdicts_by_prompt(counts) == {"equivalent": {("true", "tie"): 2}, "supported": {("false", "true"): 3}}
    with pytest.raises(ValueError, match="nobody judged"):
        agreement({})


def test_one_judge_keeps_its_identity_and_a_list_of_one_is_that_one() -> None:
    alone = settings.parse(Panel, {"judge": RECORD}, "recipe")
    assert settings.parse(Panel, {"judge": [RECORD]}, "recipe") == alone
    # as before judge could be a list
    assert fingerprint(identities(alone.judge)) == fingerprint(each(alone.judge)[0].identity)
    assert identities(None) is None and each(None) == ()
    several = settings.parse(Panel, {"judge": [GPT, RULES]}, "recipe")
    assert identities(several.judge) == tuple(one.identity for one in each(several.judge))


@pytest.mark.parametrize(
    "given, said",
    [
        ([GPT, RULES, RECORD], "judge: judge 3 is the same model as judge 1"),
        ([], "judge: needs at least 1, has 0"),
        ([GPT, {**RULES, "functoin": "x"}], r"judge\.1\.functoin"),
        ({**GPT, "modle": "x"}, r"judge\.modle"),
    ],
)
def test_judges_that_cannot_be_are_refused_in_a_line(given: object, said: str) -> None:
    with pytest.raises(InputError, match=said) as found:
        settings.parse(Panel, {"judge": given}, "recipe")
    assert "\n" not in str(found.value)
