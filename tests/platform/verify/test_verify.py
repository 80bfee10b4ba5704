"""Checking vintages that somebody published: what holds, what is refused, and what cannot be told."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attested import METHODS, SHORT, about, attest, certify_again, forged, refused, trained, verdict_of, verified
from safetensors.torch import load_file, save_file

from ticlm.core.errors import InputError
from ticlm.platform.publish.forms.signers import TrustedKey
from ticlm.platform.publish.vintage_files import CERTIFICATE
from ticlm.platform.study.plan import Plan
from ticlm.platform.train.clipping import scale
from ticlm.platform.verify.finding import verdict

LABELS = ["202301", "202302", "202303", "202304"]


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """The toy study, trained."""
    return trained(tmp_path_factory.mktemp("honest") / "root")


@pytest.fixture(scope="module")
def published(honest: Plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its vintages, which no test changes."""
    folder = tmp_path_factory.mktemp("published") / "vintages"
    assert attest(honest, folder) == LABELS
    return folder


@pytest.fixture
def copied(published: Path, tmp_path: Path) -> Path:
    """A copy of the vintages, in another folder."""
    return Path(shutil.copytree(published, tmp_path / "copied"))


def test_all_rounds_run_again_have_the_same_bits(copied: Path, published: Path) -> None:
    hidden = published.rename(published.with_name("gone"))
    try:
        found = verified(copied, replay=9)
    finally:
        hidden.rename(published)
    assert refused(found) == ""
    assert sum(one.check.startswith("round ") and one.state == "holds" for one in found) == 4
    assert verdict(found, "it", "then").startswith("Not refused: it holds in all that was checked")
    assert [one.check for one in found if one.state == "unchecked"] == ["signature"]
    some = verified(copied, replay=2)
    assert "2 of 4 rounds were not run again" in next(one.words for one in some if one.check == "weights")


def test_every_vintage_can_be_named_in_four_ways(copied: Path) -> None:
    for address, label in (
        (copied, ""),
        (copied, "202302"),
        (copied / "202302", ""),
        (copied / "202302" / CERTIFICATE, ""),
    ):
        found = verified(address, label)
        assert refused(found) == "" and {one.check for one in found} >= {"files", "place", "rounds", "shards"}


def test_first_steps_are_compared_by_their_losses(copied: Path) -> None:
    found = verified(copied, replay=2, steps=2)
    told = [one.words for one in found if one.check.startswith("round ")]
    assert len(told) == 2 and all("its first 2 of" in words for words in told) and refused(found) == ""


def test_a_vintage_that_lies_alone_is_run_from_the_first_round(copied: Path, tmp_path: Path) -> None:
    renamed = shutil.copytree(copied / "202303", tmp_path / "renamed/202301")
    assert refused(verified(renamed)) == "place: it stands as 202301, and its certificate is that of 202303"
    alone = shutil.copytree(copied / "202303", tmp_path / "alone/202303")
    found = verified(alone, inputs=str(copied / "inputs"), replay=9)
    assert refused(found) == "" and sum(one.check.startswith("round ") for one in found) == 3
    assert next(one for one in found if one.check == "place").state == "unchecked"


def test_a_certificate_names_what_is_not_there(copied: Path) -> None:
    shutil.rmtree(copied / "inputs")
    said = about(copied / "202304")
    assert said["inputs"] != str(copied / "inputs")
    found = verified(copied, replay=1)
    assert refused(found) == ""
    last = found[-1]
    assert (last.check, last.state) == ("inputs", "unchecked") and "its inputs lay at" in last.words
    with pytest.raises(InputError, match="neither vintages"):
        verified(copied / "nothing")


def _one_weight(folder: Path) -> None:
    file = folder / "model.safetensors"
    state = load_file(file)
    name = sorted(state)[0]
    state[name].view(-1)[0] += 1e-6
    save_file(state, file, {"format": "pt"})


def _card(folder: Path) -> None:
    (folder / "README.md").write_text((folder / "README.md").read_text().replace("2023", "2022"))


