"""The union of all kinds of tasks that a study can name."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Tag

from ticlm.core.extensions import TASKS, Own
from ticlm.platform.tasks.answer_ranks import AnswerRanks
from ticlm.platform.tasks.base import Task
from ticlm.platform.tasks.continuations import Continuations
from ticlm.platform.tasks.dated_documents import DatedPerplexity
from ticlm.platform.tasks.documents import DocumentPerplexity, NounPerplexity
from ticlm.platform.tasks.facts import FactPerplexity
from ticlm.platform.tasks.generated import GeneratedAnswers
from ticlm.platform.tasks.gradients import GradientNorms
from ticlm.platform.tasks.packed_rows import Perplexity, PerplexityOn
from ticlm.platform.tasks.parts_of_speech import PartOfSpeechPerplexity
from ticlm.platform.tasks.preferred import DatedFacts, PreferredAnswers
from ticlm.platform.tasks.questions import AnswerPerplexity, ExactMatch, MultipleChoice
from ticlm.platform.tasks.static.task import Static
from ticlm.platform.tasks.steps import AnswersInSteps

KINDS = (
    *("perplexity", "perplexity-on", "document-perplexity", "noun-perplexity", "pos-perplexity", "dated-perplexity"),
    *("answer-perplexity", "multiple-choice", "exact-match", "generated-answers", "answers-in-steps"),
    *("answer-ranks", "preferred-answers", "dated-facts", "fact-perplexity", "gradient-norms"),
    *("continuations", "static"),
)


def _kind(value: Any) -> str:
    given = value.get("kind", "perplexity") if isinstance(value, dict) else getattr(value, "kind", "perplexity")
    return str(given)


AnyTask = Annotated[
    Annotated[Perplexity, Tag("perplexity")]
    | Annotated[PerplexityOn, Tag("perplexity-on")]
    | Annotated[DocumentPerplexity, Tag("document-perplexity")]
    | Annotated[NounPerplexity, Tag("noun-perplexity")]
    | Annotated[PartOfSpeechPerplexity, Tag("pos-perplexity")]
    | Annotated[DatedPerplexity, Tag("dated-perplexity")]
    | Annotated[AnswerPerplexity, Tag("answer-perplexity")]
    | Annotated[MultipleChoice, Tag("multiple-choice")]
    | Annotated[ExactMatch, Tag("exact-match")]
    | Annotated[GeneratedAnswers, Tag("generated-answers")]
    | Annotated[AnswersInSteps, Tag("answers-in-steps")]
    | Annotated[AnswerRanks, Tag("answer-ranks")]
    | Annotated[PreferredAnswers, Tag("preferred-answers")]
    | Annotated[DatedFacts, Tag("dated-facts")]
    | Annotated[FactPerplexity, Tag("fact-perplexity")]
    | Annotated[GradientNorms, Tag("gradient-norms")]
    | Annotated[Continuations, Tag("continuations")]
    | Annotated[Static, Tag("static")],
    Discriminator(_kind, custom_error_type="kind", custom_error_message=f"kind must be one of {', '.join(KINDS)}"),
    Own(Task, TASKS),
]
