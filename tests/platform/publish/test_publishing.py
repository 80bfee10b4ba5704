"""Publishing the vintages of a study: what is written, what other tools say of it, and what a second run does."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import torch
from attested import METHOD, METHODS, attest, refused, trained, verified
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from finished import run
from toys import PERIODS, build_toy_corpus, make_toy_study

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.platform.publish.certificate import PREDICATE, certificate_schema
from ticlm.platform.publish.forms.documents import schema, to_bytes
from ticlm.platform.publish.forms.signers import KeySigner, TrustedKey
from ticlm.platform.publish.lineage import lineages
from ticlm.platform.publish.places.opened import place_of
from ticlm.platform.publish.publishing import PublishRequest, publish
from ticlm.platform.publish.vintage_files import CERTIFICATE, PROVENANCE_FILE
from ticlm.platform.report.report import Report
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.study.plan import Plan


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """The toy study, trained and scored."""
    return trained(tmp_path_factory.mktemp("publish") / "root")


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Files of a private key and its public one."""
    folder, key = tmp_path_factory.mktemp("keys"), ec.generate_private_key(ec.SECP256R1())
    pem, kept = serialization.Encoding.PEM, serialization.NoEncryption()
    (folder / "key.pem").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, kept))
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    (folder / "key.pub").write_bytes(key.public_key().public_bytes(pem, form))
    return str(folder / "key.pem"), str(folder / "key.pub")


