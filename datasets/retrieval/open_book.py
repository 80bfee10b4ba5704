"""Open-book prompts: a question with a context that it may be answered from, as a reader sees them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ticlm.datasets.text.matching import whole_words

FORM = "context: {context}question: {question}"
"""The paper's input of the reader (EvolvingQA's code), without a space before `question:`."""
_PLACEHOLDER = re.compile(r"\{(\w*)\}")


def check_form(form: str) -> str:
    """Return a form that has each of `{context}` and `{question}` once and no other placeholder. Raises ValueError."""
    if sorted(_PLACEHOLDER.findall(form)) != ["context", "question"]:
        raise ValueError(f"give each of {{context}} and {{question}} once and no other placeholder, got {form!r}")
    return form


def filled(form: str, context: str, question: str) -> str:
    """Return the prompt. What looks like a placeholder in a context stays as it is."""
    values = {"context": context, "question": question}
    return _PLACEHOLDER.sub(lambda match: values[match[1]], form)


def window(passage: str, answers: Iterable[str], chars: int) -> str | None:
    """Return an answer's first place in a passage with `chars` characters on each side; None if no answer is there.

    Answers are tried in their order: each as whole words, as it is written and in any case, then within words.
    """
    for answer in filter(None, answers):
        for pattern in (whole_words(answer, ignore_case=False), whole_words(answer), re.compile(re.escape(answer))):
            if found := pattern.search(passage):
                return passage[max(0, found.start() - chars) : found.end() + chars]
    return None
