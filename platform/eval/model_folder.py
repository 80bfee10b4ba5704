"""Model folders: that of a finished round, by its address, its id or its place, or any in Hugging Face's format."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ticlm.core import hub, paths
from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.integrity.records import read_record
from ticlm.core.reading import own_faults
from ticlm.core.reading.near import hint
from ticlm.core.settings import packaged
from ticlm.core.store import Store
from ticlm.methods.objectives import AnyObjective
from ticlm.platform.eval import address
from ticlm.platform.eval.address import Address, FinishedRun
from ticlm.platform.models import folder_files, gguf_files
from ticlm.platform.study import plan
from ticlm.platform.study import settings as studies
from ticlm.platform.study.identity import content, weights_of

CAUSAL = ("ForCausalLM", "LMHeadModel")
"""Endings of the names of architectures that continue a text."""
SEQ2SEQ = ("ForConditionalGeneration", "ForSeq2SeqLM", "MTModel", "LMHeadModel", "EncoderDecoderModel")
"""Endings of the names of encoder–decoders that write text."""
TOKENIZERS = (".txt", ".model", ".tiktoken")
"""Suffixes of a tokenizer's files that are not JSON."""


LISTED = 8
"""How many rounds are listed where a name fits none."""


@dataclass(frozen=True)
class StudyModel:
    """A finished round of a study, and the folder of its model."""

    study: str
    method: str
    seed: int
    period: str
    round: str
    """The id of the round. Methods that share a round share its model."""
    folder: str
    """Path or URI."""


def matching(root: str, name: str) -> tuple[list[StudyModel], int] | None:
    """Return the models of the finished rounds that a pattern STUDY/METHOD@PERIOD fits, in the order of the study, and
    how many rounds that it fits are not trained yet; None if the name is no pattern.

    Raises InputError if there is no such study, or if nothing that fits is trained.
    """
    named = _in_this_folder(address.parse(name))
    if named is None or not named.is_pattern or Path(os.path.expanduser(name)).is_dir():
        return None
    if not _is_study(named.study):
        raise InputError(f"{name}: no study {named.study}{hint(named.study, packaged(studies.FOLDER))}")
    store = Store(root)
    made = _plan(store, named.study)
    found, waiting = address.fitting(named, *_runs(made))
    fitting = []
    for run, period in found:
        key = run.rounds[period]
        place = store.uri(paths.model(paths.round_folder(made.ids[key]), made.records[key].attempt))
        fitting.append(StudyModel(named.study, run.method, run.seed, period, made.ids[key], place))
    return fitting, waiting


def find(root: str, name: str) -> str:
    """Return the path or URI of a model folder: `name` itself; the folder of a finished round in the root, which
    `name` addresses as STUDY/METHOD@PERIOD#SEED, or whose id begins with it; or that of a model on the hub, ORG/NAME.
    Raises InputError if there is none, or more than one."""
    if not name.strip():
        raise InputError(
            "no model is named; give a folder, STUDY/METHOD@PERIOD, ORG/NAME, or the start of a round's id"
        )
    named = _in_this_folder(address.parse(name))
    if "://" in name and (named is None or not named.study.endswith((".yaml", ".yml"))):
        return name.rstrip("/")
    path = Path(os.path.expanduser(name))
    gguf_files.check(name, path)
    if path.is_dir():
        return str(path.resolve())
    store = Store(root)
    matches = [found for found in store.folders(paths.ROUNDS) if found.startswith(name)]
    if not matches and named is not None and _is_study(named.study):
        matches = [_addressed(store, named)]
    if not matches and hub.parse(name) is not None:
        try:
            return hub.place(name)
        except InputError as error:
            meant = hint(named.study, packaged(studies.FOLDER)) if named is not None else ""
            raise InputError(f"{error}; nor is it STUDY/METHOD@PERIOD{meant}") from None
    if len(matches) != 1:
        raise InputError(_not_one(name, root, len(matches), store))
    record = read_record(store, paths.round_at(matches[0]))
    if record is None:
        raise InputError(f"round {matches[0][:8]} is not finished")
    return store.uri(paths.model(paths.round_at(matches[0]), record.attempt))


def _not_one(name: str, root: str, matches: int, store: Store) -> str:
    """Return why a name tells no model: nothing has it, or several rounds begin with it."""
    have = f"there are {'; '.join(_listed(store)) or 'none'}"
    if matches:
        return f"{name}: {matches} rounds in {root} begin with it; {have}"
    return f"{name}: no folder, no STUDY/METHOD@PERIOD, and no round in {root} begins with it; {have}"