@pytest.fixture(scope="module")
def signed(plan: Plan, keys: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its vintages, signed with that key."""
    folder = tmp_path_factory.mktemp("signed") / "vintages"
    request = PublishRequest(with_inputs=True, licence="cc0-1.0", signer=KeySigner(private_key=keys[0]))
    assert attest(plan, folder, request=request) == list(PERIODS)
    return folder


def test_the_packaged_schema_is_that_of_the_certificate() -> None:
    """It is written anew with `to_bytes(certificate_schema())`."""
    assert to_bytes(schema("vintage-v1")) == to_bytes(certificate_schema())


def test_other_tools_accept_what_is_written(signed: Path, keys: tuple[str, str]) -> None:
    import mlcroissant
    from google.protobuf import json_format
    from in_toto_attestation.v1.statement import Statement
    from in_toto_attestation.v1.statement_pb2 import Statement as Message

    vintage = signed / "202303"
    certificate, provenance = (json.loads((vintage / name).read_text()) for name in (CERTIFICATE, PROVENANCE_FILE))
    for document, kind in ((certificate, "vintage-v1"), (provenance, "provenance-v1")):
        jsonschema.validate(document, schema("statement-v1"), jsonschema.Draft202012Validator)
        jsonschema.validate(document["predicate"], schema(kind), jsonschema.Draft202012Validator)
        Statement.copy_from_pb(json_format.ParseDict(document, Message())).validate()
    assert certificate["predicateType"] == PREDICATE
    told = mlcroissant.Dataset(jsonld=json.loads((vintage / "vintage/toy@1.croissant.json").read_text())).metadata
    assert not told.ctx.issues.errors and told.name == "toy"
    command = [sys.executable, "-m", "model_signing", "verify", "key", str(vintage)]
    options = ["--signature", str(vintage / "vintage/model.sig"), "--public_key", keys[1]]
    done = subprocess.run([*command, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = verified(signed, trust=TrustedKey(public_key=keys[1]), replay=4)
    assert refused(found) == "" and not [one for one in found if one.state == "unchecked"]


def test_a_vintage_loads_with_the_logits_of_its_checkpoint(plan: Plan, signed: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    run_ = plan.tree.runs[0]
    key = run_.rounds["202303"]
    assert plan.store is not None
    model = paths.model(paths.round_folder(plan.ids[key]), plan.records[key].attempt)
    ids = torch.arange(12)[None]
    with torch.no_grad():
        ours, theirs = (
            AutoModelForCausalLM.from_pretrained(folder)(ids).logits
            for folder in (plan.store.path(model), signed / "202303")
        )
    assert torch.equal(ours, theirs)
    assert AutoTokenizer.from_pretrained(signed / "202303").vocab_size == 64


def test_the_card_has_the_tables_of_the_report(signed: Path) -> None:
    text = (signed / "202304/README.md").read_text()
    assert (signed / "README.md").read_text() == text
    for line in (
        "knowledge-cutoff:2023-04",
        "license: cc0-1.0",
        "dated up to 2023-04-30",
        "| 202304 | 1.54K |",
        "**Regret, nats per token, relative to oracle",
        "| +0 month |",
        "4 rounds, 18 steps",
        "--replay 1",
    ):
        assert line in text, line
    index = json.loads((signed / "vintages.json").read_text())
    assert index["newest"] == "202304" and list(index["vintages"]) == list(PERIODS)


def test_the_scores_have_the_form_that_hubs_read(signed: Path) -> None:
    import yaml
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    found = yaml.safe_load((signed / "202303/.eval_results/ticlm.yaml").read_text())
    entries = [
        EvalResultEntry(one["dataset"]["id"], one["dataset"]["task_id"], one["value"], date=one["date"], notes="nll")
        for one in found
    ]
    assert len(found) == 4 and eval_result_entries_to_yaml(entries) == found


def test_a_second_run_sends_nothing_and_a_new_month_is_added(tmp_path: Path) -> None:
    build_toy_corpus(tmp_path / "root/corpora/toy@1", periods=PERIODS[:2])
    months = {"initial": PERIODS[0], "step": "month"}
    two = run(make_toy_study(methods=METHODS[:1], periods=months | {"last": PERIODS[1]}), tmp_path / "root")
    assert attest(two, tmp_path / "out") == list(PERIODS[:2])
    before = {file: file.read_bytes() for file in (tmp_path / "out").rglob("*") if file.is_file()}
    place, request = place_of(str(tmp_path / "out")), PublishRequest(with_inputs=True)

    def again(plan: Plan) -> tuple[list[str], int]:
        found = lineages(plan, METHOD, None)
        done = publish(found, place, Report([study_result(plan)]), request, lambda _: None)
        return done.new, done.bytes

    assert again(two) == ([], 0)
    assert {file: file.read_bytes() for file in (tmp_path / "out").rglob("*") if file.is_file()} == before
    build_toy_corpus(tmp_path / "root/corpora/toy@1", periods=PERIODS[:3])
    three = run(make_toy_study(methods=METHODS[:1], periods=months | {"last": PERIODS[2]}), tmp_path / "root")
    new, sent = again(three)
    assert new == [PERIODS[2]] and sent > 0
    above = {tmp_path / "out/README.md", tmp_path / "out/vintages.json"}
    assert {file for file, data in before.items() if file.read_bytes() != data} == above
    assert refused(verified(tmp_path / "out", replay=3)) == ""


def test_a_period_that_was_built_again_is_refused(plan: Plan, tmp_path: Path) -> None:
    attest(plan, tmp_path / "out")
    changed = trained(tmp_path / "root", METHODS[:1], changed={("202302", "train"): 5})
    with pytest.raises(InputError, match=r"202302 stands with another model\.safetensors than round .* built again"):
        attest(changed, tmp_path / "out")


def test_an_unknown_method_and_an_untrained_one_are_one_line(plan: Plan, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no method ema; it has replay-half, oracle"):
        lineages(plan, "ema", None)
    with pytest.raises(InputError, match="has no seed 3; it has 0"):
        lineages(plan, METHOD, 3)
    from ticlm.platform.study.plan import make

    build_toy_corpus(tmp_path / "root/corpora/toy@1")
    fresh = make(make_toy_study(methods=METHODS[:1]), str(tmp_path / "root"))
    with pytest.raises(InputError, match="no round of replay-half is trained yet; run it with: ticlm train toy"):
        lineages(fresh, METHOD, None)


def test_the_commands_publish_and_verify(plan: Plan, keys: tuple[str, str], tmp_path: Path) -> None:
    """With the process that a user starts: a trial, the real thing, and a vintage that was changed."""
    from toys import TOY_STUDY

    assert plan.store is not None
    (tmp_path / "toy.yaml").write_text(json.dumps(TOY_STUDY | {"methods": METHODS}))

    def ticlm(*words: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "ticlm.platform.cli.main", *words]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout + done.stderr

    named = ("publish", f"toy.yaml/{METHOD}", "--root", plan.store.root)
    code, said = ticlm(*named, "--to", "lab/toy", "--dry-run", "--no-lint")
    trial = Path(plan.store.root, "vintages", f"toy-{METHOD}")
    assert code == 0 and sorted(one.name for one in trial.glob("2*")) == list(PERIODS), said
    shutil.rmtree(trial)
    code, said = ticlm(*named, "--to", str(tmp_path / "out"), "--with-inputs", "--private-key", keys[0])
    assert code == 0 and "4 new vintages" in said, said
    code, said = ticlm("verify", "out", "--public-key", keys[1], "--replay", "4")
    assert code == 0 and "Verified: " in said, said
    card = tmp_path / "out/202304/README.md"
    card.write_text(card.read_text() + "and nothing later, we promise\n")
    code, said = ticlm("verify", "out", "--public-key", keys[1])
    assert code == 1 and "Refused: " in said and "README.md: changed" in said, said


BAD: list[tuple[tuple[str, ...], str]] = [
    (("publish", "demo", "--to", "x"), "give a study and one of its methods: STUDY/METHOD"),
    (("publish", "demo/replay-half", "--to", "lab/x@main", "--root", "ROOT"), "has no corpus in"),
    (("verify", "nothing/here/at/all"), "neither vintages.json nor vintage/certificate.json there"),
    (("verify", "out", "--steps", "3"), "--steps K belongs to --replay N"),
    (("verify", "out", "--identity", "me"), "give --identity and --provider together"),
]


@pytest.mark.parametrize(("words", "line"), BAD)
def test_wrong_words_are_one_line(words: tuple[str, ...], line: str, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from ticlm.platform.cli.main import app

    given = [str(tmp_path / "root") if word == "ROOT" else word for word in words]
    done: Any = CliRunner().invoke(app, given, standalone_mode=False)
    assert line in str(done.exception), done.exception


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["folders", "repositories", "s3"])
def test_other_layouts_are_published_once_and_verified(
    layout: str, plan: Plan, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    from contextlib import nullcontext

    from hubwriting import writable

    bucket = f"{request.getfixturevalue('s3_bucket')}/vintages" if layout == "s3" else ""
    with nullcontext() if bucket else writable(tmp_path / "cache", monkeypatch):
        place = place_of(bucket) if bucket else place_of("lab/toy", layout)  # type: ignore[arg-type]
        found, asked = lineages(plan, METHOD, None), PublishRequest(with_inputs=True)
        report = Report([study_result(plan)])
        assert publish(found, place, report, asked, lambda _: None).bytes > 0
        assert publish(found, place, report, asked, lambda _: None).bytes == 0
        names = {"folders": "lab/toy:202303", "repositories": "lab/toy-202303", "s3": f"{bucket}/202303"}
        told = verified(names[layout], replay=9)
        assert refused(told) == "" and sum(one.check.startswith("round ") for one in told) == 3
        whole = verified(bucket or "lab/toy")
        assert refused(whole) == "" and next(one for one in whole if one.check == "place").state == "holds"
