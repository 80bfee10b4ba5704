"""Tasks that compare what a model generates with the right answers, by the metrics of KILT (Petroni et al., 2021).

The metrics are functions of a prediction and the right answers, any of which counts. Each is in [0, 1].
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from ticlm.platform.core.errors import InputError
from ticlm.platform.core.examples import MASK
from ticlm.platform.core.fingerprint import fingerprint
from ticlm.platform.tasks.base import NOT_A_NUMBER, Measurement
from ticlm.platform.tasks.cell import Axis
from ticlm.platform.tasks.documents import left_out
from ticlm.platform.tasks.questions import QuestionTask, each_source, normalised

if TYPE_CHECKING:
    from ticlm.platform.core.examples import Example, Examples
    from ticlm.platform.tasks.answerer import Answerer
    from ticlm.platform.tasks.base import Data

Metric = Literal["accuracy", "exact-match", "rouge-l", "f1"]


def accuracy(prediction: str, answers: Sequence[str]) -> float:
    """Return 1 if the prediction is one of the answers, apart from white space at the ends (classes and entities)."""
    return float(prediction.strip() in {answer.strip() for answer in answers})


def exact_match(prediction: str, answers: Sequence[str]) -> float:
    """Return 1 if the prediction is one of the answers, both normalised as in SQuAD's script."""
    return float(normalised(prediction) in {normalised(answer) for answer in answers})


def f1(prediction: str, answers: Sequence[str]) -> float:
    """Return the largest F1 of the prediction's normalised words with those of an answer (SQuAD's script)."""
    return max((_f1(normalised(prediction).split(), normalised(answer).split()) for answer in answers), default=0.0)


def rouge_l(prediction: str, answers: Sequence[str]) -> float:
    """Return the largest F-measure of ROUGE-L of the prediction with an answer (Lin, 2004), as `rouge-score` counts
    it: over words in lower case, without stemming."""
    return max((float(_rouge().score(answer, prediction)["rougeL"].fmeasure) for answer in answers), default=0.0)


METRICS: Mapping[Metric, Callable[[str, Sequence[str]], float]] = {
    "accuracy": accuracy,
    "exact-match": exact_match,
    "rouge-l": rouge_l,
    "f1": f1,
}


def _f1(said: Sequence[str], wanted: Sequence[str]) -> float:
    common = (Counter(said) & Counter(wanted)).total()
    return 2 * common / (len(said) + len(wanted)) if common else 0.0


@cache
def _rouge() -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rougeL"], use_stemmer=False)


class GeneratedAnswers(QuestionTask):
    """The mean of a metric over questions, each the best that what the model generates has with one of the answers.

    Its one label is the subset of the set of examples, whose periods are read together. KILT's datasets are scored by
    it after a tuned copy (`prepare`), and so is what a causal model says after light-tuning (CKL, appendices F and G).
    """

    kind: Literal["generated-answers"] = "generated-answers"
    score_by: Metric = "exact-match"
    """How a prediction is compared: `accuracy` (equal), `exact-match` (equal when normalised), `f1`, or `rouge-l`."""
    tokens: int = Field(32, gt=0)
    """The largest number of tokens to generate."""
    longest_input: int | None = Field(None, gt=0)
    """Read only so many tokens of the beginning of each prompt; by default as many as the model's window holds."""
    beams: int = Field(1, gt=0)
    """Beams of the search; 1 always takes the likeliest token. CKL's code searches with 2."""
    stop: str = ""
    """Text at which a prediction ends; CKL cuts what a causal model says at the first `.`."""
    ask: Literal["text", "before-mask", "question"] = "text"
    """The prompt: the example's text, the words of this cloze before its mask, or its `question`."""
    axis: ClassVar[Axis] = "probe"
    higher_is_better: ClassVar[bool] = True

    @property
    def metric(self) -> str:  # type: ignore[override]  # of each task, where others have one of the class
        return self.score_by

    def labels(self, data: Data, periods: Sequence[str]) -> tuple[str, ...]:
        return (self.split,)

    def hashes(self, data: Data, labels: Sequence[str]) -> dict[str, str]:
        found = [manifest for manifest in self._subsets(data).values() if manifest.rows]
        return {self.split: fingerprint(tuple(one.sha256 for one in found))} if found else {}

    def require(self) -> None:
        if self.score_by == "rouge-l":
            try:
                _rouge()
            except ImportError:
                raise InputError(f"{self.name}: metric rouge-l needs rouge-score; pip install 'ticlm[kilt]'") from None

    def measure(self, answerer: Answerer, data: Examples, label: str, rows: int) -> Iterator[Measurement]:
        from ticlm.platform.tasks.statistics import mean

        reasons: Counter[str] = Counter()
        score, found, source, wordless = METRICS[self.score_by], list[float](), list[str](), 0
        for period in self._subsets(data):
            for block in self.questions(data, period, rows, reasons):
                asked = self._asked(block, reasons)
                for example, text in zip(asked, self._generated(answerer, asked), strict=True):
                    if text is None:
                        wordless += 1
                        continue
                    found.append(score(text, (example.answer or "", *example.aliases)))
                    source.append(example.source)
        if wordless:  # a model whose logits are no numbers is not one that answers wrongly
            reasons[NOT_A_NUMBER] += len(found) + wordless
        else:
            yield from each_source(self.score_by, found, source, mean)
        yield from left_out(reasons)

    def context(self, example: Example) -> str:
        if self.ask == "question":
            return (example.question or "").strip()
        return (example.text.partition(MASK)[0] if self.ask == "before-mask" else example.text).strip()

    def _asked(self, block: Sequence[Example], reasons: Counter[str]) -> list[Example]:
        """Return the examples that have the prompt, and count the others."""
        asked = [example for example in block if self.context(example)]
        if len(asked) < len(block):
            missing = {"text": "no text", "before-mask": "no words before the mask", "question": "no question"}
            reasons[missing[self.ask]] += len(block) - len(asked)
        return asked

    def _generated(self, answerer: Answerer, examples: Sequence[Example]) -> list[str | None]:
        """Return what the model says to each example."""
        prompts = [self.context(example) for example in examples]
        model: Any = answerer  # whose search with beams and cut of prompts not every answerer has
        if self.longest_input is not None:
            if not hasattr(model, "beginning"):
                raise InputError(f"{self.name}.longest_input: this model cannot cut its prompts; leave it out")
            prompts = model.beginning(prompts, self.longest_input)
        options = {} if self.beams == 1 else {"beams": self.beams}
        said: list[str | None] = model.generate(prompts, self.tokens, stop=self.stop, **options)
        return said

    def _subsets(self, data: Any) -> dict[str, Any]:
        """Return the manifests of the subset by period. Raises InputError if no period has it."""
        have = {label: one.subsets[self.split] for label, one in data.periods.items() if self.split in one.subsets}
        if not have:
            raise InputError(f"{self.name}: examples {self.examples} have no subset {self.split}")
        return have
