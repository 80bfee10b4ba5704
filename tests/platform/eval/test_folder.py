"""A model without a study: asked by its folder or its round; what is known is not asked again."""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import hubserver
import pytest
import speakers
import torch
from transformers import BertConfig, BertForMaskedLM, T5Config, T5EncoderModel

from ticlm.core import hub
from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError
from ticlm.core.examples import INFO, Example, ExamplesInfo, PeriodExamples, publish
from ticlm.core.periods import Calendar
from ticlm.core.settings import parse
from ticlm.core.store import Store
from ticlm.platform.cli import main
from ticlm.platform.eval import cells as evaluation
from ticlm.platform.eval import folder as scoring
from ticlm.platform.eval import model_folder
from ticlm.platform.eval.folder import FolderScore, Scoring
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.settings import Study
from ticlm.platform.study.stored_rounds import published
from ticlm.platform.tasks.base import Measurement

MakeStudy = Callable[..., Study]
MakeCorpus = Callable[..., Corpus]
METHOD = {"base": "cyclic-cosine", "schedule": {"kind": "cosine", "max_rate": 5e-3, "warmup_steps": 1}}
ON_TOY = {"kind": "perplexity-on", "name": "toy", "corpus": "toy@1"}
READING = {"kind": "document-perplexity", "name": "reading", "examples": "notes@1"}


def asked(root: Path, name: object, *tasks: dict[str, Any]) -> list[FolderScore]:
    """What `ticlm eval NAME --tasks FILE` comes to."""
    unit = scoring.unit(Store(root), str(name), parse(Scoring, {"evaluations": list(tasks)}, "test"))
    scoring.run(unit)
    return scoring.scores(unit)


def write_notes(root: Path, texts: dict[str, Sequence[str]]) -> None:
    """A set of examples `notes@1` in a root: texts by month."""
    store = Store(root / "examples/notes@1")
    info = ExamplesInfo(name="notes", version="1", recipe="test")
    store.create(INFO, json.dumps(info.model_dump(mode="json")).encode())
    calendar = Calendar(initial=min(texts), step="month")
    for label, of in texts.items():
        examples = [Example(id=str(number), text=text) for number, text in enumerate(of)]
        publish(store, PeriodExamples(period=calendar.period(label), subsets={}), {"all": examples})


@pytest.fixture
def speaker(tmp_path: Path) -> Path:
    return speakers.speaker(tmp_path / "speaker")


@pytest.fixture(scope="module")
def trained(
    tmp_path_factory: pytest.TempPathFactory, toy_study: MakeStudy, toy_corpus: MakeCorpus
) -> tuple[Path, plan.Plan]:
    """A root with a study of two rounds, evaluated."""
    root = tmp_path_factory.mktemp("trained")
    toy_corpus(root / "corpora/toy@1", periods=("202301", "202302"))
    months = {"initial": "202301", "last": "202302"}
    made = plan.make(toy_study(methods=[METHOD], periods=months, evaluations=[ON_TOY]), str(root))
    driver.train(made)
    driver.evaluate(made)
    return root, made


def test_any_folder_is_read_a_set_of_texts(tmp_path: Path, speaker: Path) -> None:
    write_notes(tmp_path, {"202301": speakers.TEXTS[:2], "202302": speakers.TEXTS[2:3]})
    rows = asked(tmp_path, speaker, READING)
    nll = {row.period: row.found for row in rows if row.found.metric == "nll"}
    tokenizer = speakers.fast(speakers.byte_level())
    (short,) = speakers.TEXTS[2:3]
    ids = tokenizer(short)["input_ids"]
    assert len(ids) <= 24, "it fits the window, so that there is one way to read it"
    direct = speakers.said_directly(speaker, [tokenizer.eos_token_id], ids)
    assert nll["202302"].value == pytest.approx(-direct / len(ids), abs=1e-4)
    assert nll["202302"].n == len(ids) and nll["202301"].stderr is not None
    assert {row.task for row in rows} == {"reading@1"}


