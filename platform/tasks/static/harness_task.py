"""A task file as a task of lm-evaluation-harness: how its questions are asked, and when an answer is right.

The harness takes settings; they hold functions in the places where it would also take templates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ticlm.datasets.text.matching import by_script
from ticlm.platform.tasks.static import files
from ticlm.platform.tasks.static.harness_model import Scored
from ticlm.platform.tasks.static.part import Part


def config(part: Part, file: files.TaskFile, judged: Callable[..., dict[str, float]]) -> dict[str, Any]:
    """Return the harness's settings for the questions of a file; `judged` is called with each question's results."""
    from datasets import Dataset

    stem = part.delimiter.rstrip(" ")
    space = " " if part.delimiter.endswith(" ") else ""

    def before(doc: Mapping[str, Any]) -> str:
        return str(doc["context"]).strip() + stem

    rows = Dataset.from_list(file.questions)
    shared: dict[str, Any] = {
        "task": part.name,
        "custom_dataset": lambda **_: {"test": rows},
        "test_split": "test",
        "fewshot_split": "test",
        "num_fewshot": part.shots,
        "fewshot_delimiter": part.between,
        "target_delimiter": space,
        "process_results": judged,
        "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
        "doc_to_text": before,
    }
    match file.form:
        case "choices":
            return shared | {
                "output_type": "multiple_choice",
                "doc_to_choice": lambda doc: [trimmed(option, part) for option in doc["options"]],
                "doc_to_target": lambda doc: doc["gold"],
            }
        case "beginnings":  # a number in place of the text tells the harness that the choices are contexts
            return shared | {
                "output_type": "multiple_choice",
                "doc_to_text": lambda doc: doc["gold"],
                "doc_to_choice": lambda doc: [option.strip() + stem for option in doc["options"]],
                "doc_to_target": lambda doc: trimmed(doc["context"], part),
            }
        case "continuation":  # here the harness puts nothing between the two, so the space comes with the target
            return shared | {
                "output_type": "loglikelihood",
                "target_delimiter": "",
                "doc_to_target": lambda doc: space + doc["answers"][0].strip(),
            }
        case "answer":
            return shared | {
                "output_type": "generate_until",
                "doc_to_target": lambda doc: doc["answers"],
                "generation_kwargs": {"until": ["\n"], "max_gen_toks": part.answer_tokens, "do_sample": False},
            }


def trimmed(text: str, part: Part) -> str:
    """Return an option as it is asked: without its leading spaces if the delimiter ends with a space."""
    return text.lstrip() if part.delimiter.endswith(" ") else text


class Judge:
    """Decides whether answers are right. A question that cannot be judged is counted, and not taken as wrong.

    `right` and `chance` (the accuracy of a blind choice) hold one number for each question that was judged.
    """

    def __init__(self, part: Part, form: files.Form) -> None:
        self.part, self.form = part, form
        self.right: list[float] = []
        self.chance: list[float] = []
        self.left_out: Counter[str] = Counter()
        self.cut = 0

    def __call__(self, doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, float]:
        problem = self._problem(doc, results)
        if problem:
            self.left_out[f"an answer {problem}"] += 1
            return {}
        self.cut += any(r.cut for r in results if isinstance(r, Scored))
        self.right.append(self._right(doc, results))
        self.chance.append(1 / len(doc["options"]) if "options" in doc else 0.0)
        return {"acc": self.right[-1]}

    def _problem(self, doc: Mapping[str, Any], results: Sequence[Any]) -> str:
        """Return why a question cannot be judged; empty if it can."""
        if self.form == "answer" and not _labels(doc):
            return "of punctuation and articles"
        return next((r.problem for r in results if isinstance(r, Scored) and r.problem), "")

    def _right(self, doc: Mapping[str, Any], results: Sequence[Any]) -> float:
        """Return 1, 0, or the accuracy of a guess among choices that are equally likely."""
        match self.form:
            case "continuation":
                return float(results[0][1])
            case "answer":
                return float(by_script(results[0]).startswith(_labels(doc)))
        scores = [result[0] / self._length(doc, result, i) for i, result in enumerate(results)]
        return float(scores[doc["gold"]] == max(scores)) / scores.count(max(scores))

    def _length(self, doc: Mapping[str, Any], result: Scored, place: int) -> int:
        """Return the divisor of the log-probability of a choice."""
        text = doc["context"] if self.form == "beginnings" else doc["options"][place]
        size = len(trimmed(text, self.part).encode())
        return {"tokens": result.tokens, "sum": 1, "bytes": size}[self.part.chosen_by]


def _labels(doc: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the normalised texts that a right answer may begin with."""
    return tuple({by_script(answer) for answer in doc["answers"]} - {""})
