"""Kubernetes manifests as data: what Kustomize builds of `k8s/`, and ways to find things in it."""

from __future__ import annotations

import copy
import re
import shutil
import subprocess
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from paths import ROOT

from ticlm.platform.study import settings
from ticlm.platform.study.settings import Study

K8S = ROOT / "k8s"
OVERLAYS = ("rayjob", "raycluster", "rayjob-spot", "raycluster-redis")
GPU = "nvidia.com/gpu"

Manifest = dict[str, Any]


def kustomize() -> list[str] | None:
    """Return the command that builds a kustomization, or None if it is not installed."""
    if shutil.which("kustomize"):
        return ["kustomize", "build"]
    return ["kubectl", "kustomize"] if shutil.which("kubectl") else None


needs_kustomize = pytest.mark.skipif(kustomize() is None, reason="neither kustomize nor kubectl is here")


def build(folder: Path) -> list[Manifest]:
    """Return the manifests of a kustomization; a copy, to change at will."""
    return copy.deepcopy(_built(folder))


@cache
def _built(folder: Path) -> list[Manifest]:
    command = kustomize()
    assert command is not None
    done = subprocess.run([*command, str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return list(yaml.load_all(done.stdout, yaml.CSafeLoader))


def named(manifests: list[Manifest], kind: str, name: str | None = None) -> Manifest:
    """Return the one manifest of this kind (and name)."""
    (found,) = (m for m in manifests if m["kind"] == kind and name in (None, m["metadata"]["name"]))
    return found


def cluster(manifests: list[Manifest]) -> dict[str, Any]:
    """Return the specification of the Ray cluster, of a RayJob or of a RayCluster."""
    (found,) = (m for m in manifests if m["kind"] in ("RayJob", "RayCluster"))
    return cast(dict[str, Any], found["spec"]["rayClusterSpec"] if found["kind"] == "RayJob" else found["spec"])


def pods(manifests: list[Manifest]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (what it is called in a message, template) for every pod."""
    for manifest in manifests:
        spec = manifest.get("spec", {})
        if manifest["kind"] in ("RayJob", "RayCluster"):
            ray = cluster(manifests)
            yield "head", ray["headGroupSpec"]["template"]
            for group in ray["workerGroupSpecs"]:
                yield f"group {group['groupName']}", group["template"]
            if "submitterPodTemplate" in spec:
                yield "submitter", spec["submitterPodTemplate"]
        elif "template" in spec:
            yield manifest["metadata"]["name"], spec["template"]


def containers(manifests: list[Manifest]) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Yield (what it is called, container, specification of its pod); the autoscaler is a container of the head."""
    for where, template in pods(manifests):
        spec = template["spec"]
        for container in [*spec.get("initContainers", []), *spec["containers"]]:
            yield f"{where}: {container['name']}", container, spec
    head = cluster(manifests)
    yield "autoscaler", head.get("autoscalerOptions", {}), head["headGroupSpec"]["template"]["spec"]


def environment(manifests: list[Manifest]) -> dict[str, str]:
    """Return the environment of all Ray containers."""
    return cast(dict[str, str], named(manifests, "ConfigMap", "ticlm-environment")["data"])


def study_of(manifests: list[Manifest], folder: Path) -> Study:
    """Return the study that the cluster is given, read as `ticlm run` reads it."""
    (folder / "study.yaml").write_text(named(manifests, "ConfigMap", "ticlm-study")["data"]["study.yaml"])
    return settings.load(str(folder / "study.yaml"))


def amount(quantity: str | int) -> Decimal:
    """Return a quantity of Kubernetes as a number."""
    units: dict[str, Decimal | int] = {"": 1, "m": Decimal("0.001"), "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
    match = re.fullmatch(r"([\d.]+)([A-Za-z]*)", str(quantity))
    assert match is not None, quantity
    return Decimal(match[1]) * units[match[2]]


def parse_ticlm(arguments: list[str]) -> None:
    """Parse a command line of ticlm without running it. Raises whatever the parser raises for a wrong one."""
    import typer.main

    from ticlm.platform.cli.main import app

    parse(typer.main.get_command(app), "ticlm", arguments)


def parse_ray(arguments: list[str]) -> None:
    """Parse a command line of Ray without running it. Raises whatever the parser raises for a wrong one."""
    from ray.scripts.scripts import cli

    parse(cli, "ray", arguments)


def parse(command: Any, program: str, arguments: list[str]) -> None:
    called, *rest = arguments
    assert called == program, arguments
    while hasattr(command, "commands"):
        command = command.commands[rest.pop(0)]
    command.make_context(program, rest)
