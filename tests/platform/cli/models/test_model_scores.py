"""`ticlm eval MODEL… --texts FILES`: what it prints and writes, what it never does twice, and what it refuses."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import speakers
import torch
from transformers import BertConfig, BertForMaskedLM

from ticlm.datasets.evalsets import recipe
from ticlm.platform.cli import main
from ticlm.platform.eval import cells

Command = Callable[..., tuple[int, str, str]]
WORDS = " ".join(speakers.TEXTS).split()


def write_posts(file: Path, months: int, dated: bool = True) -> None:
    rows = [
        {
            "id": f"{month}-{k}",
            "body": " ".join(WORDS[3 * k + month : 3 * k + month + 12]),
            "site": ("news", "blog")[k % 2],
        }
        | ({"created_at": f"2023-{month + 1:02}-{k + 1:02}"} if dated else {})
        for month in range(months)
        for k in range(6)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two models and posts of three months."""
    folder = tmp_path_factory.mktemp("place")
    speakers.speaker(folder / "deep")
    speakers.speaker(folder / "flat", num_hidden_layers=1)
    write_posts(folder / "posts.jsonl", 3)
    return folder


@pytest.fixture
def ticlm(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    monkeypatch.chdir(place)

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["ticlm", "eval", *arguments, "--root", str(place / "root")])
        with pytest.raises(SystemExit) as ended:
            main.main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return command


ASKED = ("deep", "flat", "--texts", "posts.jsonl", "--limit", "4")


def test_two_models_are_compared_month_by_month_in_a_table_a_file_and_a_page(place: Path, ticlm: Command) -> None:
    code, out, err = ticlm(*ASKED, "--csv", "scores.csv")
    assert code == 0, err
    rows = [line.split() for line in out.splitlines() if line.strip().startswith(("2023-", "mean"))]
    assert [row[0] for row in rows] == ["2023-01", "2023-02", "2023-03", "mean"]
    assert [row[-1] for row in rows] == ["4", "4", "4", "12"]
    assert "The models have one tokenizer" in out and "a sample of 12 of 18, at most 4 a period" in out
    assert "flat is " in out or "flat cannot be told apart from deep" in out
    page = Path(out.rpartition("page: ")[2].strip())
    text = page.read_text()
    assert page.parent.parent == place / "root/reports" and "2 models scored on 3 periods, 2023-01 to 2023-03." in text
    assert "What was learned, kept and forgotten" not in text and 'id="matrices"' not in text
    assert {"models.csv", "results.csv"} <= {file.name for file in page.parent.iterdir()}
    header, *lines = (place / "scores.csv").read_text().splitlines()
    assert header == "model,task,period,source,metric,value,stderr,n,against,difference,low,high"
    assert len(lines) == 2 * 3 * 3 * 2, "models, months, the whole and two sources, two metrics"


