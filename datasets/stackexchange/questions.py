"""Questions of a site, as they stood when their accepted answer came, as examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ticlm.core.examples import Example
from ticlm.core.settings import Settings
from ticlm.datasets.examples.lengths import Lengths
from ticlm.datasets.stackexchange.posts import Post, label

UNKNOWN, EMPTY = "text of the time is not known", "without text"


class QuestionRules(Settings):
    """Which questions become examples, and which texts they show.

    A question belongs to the month in which its answer was accepted (`bin_by: acceptance`), or in which the answer that
    is now accepted was written (`answer`, as in TiC-LM's released code; also used if no vote gives the acceptance). All
    texts and scores are those at the end of that month, so no later edit, vote or answer reaches the example. Two facts
    come from the dump's own time: which answer is the accepted one, and with `votes: final` the scores (as released).

    `choices: none` keeps every accepted answer. `choices: two` adds the other answer with the lowest score, and keeps
    only clear winners. `others` selects these other answers: written by the end of that month (`month`), or not later
    than the accepted one (`before`, as released).
    """

    bin_by: Literal["acceptance", "answer"] = "acceptance"
    """Which date gives the month: when the answer was accepted, or when the accepted answer was written."""
    choices: Literal["none", "two"] = "none"
    """Whether a question shows its accepted answer alone, or also the other answer with the lowest score."""
    votes: Literal["as_of", "final"] = "as_of"
    """Whether scores are taken at the end of the question's month, or at the time of the dump."""
    others: Literal["month", "before"] = "month"
    """Which other answers count: those written by the end of that month, or not later than the accepted one."""
    lengths: Lengths = Lengths()
    """The longest query, and the longest query with its answer."""

    def example(self, question: Post, answers: Sequence[Post], site: str) -> tuple[int, Example] | str:
        """Return (month, the question as an example), or the reason why it is left out."""
        if not question.accepted:
            return "no accepted answer"
        accepted = next((answer for answer in answers if answer.id == question.accepted), None)
        if accepted is None:
            return "accepted answer is not there"
        by_vote = accepted.acceptance if self.bin_by == "acceptance" else None
        month = accepted.month if by_vote is None else by_vote
        if month < max(accepted.month, question.month):
            return "accepted before it was written"
        if question.is_deleted(month) or accepted.is_deleted(month):
            return "deleted at the time"
        about = {"site": site, "month": label(month), "answer": accepted.id}
        about["binned by"] = "answer" if by_vote is None else "acceptance"
        shown = [accepted]
        if self.choices == "two":
            other = self._other(accepted, answers, month)
            if isinstance(other, str):
                return other
            shown.append(other)
            about |= {"other": other.id, "votes": ", ".join(str(self._score(post, month)) for post in shown)}
        texts = self._texts(question, shown, month)
        if isinstance(texts, str):
            return texts
        query, choices = texts
        return month, Example(
            id=question.id,
            text=f"{query}\nAnswer:",
            answer=choices[0],
            choices=choices if len(choices) > 1 else (),
            source=site,
            about=about,
        )

    def _other(self, accepted: Post, answers: Sequence[Post], month: int) -> Post | str:
        """Return the other answer with the lowest score (the newest of equals), or the reason why there is none."""
        others = [
            post
            for post in sorted(answers, key=lambda post: (post.date, int(post.id)), reverse=True)
            if post.id != accepted.id
            and not post.is_deleted(month)
            and (post.month <= month if self.others == "month" else post.date <= accepted.date)
        ]
        if not others:
            return "no other answer"
        lowest = min(others, key=lambda post: self._score(post, month))
        if not clear_winner(self._score(accepted, month), self._score(lowest, month)):
            return "no clear winner"
        return lowest

    def _score(self, post: Post, month: int) -> int:
        return post.score if self.votes == "final" else post.score_at(month)

    def _texts(self, question: Post, answers: Sequence[Post], month: int) -> tuple[str, tuple[str, ...]] | str:
        """Return the query and the answers, cut to their limits, or the reason why the question is left out."""
        texts = [question.title(month), question.body(month), *(answer.body(month) for answer in answers)]
        known = [_clean(text) for text in texts if text is not None]
        if len(known) < len(texts):
            return UNKNOWN
        if not all(known):
            return EMPTY
        query = f"Question Title: {known[0]}\n\nQuestion Body: {known[1]}"
        choices = self.lengths.cut(query, tuple(known[2:]))
        if choices is None:
            return "query too long"
        return (query, choices) if len(set(choices)) == len(choices) else "answers are alike"


def clear_winner(accepted: int, other: int) -> bool:
    """Return whether the accepted answer's score is ahead by more than 20, or by at least 4 and four times as high.

    This is the rule of TiC-LM's released code. Against a score of zero or less, any lead of at least 4 is enough.
    """
    ahead = accepted - other
    return ahead > 20 or (ahead >= 4 and (other <= 0 or accepted >= 4 * other))


def _clean(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()
