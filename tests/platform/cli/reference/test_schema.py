"""JSON schemas: they take what the settings take, and refuse what these refuse, but for what no schema can say."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from paths import ROOT

from ticlm.core import settings
from ticlm.core.errors import InputError
from ticlm.platform.cli.reference.files import FILES
from ticlm.platform.cli.reference.schema import schema

KILT = ("fever", "ay2", "wnwi", "wncw", "trex", "zsre", "nq", "hopo", "tqa", "eli5", "wow")
NEEDED: dict[str, dict[str, Any]] = {
    "monthly": {"documents": {"paths": ["x"]}},
    "monthly-dated": {"documents": {"paths": ["x"]}},
    "peps": {"documents": {"paths": ["x"]}},
    "web": {"documents": {"paths": "x"}},
    "cc-recentnews": {"documents": {"paths": "x"}},
    "cc-recentnews-small": {"documents": {"kind": "articles", "paths": "x"}},
    "cc-recentnews-phases": {"documents": {"kind": "articles", "paths": "x"}},
    "cc-recentnews-small-gpt2": {"documents": {"kind": "articles", "paths": "x"}},
    "wikipedia-old": {"documents": {"paths": "x"}},
    "wikipedia-old-gpt2": {"documents": {"kind": "articles", "paths": "x"}},
    **{f"kilt-{name}": {"documents": {"kind": "kilt", "paths": "x"}} for name in KILT},
    **{f"ckl-light-tuning-{name}": {"documents": {"kind": "probe-pairs", "paths": "x"}} for name in ("il", "nqe")},
    **{f"kilt-{name}-dev": {"examples": {"paths": "x"}} for name in KILT},
    "tic-cc": {"documents": {"lists": ["x"]}},
    "tic-cc-windowed": {"documents": {"lists": ["x"]}},
    **{f"tic-{site}": {"examples": {"paths": ["x"]}} for site in ("stackexchange", "stackoverflow", "math", "english")},
    "tic-wiki": {"examples": {"dumps": {"20160501": "x"}}},
    "evolvingqa-initial": {"documents": {"dumps": {"20230201": "x"}}},
    "evolvingqa-changes": {"examples": {"wiki": {"extracted": {"20230201": "x"}}}},
    "temporalwiki-diffs": {"examples": {"wiki": {"dumps": {"20210801": "x"}}}},
    "temporalwiki-full": {"documents": {"dumps": {"20210801": "x"}}},
    "wiki-questions": {
        "examples": {"wiki": {"dumps": ["x"]}, "wikidata": {"dumps": {"20170301": "x", "20170401": ["y"]}}}
    },
    "temporalwiki-probes": {
        "examples": {"wiki": {"dumps": ["x"]}, "wikidata": {"dumps": {"20210801": "x", "20210901": "y"}}}
    },
    "temporalwiki-released": {"examples": {"months": {"202109": {"changed": "x", "unchanged": ["y"]}}}},
    "core": {"evaluations": [{"kind": "static", "name": "core", "tasks": "core", "files": "x"}]},
}
"""What packaged files leave to their user."""


@cache
def validator(kind: str) -> Draft202012Validator:
    made = schema(kind)
    Draft202012Validator.check_schema(made)
    return Draft202012Validator(made)


def as_json(value: Any) -> Any:
    """Return what YAML reads as an editor sees it: dates are texts."""
    return json.loads(json.dumps(value, default=str))


def refused_by_schema(kind: str, value: Any) -> bool:
    return not validator(kind).is_valid(as_json(value))


def refused_by_settings(kind: str, value: Any) -> bool:
    try:
        settings.parse(FILES[kind].settings, copy.deepcopy(value), "here")
    except InputError:
        return True
    return False


def packaged() -> list[tuple[str, str]]:
    found = []
    for kind, file in FILES.items():
        for name in settings.packaged(file.folder):
            of_examples = file.folder == FILES["recipe"].folder and settings.names(name, file.folder, "examples")
            if of_examples == (kind == "examples"):
                found.append((kind, name))
    return found


@pytest.mark.parametrize(("kind", "name"), packaged())
def test_what_is_packaged_is_taken(kind: str, name: str) -> None:
    """Both as it is written (with `extends`) and as a whole."""
    folder = FILES[kind].folder
    needed = {} if kind == "study" else NEEDED.get(name, {})
    whole, _ = settings.resolved(FILES[kind].settings, name, folder)
    whole = settings.merged(whole, needed)
    file = ROOT / folder / f"{name}.yaml"
    written = yaml.safe_load(file.read_text()) if file.is_file() else {"variants": ()}
    for value in (whole, *([] if "variants" in written else [settings.merged(written, needed)])):
        assert [error.message[:300] for error in validator(kind).iter_errors(as_json(value))] == []
    assert not refused_by_settings(kind, whole)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*/*.yaml")), ids=lambda path: f"{path.parent.name}")
def test_the_examples_are_taken(path: Path) -> None:
    kind = {"corpus": "recipe"}.get(path.stem, path.stem)
    value = yaml.safe_load(path.read_text())
    assert [error.message[:300] for error in validator(kind).iter_errors(as_json(value))] == []


STUDY: dict[str, Any] = {
    "name": "toy",
    "corpus": "toy",
    "periods": {"initial": 202301, "step": "month", "last": 202304},
    "model": "tiny",
    "batch_rows": 4,
    "length": 16,
    "initial": {"budget": 384, "schedule": {"kind": "cosine", "max_rate": 0.005, "warmup_steps": 1}},
    "continual_tokens": {"per_period": 256},
    "methods": [
        "cyclic-cosine",
        {"base": "replay-half", "name": "mine", "replay": {"alpha": 0.7}},
        {"kind": "continual", "name": "own", "penalties": [{"kind": "lwf"}]},
        {"base": "oracle", "cutoffs": [202301, 202304]},
    ],
    "evaluations": [
        {"kind": "perplexity", "name": "p", "max_rows": 5},
        {"kind": "answer-perplexity", "name": "q", "examples": "set@1"},
    ],
    "resources": {"workers": 2, "cadence": {"seconds": 10}},
}
MISSING = "(missing)"
WRONG: list[tuple[str, Any]] = [
    # unknown keys
    *[(where, 1) for where in ("batch_row", "periods.steps", "initial.seeds", "initial.schedule.max_lr", "loss.z")],
    *[(where, 1) for where in ("resources.cadence.second", "resources.gpus", "methods.2.scedule", "evaluate.period")],
    *[(where, 1) for where in ("methods.1.aplha", "methods.3.cutoff", "evaluations.0.rows", "evaluations.1.kinds")],
    # missing keys
    *[(where, MISSING) for where in ("name", "corpus", "periods", "model", "batch_rows", "length", "initial")],
    *[(where, MISSING) for where in ("continual_tokens", "methods", "initial.budget", "continual_tokens.per_period")],
    *[(where, MISSING) for where in ("initial.schedule.kind", "evaluations.1.examples", "methods.2.penalties.0.kind")],
    ("methods.2.name", MISSING),
    # wrong types
    *[("batch_rows", wrong) for wrong in ("four", 4.5, [4], None, {"rows": 4})],
    ("length", "16 tokens"),
    ("initial.schedule.max_rate", "fast"),
    ("initial.schedule", "cosine"),
    ("periods", "monthly"),
    ("periods.last", [202304]),
    ("name", 7),
    ("corpus", None),
    ("methods", "cyclic-cosine"),
    ("methods", []),
    ("methods.0", 5),
    ("resources.compile", "maybe"),
    ("resources.workers", [1, 2, 3]),
    ("resources.workers", [1]),
    ("initial.seed", 0.5),
    ("evaluations", {"kind": "perplexity"}),
    # out of range
    *[(where, 0) for where in ("batch_rows", "length", "continual_tokens.per_period", "first_periods", "max_epochs")],
    *[(where, -1) for where in ("initial.budget", "initial.schedule.max_rate", "loss.z_loss", "resources.chains")],
    *[(where, 0) for where in ("evaluations.0.max_rows", "resources.threads", "loss.clip_norm")],
    ("resources.evaluator_gpus", 1.5),
    ("resources.cadence.fraction", 1),
    ("methods.1.replay.alpha", 1.5),
    ("methods.2.penalties.0.weight", -1),
    ("name", "Toy Study"),
    # wrong kinds and choices
    ("model", "7b"),
    ("model", {"kind": "presett", "name": "tiny"}),
    ("model", {"kind": "preset", "name": "7b"}),
    ("model", {"kind": "config"}),
    ("model", {"kind": "folder", "path": "x"}),
    ("initial.schedule.kind", "cosin"),
    ("methods.0", "cyclic-cosin"),
    ("methods.1.base", "replay-hal"),
    ("methods.1.replay", {"kind": "fixd"}),
    ("methods.2.kind", "continuous"),
    ("methods.2.group", "best"),
    ("evaluations.0.kind", "perplex"),
    ("periods.step", "fortnight"),
    ("periods.only", "tic-lm"),
    ("precision", {"compute": "float16"}),
    ("resources.device", "tpu"),
    ("resources.trainer", "slurm"),
    ("evaluate", {"checkpoints": "some"}),
    ("evaluate", {"inside": {"every_steps": 0}}),
    ("evaluate", {"inside": {"every": 5}}),
    ("initial.optimizer", {"kind": "adam"}),
    ("initial.optimizer", {"kind": "adamw", "betas": [0.9]}),
    ("objective", {"kind": "masked"}),
]
TAKEN: list[tuple[str, Any]] = [
    ("initial.budget", {"steps": 5}),
    ("initial.schedule.max_rate", "1e-3"),  # so reads YAML 1.1
    ("initial.budget", "111_837"),  # so reads YAML 1.2
    ("periods", {"only": "tic-cc"}),
    ("methods.3", "lwf"),
    ("methods.1.schedule", {"max_rate": 3e-5}),
    ("model", {"name": "tiny", "changes": {"hidden_size": 128}}),
    ("model", {"kind": "config", "model_type": "gpt2", "config": {"n_layer": 2}}),
    ("model", {"kind": "folder", "path": "x", "as_of": 202212}),
    ("evaluations.0", {"name": "plain"}),
    ("evaluations.0", {"kind": "static", "name": "core", "tasks": ["copa"], "files": "x"}),
    ("resources.workers", [1, 2]),
    ("evaluate", {"checkpoints": [202301, 202304], "periods": "all", "inside": {"every_epochs": 0.5}}),
    ("methods.2.replay", {"kind": "exponential", "buffer_tokens": 1000}),
    ("methods.2.penalties", [{"kind": "ewc", "weight": "1e7"}, {"kind": "lwf"}]),
]
RECIPE: dict[str, Any] = {
    "name": "toy",
    "version": 1,
    "documents": {"kind": "files", "paths": "docs", "fields": {"timestamp": "date"}},
    "splits": {"eval": 0.2},
    "filters": ["refinedweb", {"kind": "min_chars", "chars": 3}],
    "tokenizer": {"kind": "train", "vocab_size": 512},
    "length": 16,
}
WRONG_RECIPES: list[tuple[str, Any]] = [
    *[(where, MISSING) for where in ("documents", "tokenizer", "length", "tokenizer.kind", "documents.kind")],
    ("tokenizer.vocab_size", 100),
    ("tokenizer", {"kind": "pretrained", "name": "gpt2"}),
    ("documents.kind", "file"),
    ("documents.path", "docs"),
    ("documents.fields.date", "x"),
    ("splits.eval", 1),
    ("splits", {"train": 1}),
    ("filters", "refinedwebb"),
    ("filters.0", {"kind": "min_chars"}),
    ("filters.1.chars", 0),
    ("rows", "padded"),
    ("deduplicate", {"ngrams": 13}),
    ("deduplicate", {"threshold": 2}),
    ("executor", "spark"),
    ("held_out", {"subsets": ["Wiki!"]}),
]


def changed(value: dict[str, Any], where: str, new: Any) -> dict[str, Any]:
    out = copy.deepcopy(value)
    node: Any = out
    *above, last = where.split(".")
    for key in above:
        node = node[int(key)] if isinstance(node, list) else node.setdefault(key, {})
    place: Any = int(last) if isinstance(node, list) else last
    if new is MISSING:
        del node[place]
    else:
        node[place] = new
    return out


def test_the_whole_ones_are_taken_by_both() -> None:
    assert not refused_by_settings("study", STUDY) and not refused_by_schema("study", STUDY)
    assert not refused_by_settings("recipe", RECIPE) and not refused_by_schema("recipe", RECIPE)
    assert len(WRONG) + len(WRONG_RECIPES) > 90


@pytest.mark.parametrize(("where", "new"), WRONG, ids=str)
def test_a_wrong_study_is_refused_by_both(where: str, new: Any) -> None:
    study = changed(STUDY, where, new)
    assert refused_by_settings("study", study) and refused_by_schema("study", study)


@pytest.mark.parametrize(("where", "new"), TAKEN, ids=str)
def test_every_way_to_write_a_study_is_taken_by_both(where: str, new: Any) -> None:
    study = changed(STUDY, where, new)
    assert not refused_by_settings("study", study)
    assert [error.message[:300] for error in validator("study").iter_errors(as_json(study))] == []


@pytest.mark.parametrize(("where", "new"), WRONG_RECIPES, ids=str)
def test_a_wrong_recipe_is_refused_by_both(where: str, new: Any) -> None:
    recipe = changed(RECIPE, where, new)
    assert refused_by_settings("recipe", recipe) and refused_by_schema("recipe", recipe)


@pytest.mark.parametrize(
    ("where", "new"),
    [
        ("reference", "nobody"),
        ("periods.last", 202213),
        ("resources.workers", 99),
        ("methods.3.cutoffs", [202405]),
        ("methods.1.schedule", {"cooldown_steps": 3}),
    ],
)
def test_what_no_schema_can_say_is_refused_by_the_settings_alone(where: str, new: Any) -> None:
    """Checks across keys, periods, and keys of another kind in what is merged into a method."""
    study = changed(STUDY, where, new)
    assert refused_by_settings("study", study) and not refused_by_schema("study", study)


def test_a_class_of_ones_own_is_taken_by_its_import_path() -> None:
    for where in (
        "initial.schedule",
        "methods.2.replay",
        "methods.2.adapter",
        "methods.2.penalties.0",
        "evaluations.0",
    ):
        assert not refused_by_schema("study", changed(STUDY, where, {"kind": "my.module:Class", "anything": 1})), where
        assert refused_by_schema("study", changed(STUDY, where, {"kind": "my module", "anything": 1})), where
    assert not refused_by_schema("recipe", changed(RECIPE, "documents", {"kind": "posts:Posts", "folder": "x"}))


def test_what_extends_another_file_may_leave_out_what_that_one_has() -> None:
    part = {"extends": "demo", "initial": {"schedule": {"max_rate": 1e-3}}}
    assert not refused_by_schema("study", part)
    assert refused_by_schema("study", {"initial": part["initial"]})
    assert refused_by_schema("study", part | {"batch_row": 3}) and refused_by_schema("study", part | {"batch_rows": 0})
    assert refused_by_schema("study", {"extends": 3})


def test_keys_are_described() -> None:
    made = schema("study")
    whole = made["$defs"]["whole"]["properties"]
    assert whole["batch_rows"]["description"] == "Rows of a global batch, whatever the number of workers."
    assert "alpha" in made["$defs"]["FixedReplay"]["properties"] and "title" not in made["$defs"]["FixedReplay"]
    assert "Share of the budget" in made["$defs"]["FixedReplay"]["properties"]["alpha"]["description"]