def test_a_second_call_builds_nothing_and_scores_nothing(
    ticlm: Command, monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    _, first, _ = ticlm(*ASKED)

    def never(*_: object) -> None:
        raise AssertionError("it was built or scored again")

    monkeypatch.setattr(recipe, "_publish", never)
    monkeypatch.setattr(cells, "_cells", never)
    shutil.copy(place / "posts.jsonl", place / "posts.jsonl.new")
    (place / "posts.jsonl.new").replace(place / "posts.jsonl")  # the same contents, another time
    code, second, err = ticlm(*ASKED)
    assert (code, second) == (0, first), err


def test_sources_are_domains(ticlm: Command) -> None:
    code, out, _ = ticlm(*ASKED, "--by", "source")
    assert code == 0 and "2023-01" not in out
    assert {line.split()[0] for line in out.splitlines() if line.strip()} >= {"news", "blog"}


def test_json_has_each_model_and_the_differences(ticlm: Command) -> None:
    code, out, _ = ticlm(*ASKED, "--json")
    found = json.loads(out)
    assert code == 0 and [one["name"] for one in found["models"]] == ["deep", "flat"]
    whole = next(one for one in found["differences"] if not one["period"] and not one["source"])
    assert whole["model"] == "flat" and whole["low"] <= whole["difference"] <= whole["high"]


def test_several_models_are_asked_the_tasks_of_a_file(place: Path, ticlm: Command) -> None:
    ticlm(*ASKED)
    (name,) = (file.name for file in (place / "root/examples").iterdir() if file.name.startswith("posts@"))
    task = {"kind": "document-perplexity", "name": "reading", "examples": name}
    (place / "tasks.yaml").write_text(json.dumps({"evaluations": [task]}))
    code, out, err = ticlm("deep", "flat", "--tasks", "tasks.yaml", "--page", "own.html")
    assert code == 0, err
    assert "page: own.html" in out and "a paired bootstrap over periods" in out
    assert (place / "own.html").read_text().startswith("<!doctype html>")


OWN = """
from ticlm.platform.analysis.matrix import views
from ticlm.platform.display.parts import Part, Tables
from ticlm.platform.results.study_result import as_frame


class Widest(Tables):
    name: str = "widest"
    task: str

    def named(self):
        yield "task", self.task

    def part(self, study):
        models = views(study)[0].methods
        rows = [{"model": one.method.name, "range": float(one.values.max() - one.values.min())} for one in models]
        return Part("Widest", {"widest": as_frame(rows, ("model", "range"))})
"""


def test_tables_of_a_users_own_see_models_as_methods(
    place: Path, ticlm: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticlm(*ASKED)
    (name,) = (file.name for file in (place / "root/examples").iterdir() if file.name.startswith("posts@"))
    monkeypatch.syspath_prepend(str(place))
    (place / "widest.py").write_text(OWN)
    task = {"kind": "document-perplexity", "name": "reading", "examples": name}
    asked = {"evaluations": [task], "tables": [{"kind": "widest:Widest", "task": "reading"}]}
    (place / "own.yaml").write_text(json.dumps(asked))
    code, out, err = ticlm("deep", "flat", "--tasks", "own.yaml")
    assert code == 0, err
    lines = (Path(out.rpartition("page: ")[2].strip()).parent / "widest.csv").read_text().splitlines()
    assert [line.partition(",")[0] for line in lines] == ["model", "deep", "flat"]


def test_a_year_is_a_period_too(place: Path, ticlm: Command) -> None:
    later = [
        json.dumps(json.loads(line) | {"created_at": "2024-02-01"})
        for line in (place / "posts.jsonl").read_text().splitlines()
    ]
    (place / "two.jsonl").write_text((place / "posts.jsonl").read_text() + "\n".join(later[:3]))
    code, out, err = ticlm("deep", "--texts", "two.jsonl", "--step", "year")
    assert code == 0, err
    assert "2023-01…2023-12" in out and "2024-01…2024-12" in out and "Behind the stroke are bits per byte." in out


@pytest.fixture(scope="module")
def others(place: Path) -> Path:
    """What is refused: an encoder, a model without a tokenizer, texts without dates, texts of one month."""
    config = BertConfig(vocab_size=99, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
    BertForMaskedLM(config).save_pretrained(place / "encoder")
    headless = json.loads((place / "deep/config.json").read_text()) | {"architectures": ["LlamaModel"]}
    shutil.copytree(place / "deep", place / "headless")
    (place / "headless/config.json").write_text(json.dumps(headless))
    shutil.copytree(place / "flat", place / "mute", ignore=shutil.ignore_patterns("tokenizer*"))
    torch.manual_seed(0)
    write_posts(place / "undated.jsonl", 2, dated=False)
    write_posts(place / "month.jsonl", 1)
    return place


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("deep", "encoder"), "encoder is a BertForMaskedLM, not a causal language model"),
        (("deep", "headless"), "headless is a LlamaModel, not a causal language model"),
        (("deep", "mute"), "mute has no tokenizer, and the task reads text; put its files there"),
        (("deep", "deep"), "deep is named twice; name each model once"),
        (
            ("deep", "--texts", "undated.jsonl"),
            "no column holds dates that can be read; its columns are id, body, site",
        ),
        (("deep", "--texts", "month.jsonl"), "--texts: all 6 texts are of one month, 202301"),
        (("deep", "--step", "year"), "all 18 texts are of one year, 202301-202312; --step month may part them"),
        (("deep", "--step", "week"), "--step must be month, quarter or year, got week"),
        (("deep", "--page", "no/page.html"), "--page no/page.html: the folder no is not there"),
        (("deep", "--by", "month"), "--by must be period or source, got month"),
        (("deep", "--tasks", "tasks.yaml"), "give --tasks FILE or --texts FILES, one of the two"),
        (("deep", "--again", "m@202301"), "leave out --tasks and --texts"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    others: Path, ticlm: Command, arguments: tuple[str, ...], said: str
) -> None:
    code, _, err = ticlm(*arguments, *(() if "undated.jsonl" in arguments or "month.jsonl" in arguments else ASKED[2:]))
    last = err.splitlines()[-1]
    assert code == 2 and last.startswith("ticlm: ") and said in last, err


def test_two_names_without_a_question_are_one_line(ticlm: Command) -> None:
    code, _, err = ticlm("demo", "headline")
    assert code == 2 and "2 names: ticlm eval scores one study at a time; of models, say what to ask with" in err
