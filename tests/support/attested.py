"""Vintages of the toy study with their certificates, as honest publishers make them and as others do."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from finished import run
from toys import build_toy_corpus, make_toy_study

from ticlm.core import paths
from ticlm.core.integrity import own_hash
from ticlm.core.integrity.records import Record
from ticlm.platform.publish.lineage import lineages
from ticlm.platform.publish.places.opened import place_of
from ticlm.platform.publish.publishing import PublishRequest, publish
from ticlm.platform.publish.vintage_files import CERTIFICATE, PROVENANCE_FILE, hashes
from ticlm.platform.report.report import Report
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.study.plan import Plan, make
from ticlm.platform.verify.finding import Checked, verdict
from ticlm.platform.verify.opened import opened
from ticlm.platform.verify.verifying import VerifyRequest, findings

METHOD = "replay-half"
SHORT = {"schedule": {"max_rate": 5e-3, "warmup_steps": 1}}
METHODS: list[dict[str, Any]] = [{"base": METHOD, **SHORT}, {"base": "oracle", "cutoffs": ["202301", "202304"]}]


def trained(root: Path, methods: list[dict[str, Any]] | None = None, **corpus: Any) -> Plan:
    """Return the plan of the toy study, trained and scored; `corpus` are changes of `build_toy_corpus`."""
    if not (root / "corpora").exists():
        build_toy_corpus(root / "corpora/toy@1", **corpus)
    return run(make_toy_study(methods=methods or METHODS), root)


def attest(plan: Plan, to: Path | str, method: str = METHOD, request: PublishRequest | None = None) -> list[str]:
    """Publish the vintages of a method with their inputs; return their labels."""
    found = lineages(plan, method, None)
    asked = request or PublishRequest(with_inputs=True)
    publish(found, place_of(str(to)), Report([study_result(plan)]), asked, lambda _: None)
    return [one.label for one in found]


def verified(address: Path | str, label: str = "", **request: Any) -> list[Checked]:
    """Return all findings about a vintage."""
    with opened(str(address), label) as vintage:
        return list(findings(vintage, VerifyRequest(**request), lambda _: None))


def refused(found: list[Checked]) -> str:
    """Return what the first finding that refuses says; empty if none does."""
    return next((f"{one.check}: {one.words}" for one in found if one.state == "refused"), "")


def forged(honest: Plan, root: Path, forge: Callable[[Plan, str], Path | None], **corpus: Any) -> Plan:
    """Return a plan whose records are there and agree with one another, and whose weights are those of other rounds.

    The corpus is another one (`corpus`), and each round has the weights of the honest plan's round at its place, unless
    `forge` names the folder of another model for it.
    """
    build_toy_corpus(root / "corpora/toy@1", **corpus)
    plan = make(make_toy_study(methods=METHODS), str(root))
    for run_, theirs in zip(plan.tree.runs, honest.tree.runs):
        for label, key in run_.rounds.items():
            old = honest.records[theirs.rounds[label]]
            source = Path(honest.store.path(paths.round_folder(honest.ids[theirs.rounds[label]])))  # type: ignore[union-attr]
            target = Path(plan.store.path(paths.round_folder(plan.ids[key])))  # type: ignore[union-attr]
            shutil.copytree(source, target, dirs_exist_ok=True)
            if (model := forge(honest, label)) is not None:
                shutil.copytree(model, target / old.attempt / "model", dirs_exist_ok=True)
            _recorded(plan, target, old)
    plan.read_records(plan.ids)
    return run_again(plan)


def run_again(plan: Plan) -> Plan:
    """Return the plan with all of its cells scored."""
    from ticlm.platform.run import driver

    driver.evaluate(plan)
    return make(plan.study, plan.store)


def _recorded(plan: Plan, folder: Path, old: Record) -> None:
    """Write a record that agrees with the files that lie beside it."""
    assert plan.store is not None
    place = folder / old.attempt
    files = tuple(
        one.model_copy(update={"size": (place / one.path).stat().st_size, "sha256": _sha256(place / one.path)})
        for one in old.files
    )
    new = old.model_copy(update={"files": files})
    content = new.model_dump(mode="json", exclude={own_hash.KEY})
    (folder / "record.json").write_bytes(own_hash.with_hash(content))


def certify_again(folder: Path, change: Mapping[str, Any] | None = None) -> None:
    """Make the certificate and the provenance of a changed vintage agree with its files, and with what is stated."""
    for name in (CERTIFICATE, PROVENANCE_FILE):
        whole = json.loads((folder / name).read_text())
        whole["subject"] = [{"name": n, "digest": {"sha256": sha256}} for n, sha256 in hashes(folder).items()]
        if name == CERTIFICATE:
            whole["predicate"] |= change or {}
        (folder / name).write_text(json.dumps(whole))
    above = folder.parent / "vintages.json"
    index = json.loads(above.read_text())
    about = json.loads((folder / CERTIFICATE).read_text())["predicate"]
    index["vintages"][folder.name] |= {"cutoff": about["cutoff"], "round": about["round"]}
    index["vintages"][folder.name]["certificate"] = _sha256(folder / CERTIFICATE)
    above.write_text(json.dumps(index))


def about(folder: Path) -> dict[str, Any]:
    """Return what the certificate of a vintage says."""
    return dict(json.loads((folder / CERTIFICATE).read_text())["predicate"])


def verdict_of(found: list[Checked]) -> str:
    return verdict(found, "it", "then").partition(" ")[0]


def _sha256(file: Path) -> str:
    import hashlib

    return hashlib.sha256(file.read_bytes()).hexdigest()