def test_two_periods_with_the_same_texts_have_a_score_each(tmp_path: Path, speaker: Path) -> None:
    write_notes(tmp_path, {"202301": speakers.TEXTS[:2], "202302": speakers.TEXTS[:2]})
    first, second = (
        [row for row in asked(tmp_path, speaker, READING) if row.period == p] for p in ("202301", "202302")
    )
    assert [row.found for row in first] == [row.found for row in second]
    assert len({row.found.metric for row in first}) == len(first) > 0


def test_what_was_scored_is_not_scored_again(tmp_path: Path, speaker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_notes(tmp_path, {"202301": speakers.TEXTS[:2]})
    first = asked(tmp_path, speaker, READING)
    write_notes(tmp_path, {"202301": (), "202302": speakers.TEXTS[2:]})
    seen: list[str] = []
    measure = evaluation._cells

    def cells(*arguments: Any) -> list[Any]:
        seen.append(arguments[5])
        return measure(*arguments)

    monkeypatch.setattr(evaluation, "_cells", cells)
    second = asked(tmp_path, speaker, READING)
    assert seen == ["202302"], "only the month that was appended"
    assert [row for row in second if row.period == "202301"] == first
    assert asked(tmp_path, speaker, READING) == second and seen == ["202302"]


def test_the_same_weights_beside_another_tokenizer_are_another_model(tmp_path: Path, speaker: Path) -> None:
    write_notes(tmp_path, {"202301": speakers.TEXTS[:1]})
    other = speakers.speaker(tmp_path / "other", speakers.byte_level(trim=False))
    tasks = parse(Scoring, {"evaluations": [READING]}, "test")
    one, two = (scoring.unit(Store(tmp_path), str(folder), tasks) for folder in (speaker, other))
    same = (speaker / "model.safetensors").read_bytes() == (other / "model.safetensors").read_bytes()
    assert same and one.weights != two.weights


def test_a_tokenizer_in_plain_files_counts_too(tmp_path: Path, speaker: Path) -> None:
    folder = tmp_path / "gpt"
    shutil.copytree(speaker, folder)
    before = model_folder.weights(str(folder))
    (folder / "merges.txt").write_text("a b")
    assert model_folder.weights(str(folder)) != before


def test_a_name_on_the_hub_is_found_with_its_commit_and_kept_by_its_content(
    tmp_path: Path, speaker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hubserver.hub() as server:
        hubserver.use(server, tmp_path, monkeypatch)
        commit = server.repository("lab/speaker").push(hubserver.files_in(speaker))
        found = model_folder.find(str(tmp_path), "lab/speaker")
        with pytest.raises(InputError, match=r"^demp/x@1: no folder here, and .*; nor is it .* \(did you mean demo\?"):
            model_folder.find(str(tmp_path), "demp/x@1")
    assert hub.shown(found) == f"lab/speaker@{commit}"
    assert model_folder.weights(found) == model_folder.weights(str(speaker))


@pytest.mark.parametrize("name", ["~nosuchuser/model", "nothing"])
def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="no folder, no STUDY/METHOD@PERIOD, and no round in"):
        model_folder.find(str(tmp_path), name)


def test_a_configuration_that_is_a_list_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(InputError, match="not the configuration of a model"):
        model_folder.objective(str(tmp_path))


def test_a_round_is_known_by_its_id_and_its_place_and_shares_the_cells_of_studies(
    trained: tuple[Path, plan.Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, made = trained
    key = made.tree.runs[0].rounds["202302"]
    monkeypatch.setattr(evaluation, "_cells", lambda *_: pytest.fail("these cells are known from the study"))
    by_id = asked(root, made.ids[key][:8], ON_TOY)
    by_place = asked(root, root / published(Store(root), made.ids[key]), ON_TOY)
    assert by_id == by_place and [row.period for row in by_id] == ["202301", "202302"]
    from ticlm.platform.results.of_plan import study_result

    cells = study_result(made).cells
    mine = cells[cells["trained"] == "202302"]
    assert [row.found.value for row in by_id] == mine["value"].tolist()


def test_rows_of_a_corpus_are_read_to_a_model_with_its_tokenizer(
    trained: tuple[Path, plan.Plan], tmp_path: Path
) -> None:
    root, made = trained
    round_id = made.ids[made.tree.runs[0].rounds["202302"]]
    known = asked(root, round_id[:8], ON_TOY)
    copied = shutil.copytree(root / published(Store(root), round_id), tmp_path / "copied")
    found = asked(root, copied, ON_TOY)
    assert [row.found.value for row in found] == pytest.approx([row.found.value for row in known], abs=1e-6)
    assert [row.found.n for row in found] == [256, 256]
    with pytest.raises(InputError, match=r"evaluations.toy: .* has another tokenizer than corpus toy@1"):
        asked(root, speakers.speaker(tmp_path / "speaker"), ON_TOY)
    (copied / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"has no tokenizer.json to compare with corpus toy@1"):
        asked(root, copied, ON_TOY)


def test_rows_that_are_longer_than_the_window_are_refused(trained: tuple[Path, plan.Plan], tmp_path: Path) -> None:
    root, made = trained
    folder = published(Store(root), made.ids[made.tree.runs[0].rounds["202302"]])
    copied = shutil.copytree(root / folder, tmp_path / "copied")
    config = json.loads((copied / "config.json").read_text()) | {"max_position_embeddings": 15}
    (copied / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match=r"rows of corpus toy@1 have 16 tokens, and .*copied reads 15 at most"):
        asked(root, copied, ON_TOY)


def test_what_is_no_language_model_is_refused_in_one_line(tmp_path: Path, speaker: Path) -> None:
    write_notes(tmp_path, {"202301": speakers.TEXTS[:1]})
    (tmp_path / "empty").mkdir()
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged/config.json").write_text("{")
    small = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    BertForMaskedLM(BertConfig(vocab_size=9, **small)).save_pretrained(tmp_path / "masked")
    T5EncoderModel(T5Config(vocab_size=9, d_model=8, d_ff=8, d_kv=8, num_layers=1, num_heads=1)).save_pretrained(
        tmp_path / "encoder"
    )
    bare = speakers.speaker(tmp_path / "bare")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (bare / name).unlink()
    hollow = speakers.speaker(tmp_path / "hollow")
    (hollow / "model.safetensors").unlink()
    for name, said in {
        str(tmp_path / "empty"): "no config.json there, so no model folder",
        str(tmp_path / "damaged"): "config.json: not JSON",
        str(tmp_path / "masked"): "is a BertForMaskedLM, not a causal language model",
        str(tmp_path / "encoder"): "is a T5EncoderModel, not a",
        str(bare): "has no tokenizer",
        str(hollow): "no model could be loaded",
        "0123": "0123: no folder, .*, and no round in .* begins with it; there are none$",
    }.items():
        with pytest.raises(InputError, match=said) as error:
            asked(tmp_path, name, READING)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ({"kind": "perplexity"}, "evaluations.perplexity: reads a study's own corpus; give kind: perplexity-on"),
        (READING | {"prepare": {"steps": 3}}, "evaluations.reading: prepare is a round of training"),
        (READING | {"examples": "nowhere"}, "nowhere@1: no examples there"),
        (READING | {"split": "changed"}, "has no subset changed; it has all"),
        (ON_TOY, "no corpus there"),
    ],
)
def test_a_task_that_cannot_be_asked_is_named(tmp_path: Path, speaker: Path, task: dict[str, Any], said: str) -> None:
    write_notes(tmp_path, {"202301": speakers.TEXTS[:1]})
    with pytest.raises(InputError, match=said):
        asked(tmp_path, speaker, task)


def test_two_tasks_of_one_name_would_share_their_cells() -> None:
    with pytest.raises(InputError, match="reading@1 is named twice"):
        parse(Scoring, {"evaluations": [READING, READING | {"examples": "other"}]}, "test")


def test_a_device_that_is_not_there_is_one_line(tmp_path: Path, speaker: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    write_notes(tmp_path, {"202301": speakers.TEXTS[:1]})
    tasks = parse(Scoring, {"evaluations": [READING], "device": "cuda"}, "test")
    with pytest.raises(InputError, match="device: cuda, but torch sees no GPU here"):
        scoring.run(scoring.unit(Store(tmp_path), str(speaker), tasks))


def test_the_command_prints_a_table_or_json(
    tmp_path: Path, speaker: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_notes(tmp_path / "root", {"202301": speakers.TEXTS[:2]})
    (tmp_path / "tasks.yaml").write_text(json.dumps({"evaluations": [READING]}))

    def ticlm(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["ticlm", "eval", str(speaker), "--root", str(tmp_path / "root"), *arguments])
        with pytest.raises(SystemExit) as ended:
            main.main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    code, out, _ = ticlm("--tasks", str(tmp_path / "tasks.yaml"), "--json")
    found = json.loads(out)
    assert code == 0 and found["model"] == str(speaker) and len(found["weights"]) == 64
    (nll,) = (score for score in found["scores"] if score["metric"] == "nll")
    assert nll["task"] == "reading@1" and nll["period"] == "202301" and math.isfinite(nll["stderr"])
    code, out, _ = ticlm("--tasks", str(tmp_path / "tasks.yaml"), "--csv", str(tmp_path / "scores.csv"))
    assert code == 0 and "bits-per-byte" in out and f"{nll['value']:.4f}" in out
    lines = (tmp_path / "scores.csv").read_text().splitlines()
    assert len(lines) == 1 + len(found["scores"]) and lines[0] == "task,period,source,metric,value,stderr,n"
    code, _, err = ticlm("--tasks", str(tmp_path / "tasks.yaml"), "--csv", str(tmp_path / "no/scores.csv"))
    assert code == 2 and "the folder" in err and err.count("\n") == 1
    code, _, err = ticlm("--tasks", str(tmp_path / "tasks.yaml"), "--by", "month")
    assert code == 2 and err == "ticlm: --by must be period or source, got month\n"
    code, out, _ = ticlm("--tasks", str(tmp_path / "tasks.yaml"), "--set", "compute=bfloat16", "--json")
    rounded = json.loads(out)
    assert (found["compute"], rounded["compute"]) == ("float32", "bfloat16")
    assert rounded["scores"] != found["scores"] and rounded["weights"] == found["weights"]
    if not torch.cuda.is_available():
        code, _, err = ticlm("--tasks", str(tmp_path / "tasks.yaml"), "--set", "compute=tf32")
        assert code == 2 and "the CPU has no TF32" in err and err.count("\n") == 1
    code, _, err = ticlm()
    assert (
        code == 2 and err == f"ticlm: {speaker} is a model folder: say what to ask with --tasks FILE or --texts FILES\n"
    )
    code, _, err = ticlm("--tasks", str(tmp_path / "nowhere.yaml"))
    assert code == 2 and "no such file" in err and err.count("\n") == 1


def test_the_ten_largest_sources_are_shown_over_all_periods_and_the_whole_text_by_period() -> None:
    def of(period: str, source: str, value: float, n: int, stderr: float | None = 0.1) -> FolderScore:
        return FolderScore("reading@1", period, Measurement("nll", value, n, stderr, source))

    rows = [of(month, "", 3.0, 900) for month in ("202301", "202302")]
    rows += [of("202301", f"s{k:02}", 2.0, 10 + k) for k in range(12)] + [of("202302", "s11", 4.0, 63)]
    rows.append(FolderScore("core@1", "", Measurement("accuracy", 0.5, 10, None, "a part")))
    shown, left = scoring.summed(rows)
    assert left == 2 and [row.period for row in shown[:2]] == ["202301", "202302"]
    assert [row.found.source for row in shown] == ["", "", *(f"s{k:02}" for k in range(11, 1, -1)), "a part"]
    both = shown[2]
    assert both.period == "2 periods" and both.found.n == 84
    assert both.found.value == pytest.approx((21 * 2 + 63 * 4) / 84)
    assert both.found.stderr == pytest.approx(math.hypot(2.1, 6.3) / 84)
    assert scoring.summed([of("202301", "s", 2.0, 1), of("202302", "s", 2.0, 1, None)])[0][0].found.stderr is None
