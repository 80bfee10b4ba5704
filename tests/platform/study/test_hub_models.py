"""Models on a hub wherever a model is named: what is recorded is the commit, what counts is the content."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dprs
import hubserver
import pytest
import torch
from hubserver import HubServer
from speakers import speaker

from ticlm.core.errors import InputError, TiclmWarning
from ticlm.core.store import Store
from ticlm.datasets.corpus.tokenizers import PretrainedTokenizer
from ticlm.datasets.llm.local_chat import LocalChat
from ticlm.datasets.retrieval.encoders import DprEncoders
from ticlm.platform.proposal import continued
from ticlm.platform.results import setup
from ticlm.platform.run import driver
from ticlm.platform.study import identity, plan
from ticlm.platform.study.external_inputs import external_inputs
from ticlm.platform.study.settings import Study

MakeStudy = Callable[..., Study]
NAME = "lab/model"
FAST = {"kind": "cosine", "max_rate": 5e-3, "warmup_steps": 1}


def save_model(folder: Path, seed: int = 0) -> Path:
    """A model of the toy corpus's tokens."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(seed)
    sizes = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 64, "vocab_size": 64}
    GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=63, eos_token_id=63)).save_pretrained(folder)
    return folder


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    with hubserver.served(tmp_path / "cache", monkeypatch) as found:
        yield found


def study(make: MakeStudy, path: str, teacher: str) -> Study:
    """A study that takes a model as it is and goes on with it, beside a teacher and an Oracle."""
    taught = {"kind": "lwf", "teacher": {"path": teacher, "as_of": "202212"}}
    methods = [
        {"base": "lwf-per-token", "schedule": FAST, "penalties": [taught]},
        {"base": "oracle", "cutoffs": [], "models": [{"path": path, "as_of": "202303"}]},
    ]
    model = {"kind": "folder", "path": path, "as_of": "202301"}
    return make(methods=methods, model=model, initial={"budget": 0, "schedule": FAST})


def test_a_study_of_a_model_on_the_hub_is_that_of_its_content_and_names_the_commit(
    tmp_path: Path, toy_root: Path, toy_study: MakeStudy, server: HubServer
) -> None:
    folder = save_model(tmp_path / "model")
    commit = server.repository(NAME).push(hubserver.files_in(folder) | {"README.md": b"#"})
    pinned = f"{NAME}@{commit}"
    made = plan.make(study(toy_study, NAME, f"{NAME}@main"), str(toy_root))
    local = plan.make(study(toy_study, str(folder), str(folder)), str(toy_root))
    assert list(made.ids.values()) == list(local.ids.values()) and made.ids
    assert external_inputs(made) == [
        f"initial model {pinned}, as of 202301",
        f"oracle {pinned}, as of 202303",
        f"teacher {pinned}, as of 202212",
    ]
    assert setup._model(made) == f"{pinned}, as of 202301"
    asked = len(server.requests)
    driver.train(made)
    assert len(made.records) == len(made.ids) and len(server.requests) == asked, "the cache has it"
    digest = identity.content(str(folder))
    assert {str(record.about["models"]) for record in made.records.values()} == {str({pinned: digest})}


def test_a_branch_that_moved_is_another_round(
    tmp_path: Path, toy_root: Path, toy_study: MakeStudy, server: HubServer
) -> None:
    repository = server.repository(NAME)
    first = repository.push(hubserver.files_in(save_model(tmp_path / "one")))
    before = plan.make(study(toy_study, NAME, NAME), str(toy_root))
    repository.push(hubserver.files_in(save_model(tmp_path / "two", seed=1)))
    hubserver.forget()
    with pytest.warns(TiclmWarning, match=f"{NAME} has moved"):
        after = plan.make(study(toy_study, NAME, NAME), str(toy_root))
    kept = plan.make(study(toy_study, f"{NAME}@{first}", f"{NAME}@{first}"), str(toy_root))
    assert set(kept.ids.values()) == set(before.ids.values()) and not set(after.ids.values()) & set(before.ids.values())


def test_a_tokenizer_on_the_hub_is_taken_byte_for_byte(tmp_path: Path, server: HubServer) -> None:
    folder = speaker(tmp_path / "model")
    commit = server.repository(NAME).push(hubserver.files_in(folder))
    found = PretrainedTokenizer(name=NAME, as_of="202001").save(Store(tmp_path / "corpus"))
    own = PretrainedTokenizer(name=str(folder), as_of="202001").save(Store(tmp_path / "own"))
    assert found == own.model_copy(update={"name": f"{NAME}@{commit}"})
    assert not [one for one in server.requests if "safetensors" in one]
    with pytest.raises(InputError, match=r"^tokenizer\.name: lab/other: no folder here, and .* no such repository"):
        PretrainedTokenizer(name="lab/other", as_of="202001").save(Store(tmp_path / "other"))


def test_init_goes_on_with_a_model_on_the_hub_at_its_commit(tmp_path: Path, server: HubServer) -> None:
    folder = speaker(tmp_path / "model")
    commit = server.repository(NAME).push(hubserver.files_in(folder))
    continued.check(NAME, "202001")
    found, own = (continued.existing(path, "202001", ["A text."]) for path in (NAME, str(folder)))
    assert found.path == f"{NAME}@{commit}"
    assert (found.parameters, found.vocabulary, found.window) == (own.parameters, own.vocabulary, own.window)


def test_a_chat_model_and_encoders_on_the_hub_are_what_their_folders_are(tmp_path: Path, server: HubServer) -> None:
    folder = speaker(tmp_path / "model")
    commit = server.repository(NAME).push(hubserver.files_in(folder))
    chat, own = (LocalChat(folder=where, as_of="202001") for where in (NAME, str(folder)))
    assert chat.identity == own.identity
    assert chat.external_inputs == f"replies of the model {NAME}@{commit}, as of 202001"
    asking, reading = (Path(one) for one in dprs.make_encoders(tmp_path))
    sides: dict[str, Any] = {"question": str(asking), "context": str(reading), "as_of": "202001"}
    commits = [server.repository(f"lab/{one.name}").push(hubserver.files_in(one)) for one in (asking, reading)]
    found = DprEncoders(**sides | {"question": "lab/question", "context": "lab/context"})
    assert found.identity == DprEncoders(**sides).identity
    assert found.external_inputs == (
        f"passages found by lab/question@{commits[0]} and lab/context@{commits[1]}, as of 202001"
    )
