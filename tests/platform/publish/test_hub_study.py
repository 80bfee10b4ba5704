"""A year of a study on a hub, published by the command of a user, which is killed at any request."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from finished import run
from hubserver import HubServer
from hubwriting import Cut, Hook, Moment, arm, writable
from toys import TOY_STUDY, build_toy_corpus, make_toy_study

from ticlm.core import paths
from ticlm.platform.publish.vintage_files import CERTIFICATE
from ticlm.platform.study.plan import Plan

LABELS = tuple(f"2023{month:02d}" for month in range(1, 13))
METHODS = [{"base": "replay-half", "schedule": {"max_rate": 5e-3, "warmup_steps": 1}}]
YEAR = {"periods": {"initial": LABELS[0], "step": "month", "last": LABELS[-1]}, "methods": METHODS}


@pytest.mark.nightly
def test_a_year_on_a_hub_survives_twenty_kills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_toy_corpus(tmp_path / "root/corpora/toy@1", periods=LABELS)
    plan = run(make_toy_study(**YEAR), tmp_path / "root")
    (tmp_path / "toy.yaml").write_text(json.dumps(TOY_STUDY | YEAR))
    with writable(tmp_path / "cache", monkeypatch) as (server, writing):
        variables = {"HF_ENDPOINT": server.url, "HF_TOKEN": server.token, "HF_HOME": str(tmp_path / "home")}
        environment = os.environ | variables | {"HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_XET": "1"}
        words = ("publish", "toy.yaml/replay-half", "--root", "root", "--with-inputs", "--no-lint", "--to")

        def begun(*more: str) -> subprocess.Popen[str]:
            command = [sys.executable, "-m", "ticlm.platform.cli.main", *words, *more]
            output = subprocess.PIPE
            return subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=output, stderr=output, text=True)

        def published(name: str) -> int:
            process = begun(name)
            told, wrong = process.communicate()
            assert process.returncode == 0, told + wrong
            return writing.received

        arm(writing, lambda number, moment: None)
        whole = published("lab/whole")
        requests, wanted = writing.number, {label: _branch(server, "lab/whole", label) for label in LABELS}
        rng = random.Random(36)
        for kill in range(20):
            at, name = rng.randint(1, requests), f"lab/w{kill}"
            when: Moment = rng.choice(("before", "after"))
            server.repositories.pop(f"lab/w{kill - 1}", None)
            writing.objects.clear()
            process: list[subprocess.Popen[str]] = []

            arm(writing, _killing(process, at, when))
            process.append(begun(name))
            process[0].communicate()
            assert process[0].returncode == -signal.SIGKILL
            one = server.repositories.get(name)
            for label in LABELS if one is not None else ():
                if one is not None and label in one.refs:
                    assert _branch(server, name, label).keys() == wanted[label].keys(), "half a vintage"
            before = writing.received
            arm(writing, lambda number, moment: None)
            assert before + published(name) <= whole + 60_000  # of a commit that was under way, small files again
            assert [label for label in LABELS if label in server.repositories[name].refs] == list(LABELS)
            arm(writing, lambda number, moment: None)
            assert published(name) == 0 and writing.commits == []
        _check_loading(plan, "lab/whole")


def _killing(process: list[subprocess.Popen[str]], at: int, when: Moment) -> Hook:
    """Return a hook that kills a process before or after a request is answered."""

    def hook(number: int, moment: Moment) -> None:
        if (number, moment) == (at, when):
            os.kill(process[0].pid, signal.SIGKILL)
            if when == "before":
                raise Cut

    return hook


def _branch(server: HubServer, name: str, label: str) -> dict[str, bytes]:
    one = server.repositories[name]
    return dict(one.commits[one.refs[label]])


def _check_loading(plan: Plan, name: str) -> None:
    """Assert that a vintage is loaded by its label, with the logits of the round's checkpoint."""
    from transformers import AutoModelForCausalLM

    key = plan.tree.runs[0].rounds["202306"]
    assert plan.store is not None
    folder = paths.model(paths.round_folder(plan.ids[key]), plan.records[key].attempt)
    ids = torch.arange(12)[None]
    with torch.no_grad():
        ours = AutoModelForCausalLM.from_pretrained(plan.store.path(folder))(ids).logits
        theirs = AutoModelForCausalLM.from_pretrained(name, revision="202306")(ids).logits
    assert torch.equal(ours, theirs)


def test_a_vintage_on_a_hub_is_verified_from_there_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from attested import attest, refused, trained, verified

    with writable(tmp_path / "cache", monkeypatch) as (server, _):
        plan = trained(tmp_path / "root", METHODS)
        attest(plan, "lab/toy")
        (tmp_path / "root").rename(tmp_path / "gone")
        found = verified("lab/toy@202303", replay=3)
        assert refused(found) == "" and sum(one.check.startswith("round ") for one in found) == 3
        assert refused(verified("lab/toy")) == ""
        _check_loading_of_three(server)
        other = server.repositories["lab/toy"]
        gone = other.refs.pop("202302")
        found = verified("lab/toy@202303", replay=3)
        assert [one.words for one in found if one.state == "note" and one.check == "place"] == [
            "vintages.json lists 202302, which is not there"
        ]
        assert refused(found) == "" and sum(one.check.startswith("round ") for one in found) == 3
        other.refs["202302"] = gone
        server.repositories["lab/other"] = other
        assert refused(verified("lab/other@202303")) == (
            "place: it stands at hf:lab/other, and its certificate is that of hf:lab/toy"
        )


def _check_loading_of_three(server: HubServer) -> None:
    one = server.repositories["lab/toy"]
    assert {"202301", "202302", "202303", "202304", "main"} <= set(one.refs)
    main = one.commits[one.refs["main"]]
    assert json.loads(main["vintages.json"])["newest"] == "202304" and CERTIFICATE in main