def _in_this_folder(named: Address | None) -> Address | None:
    """Return an address whose study is the file NAME.yaml, if it says NAME and there is no other study of this name."""
    if named is None or _is_study(named.study) or not Path(f"{named.study}.yaml").is_file():
        return named
    return replace(named, study=f"{named.study}.yaml")


def _is_study(name: str) -> bool:
    return "://" in name or Path(name).is_file() or name in packaged(studies.FOLDER)


def _addressed(store: Store, named: Address) -> str:
    """Return the folder, below `rounds/`, of the finished round that an address names in a root."""
    return paths.round_folder(addressed(_plan(store, named.study), named)).rpartition("/")[2]


def addressed(made: plan.Plan, named: Address) -> str:
    """Return the id of the finished round of a plan that an address names, whatever it calls the study. Raises
    InputError if there is none."""
    return made.ids[address.choose(named, *_runs(made))]


def _plan(store: Store, study: str) -> plan.Plan:
    with own_faults.faults_as(InputError):
        return plan.make(studies.load(study, root=store), store)


def _runs(made: plan.Plan) -> tuple[list[FinishedRun], dict[str, list[str]]]:
    """Return the runs of a plan with their finished rounds, and the periods of each method, done or not."""
    runs, planned = list[FinishedRun](), dict[str, list[str]]()
    for run in made.tree.runs:
        done = {label: key for label, key in run.rounds.items() if made.done(key)}
        runs.append(FinishedRun(run.method.name, run.seed, done))
        planned[run.method.name] = list(run.rounds)
    return runs, planned


def _listed(store: Store) -> Iterator[str]:
    """Yield the first rounds of a root, with the study, the methods and the period that their records tell."""
    rounds = store.folders(paths.ROUNDS)
    for found in rounds[:LISTED]:
        record = read_record(store, paths.round_at(found))
        who = record.about.get("label", "").rpartition(":")[0] if record is not None else "not finished"
        when = f" at {record.about.get('period')}" if record is not None else ""
        yield f"{found[:8]} ({who}{when})"
    if len(rounds) > LISTED:
        yield f"{len(rounds) - LISTED} more"


def weights(folder: str) -> str:
    """Return the hash under which a model's cells are kept: of the weights for a finished round, as in every study; of
    all files for any other folder."""
    # There the same weights may lie beside another configuration or tokenizer.
    rounds, *place = folder.rsplit("/", 3)
    if len(place) == 3 and place[2] == paths.MODEL:
        record = read_record(Store(rounds), place[0])
        if record is not None and record.attempt == place[1]:
            return weights_of(record)
    return content(folder, (*TOKENIZERS, ".py") if hub.trusted(folder) else TOKENIZERS)


def objective(folder: str) -> AnyObjective:
    """Return the objective that a model folder was published with, or the one that suits its architecture.

    Raises InputError if there is no model folder, or if its model neither continues a text nor is an encoder–decoder.
    """
    store = Store(folder)
    config = folder_files.config(store)
    names = config.get("architectures") or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{folder}/config.json: architectures must be a list of names, got {str(names)[:200]}")
    endings = SEQ2SEQ if config.get("is_encoder_decoder") else CAUSAL
    if names and not any(name.endswith(endings) for name in names):
        what = "an encoder-decoder that writes text" if endings is SEQ2SEQ else "a causal language model"
        raise InputError(f"{folder} is a {names[0]}, not {what}")
    return folder_files.objective(store)


def tokenizer(folder: str) -> str:
    """Return the hash of a model folder's tokenizer; "" if it has none. Two folders with one hash cut texts alike."""
    store = Store(folder)
    if store.exists("tokenizer.json"):
        return store.sha256("tokenizer.json")
    names = [name for name in store.walk() if name.endswith((*TOKENIZERS, "vocab.json"))]
    return fingerprint(tuple((name, store.sha256(name)) for name in sorted(names))) if names else ""


def parameters(folder: str) -> int:
    """Return the number of weights in the safetensors files of a model folder; 0 if it has none. Weights that two
    layers share are counted once, as they are stored once."""
    store = Store(folder)
    files = [name for name in store.walk() if name.endswith(".safetensors")]
    tensors = (entry for name in files for entry in folder_files.header(store, name)[1].values())
    return sum(math.prod(entry["shape"]) for entry in tensors)