def _more(folder: Path) -> None:
    (folder / "extra.bin").write_bytes(b"more")


def _less(folder: Path) -> None:
    (folder / "generation_config.json").unlink()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_one_weight, "files: model.safetensors: changed"),
        (_card, "files: README.md: changed"),
        (_more, "files: extra.bin: not in the certificate"),
        (_less, "files: generation_config.json: not there"),
    ],
)
def test_a_changed_file_is_named(copied: Path, change: Any, said: str) -> None:
    change(copied / "202304")
    assert refused(verified(copied)) == said


def test_a_changed_weight_is_found_behind_a_certificate_that_was_made_to_fit(copied: Path) -> None:
    _one_weight(copied / "202304")
    certify_again(copied / "202304")
    assert refused(verified(copied)).startswith("model: model.safetensors: not what round")
    whole = json.loads((copied / "202304" / CERTIFICATE).read_text())
    own = next(one["digest"]["sha256"] for one in whole["subject"] if one["name"] == "model.safetensors")
    rounds = whole["predicate"]["rounds"]
    next(file for file in rounds[-1]["files"] if file["path"] == "model/model.safetensors")["sha256"] = own
    certify_again(copied / "202304", {"rounds": rounds})
    assert refused(verified(copied)) == ""
    assert "at 202304: run again by the same code and hardware, other bits: model/model.safetensors" in refused(
        verified(copied, replay=9)
    )


def test_a_changed_shard_is_named(copied: Path) -> None:
    shard = next((copied / "inputs/corpora/toy@1/periods/202302").rglob("*.parquet"))
    data = bytearray(shard.read_bytes())
    data[len(data) // 2] ^= 1
    shard.write_bytes(bytes(data))
    told = refused(verified(copied))
    assert told.startswith("shards: corpora/toy@1/periods/202302/") and told.endswith("part-00000.parquet: changed")


def test_a_changed_manifest_is_named(copied: Path) -> None:
    record = copied / "inputs/corpora/toy@1/periods/202302/record.json"
    record.write_text(record.read_text().replace('"documents": 96', '"documents": 95'))
    assert "periods/202302/record.json: changed" in refused(verified(copied))


@pytest.mark.parametrize("corpus", [{"changed": {("202302", "train"): 7}}, {"rows": 95}], ids=["planted", "dropped"])
def test_text_that_the_weights_never_saw_is_found_by_running_the_round(
    honest: Plan, tmp_path: Path, corpus: dict[str, Any]
) -> None:
    """A document was planted or dropped, and every hash was made to fit: only the weights tell."""
    plan = forged(honest, tmp_path / "root", lambda *_: None, **corpus)
    attest(plan, tmp_path / "forged")
    assert refused(verified(tmp_path / "forged")) == ""
    assert "other bits" in refused(verified(tmp_path / "forged", replay=9))


def test_a_document_that_says_that_it_is_later_is_found_without_training(copied: Path) -> None:
    said = about(copied / "202303")
    said["corpora"][0]["periods"][1]["newest"] = {"news": "2023-05-01T10:00:00+00:00"}
    certify_again(copied / "202303", {"corpora": said["corpora"]})
    assert refused(verified(copied, "202303")) == (
        "dates: later than 2023-03-31: news of 202302 in toy@1 is of 2023-05-01T10:00:00+00:00"
    )


def test_an_oracle_is_no_earlier_vintage(honest: Plan, copied: Path, tmp_path: Path) -> None:
    """The weights of a model that has read all months stand as those of an early vintage."""

    def oracle(plan: Plan, label: str) -> Path | None:
        record = plan.records[plan.tree.runs[1].rounds["202304"]]
        folder = f"rounds/{plan.ids[plan.tree.runs[1].rounds['202304']][:32]}/{record.attempt}/model"
        return Path(plan.store.path(folder)) if label == "202302" else None  # type: ignore[union-attr]

    plan = forged(honest, tmp_path / "root", oracle)
    attest(plan, tmp_path / "forged")
    assert refused(verified(tmp_path / "forged", "202302")) == ""
    found = verified(tmp_path / "forged", "202302", replay=9)
    assert "at 202302: run again by the same code and hardware, other bits" in refused(found)
    attest(honest, tmp_path / "oracles", "oracle")
    shutil.rmtree(copied / "202302")
    shutil.copytree(tmp_path / "oracles/202304", copied / "202302")
    assert refused(verified(copied, "202302")).startswith("place: it stands as 202302, and its certificate is that of")
    certify_again(copied / "202302", {"vintage": "202302", "cutoff": "2023-02-28"})
    assert "later than 2023-02-28: period 202303 of toy@1 ends on 2023-03-31" in refused(verified(copied, "202302"))


def test_weights_of_other_code_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("ticlm.platform.train.step.scale", lambda of, by, optimizer: scale(of, by * 1.0001, optimizer))
        plan = trained(tmp_path / "root", METHODS[:1])
    attest(plan, tmp_path / "vintages")
    assert refused(verified(tmp_path / "vintages")) == ""
    found = verified(tmp_path / "vintages", replay=1)
    assert "other bits" in refused(found)


def test_a_certificate_that_names_other_code_says_what_to_install(copied: Path) -> None:
    said = about(copied / "202304")
    for made in said["rounds"]:
        made["made_by"]["code"] = "0" * 64
    certify_again(copied / "202304", {"rounds": said["rounds"]})
    found = verified(copied, replay=1)
    words = next(one.words for one in found if one.check.startswith("round "))
    assert refused(found) == "" and words.endswith("code: another version here, which gives the same bits")


def test_a_certificate_of_another_vintage_is_refused(honest: Plan, copied: Path, tmp_path: Path) -> None:
    attest(honest, tmp_path / "oracles", "oracle")
    shutil.copy(tmp_path / "oracles/202304" / CERTIFICATE, copied / "202304" / CERTIFICATE)
    assert refused(verified(copied)).startswith("files: ")


def test_bad_input_is_one_line(copied: Path, tmp_path: Path) -> None:
    whole = json.loads((copied / "202304" / CERTIFICATE).read_text())
    (copied / "202304" / CERTIFICATE).write_text(json.dumps(whole | {"predicateType": "urn:ticlm:vintage/v2"}))
    with pytest.raises(InputError, match="was written by a newer release"):
        verified(copied)
    (copied / "202304" / CERTIFICATE).write_text("{")
    with pytest.raises(InputError, match="no JSON document"):
        verified(copied)
    with pytest.raises(InputError, match="no such vintage is published"):
        verified(copied, "202305")


def test_no_signature_is_refused_if_one_is_asked_for(copied: Path, tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1()).public_key()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    (tmp_path / "key.pub").write_bytes(key.public_bytes(serialization.Encoding.PEM, form))
    found = verified(copied, trust=TrustedKey(public_key=str(tmp_path / "key.pub")))
    assert refused(found).startswith("signature: ")


def _oracle(plan: Plan, label: str) -> Path | None:
    """The model of the Oracle that has read all months, for the second one."""
    assert plan.store is not None
    key = plan.tree.runs[1].rounds["202304"]
    model = f"rounds/{plan.ids[key][:32]}/{plan.records[key].attempt}/model"
    return Path(plan.store.path(model)) if label == "202302" else None


@pytest.fixture(scope="module")
def oracle(honest: Plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Vintages of which the second one has the weights of an Oracle, with certificates that fit."""
    folder = tmp_path_factory.mktemp("oracle")
    attest(forged(honest, folder / "root", _oracle), folder / "out")
    return folder / "out"


def _leaves_weights_out(said: dict[str, Any]) -> None:
    own = said["rounds"][-1]
    own["files"] = [file for file in own["files"] if not file["path"].endswith(".safetensors")]


def _calls_it_a_sample(said: dict[str, Any]) -> None:
    for one in said["rounds"]:
        one["kind"] = "sample"


def _names_other_hardware(said: dict[str, Any]) -> None:
    for one in said["rounds"]:
        one["made_by"]["processor"] = "Imaginary 9000"


def _names_no_hardware(said: dict[str, Any]) -> None:
    for one in said["rounds"]:
        one["made_by"] = {}


def _names_its_round_alone(said: dict[str, Any]) -> None:
    said["rounds"] = said["rounds"][-1:]


@pytest.mark.parametrize(
    "lie",
    [_leaves_weights_out, _calls_it_a_sample, _names_other_hardware, _names_no_hardware, _names_its_round_alone],
)
def test_no_certificate_makes_an_oracle_an_earlier_vintage(oracle: Path, tmp_path: Path, lie: Any) -> None:
    folder = shutil.copytree(oracle, tmp_path / "out")
    said = about(folder / "202302")
    lie(said)
    certify_again(folder / "202302", {"rounds": said["rounds"]})
    assert verdict_of(verified(folder, "202302", replay=9)) == "Refused:"


def test_first_steps_and_some_rounds_never_verify_weights(oracle: Path, honest: Plan, copied: Path) -> None:
    shutil.copy(copied / "202302/vintage/metrics.json", oracle / "202302/vintage/metrics.json")
    certify_again(oracle / "202302")
    found = verified(oracle, "202302", replay=9, steps=2)
    assert next(one for one in found if one.check == "weights").state == "unchecked"
    for seed in range(4):  # its own round is among those that are run, whatever the seed
        assert verdict_of(verified(oracle, "202302", replay=1, seed=seed)) == "Refused:"


@pytest.mark.parametrize(
    "lie",
    [
        {"method": "oracle"},
        {"study": "another"},
        {"seed": 3},
        {"before": ""},
        {"outside": [{"what": "a model", "as_of": "202001"}]},
        {"settings": "unknown"},
        {"models": {"/etc": "0" * 64}},
    ],
    ids=lambda lie: next(iter(lie)),
)
def test_what_a_certificate_states_follows_from_its_study(copied: Path, lie: dict[str, Any]) -> None:
    if lie.get("settings"):
        lie = {"settings": about(copied / "202304")["settings"] | {"surprise": 1}}
    certify_again(copied / "202304", lie)
    found = verified(copied)
    assert verdict_of(found) == "Refused:" and refused(found).startswith(("rounds: ", "provenance: "))


def test_documents_and_rules_of_dating_follow_from_the_manifests(copied: Path) -> None:
    said = about(copied / "202304")
    said["corpora"][0]["periods"][0]["dating"] = "sworn testimony"
    certify_again(copied / "202304", {"corpora": said["corpora"]})
    assert refused(verified(copied)).startswith("rounds: corpora: the certificate says something else")


def test_nothing_may_stand_beside_the_model(copied: Path) -> None:
    (copied / "202304/adapter_config.json").write_text("{}")
    certify_again(copied / "202304")
    assert refused(verified(copied)).startswith("model: adapter_config.json: no file of the round")


def test_what_a_stranger_writes_stays_on_one_printable_line(copied: Path) -> None:
    from typer.testing import CliRunner

    from ticlm.platform.cli.main import app

    certify_again(copied / "202304", {"leak_tests": [{"verdict": "clean\n\x1b[2J✓ weights: all\nVerified: it"}]})
    said = CliRunner().invoke(app, ["verify", str(copied)]).output
    assert "\x1b" not in said and not [line for line in said.splitlines() if line.startswith(("Verified", "✓ weights"))]


def test_a_release_of_transformers_in_a_configuration_is_no_other_model(copied: Path) -> None:
    """It stands in config.json, and is another one for whoever verifies a month later."""
    from ticlm.platform.verify.comparison import _same_settings

    own, other = copied / "202304/config.json", copied / "config.json"
    other.write_text(own.read_text().replace('"transformers_version": "5', '"transformers_version": "6'))
    assert own.read_text() != other.read_text() and _same_settings(own, other)
    other.write_text(other.read_text().replace('"vocab_size": 64', '"vocab_size": 65'))
    assert not _same_settings(own, other)


KINDS: list[dict[str, Any]] = [
    {"base": "replay-half+ema", **SHORT},
    {"base": "replay-self", **SHORT},
    {"base": "replay-chosen-excess", **SHORT},
    {"base": "replay-adaptive", **SHORT},
    {"base": "trunk-leaf", **SHORT, "deploy": {"share": 0.5}},
    {"base": "replay-half+time", **SHORT},
    {"base": "lora", **SHORT},
    {"base": "joint", **SHORT},
    {"base": "ewc", **SHORT},
    {"base": "mer", **SHORT},
]
DAILY = {"replay-half+ema", "replay-self", "replay-chosen-excess", "replay-adaptive"}


def _kinds() -> Iterator[Any]:
    for one in KINDS:
        marks = () if one["base"] in DAILY else (pytest.mark.nightly,)
        yield pytest.param(one, id=one["base"], marks=marks)


@pytest.mark.parametrize("method", _kinds())
def test_rounds_of_every_kind_run_again(tmp_path: Path, method: dict[str, Any]) -> None:
    """Averages, samples, shares that follow from losses, leaves and adapters, each from what is published alone."""
    plan = trained(tmp_path / "root", [method])
    attest(plan, tmp_path / "vintages", method["base"])
    shutil.rmtree(tmp_path / "root")
    found = verified(tmp_path / "vintages", replay=20)
    assert refused(found) == "" and not [one for one in found if one.check == "inputs"]
    assert sum(one.check.startswith("round ") for one in found) >= (2 if method["base"] == "joint" else 4)


def test_a_vintage_of_a_model_that_exists_runs_again_from_its_copy(honest: Plan, tmp_path: Path) -> None:
    """The first model lies among the inputs, known by its hash, as its folder here is not there for others."""
    from finished import run
    from toys import build_toy_corpus, make_toy_study

    from ticlm.core import paths

    key = honest.tree.runs[0].rounds["202302"]
    folder = paths.model(paths.round_folder(honest.ids[key]), honest.records[key].attempt)
    shutil.copytree(Path(honest.store.path(folder)), tmp_path / "base")  # type: ignore[union-attr]
    build_toy_corpus(tmp_path / "root/corpora/toy@1")
    model = {"kind": "folder", "path": str(tmp_path / "base"), "as_of": "202212"}
    changes = {"model": model, "initial": {"budget": 0, "schedule": {"kind": "constant", "max_rate": 1e-3}}}
    plan = run(make_toy_study(methods=METHODS[:1], **changes), tmp_path / "root")
    assert attest(plan, tmp_path / "out") == LABELS
    (tmp_path / "base").rename(tmp_path / "elsewhere")
    shutil.rmtree(tmp_path / "root")
    found = verified(tmp_path / "out", replay=9)
    assert refused(found) == "" and sum(one.check.startswith("round ") for one in found) == 5
    card = (tmp_path / "out/202304/README.md").read_text()
    assert "initial model" in card and "as of 202212" in card
    shutil.rmtree(tmp_path / "out/inputs/models")
    words = next(one.words for one in verified(tmp_path / "out") if one.check == "inputs")
    assert "which the study starts from, is not among the inputs" in words


def test_a_model_of_an_unknown_date_is_named(honest: Plan, tmp_path: Path) -> None:
    from finished import run
    from toys import build_toy_corpus, make_toy_study

    key = honest.tree.runs[0].rounds["202302"]
    assert honest.store is not None
    folder = f"rounds/{honest.ids[key][:32]}/{honest.records[key].attempt}/model"
    shutil.copytree(Path(honest.store.path(folder)), tmp_path / "base")
    build_toy_corpus(tmp_path / "root/corpora/toy@1")
    model = {"kind": "folder", "path": str(tmp_path / "base"), "as_of": "outside"}
    changes = {"model": model, "initial": {"budget": 0, "schedule": {"kind": "constant", "max_rate": 1e-3}}}
    plan = run(make_toy_study(methods=METHODS[:1], **changes), tmp_path / "root")
    attest(plan, tmp_path / "out")
    found = verified(tmp_path / "out", replay=2)
    assert refused(found) == ""
    assert next(one.words for one in found if one.check == "outside").endswith("as of outside")
