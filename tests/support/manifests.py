"""Kubernetes manifests as data: built by Kustomize, validated by the schemas of KubeRay and of Kubernetes."""

from __future__ import annotations

import copy
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

import jsonschema
import kubernetes_validate
import yaml
from paths import ROOT

K8S = ROOT / "k8s"
CRDS = ROOT.parent / "shared/data/kuberay"
OVERLAYS = ("rayjob", "raycluster", "rayjob-spot", "raycluster-redis")

Manifest = dict[str, Any]


def kustomize() -> list[str] | None:
    """The command that builds a kustomization, where there is one."""
    if shutil.which("kustomize"):
        return ["kustomize", "build"]
    return ["kubectl", "kustomize"] if shutil.which("kubectl") else None


def build(folder: Path) -> list[Manifest]:
    """What a kustomization consists of; a copy, to change at will."""
    return copy.deepcopy(_built(folder))


@cache
def _built(folder: Path) -> list[Manifest]:
    command = kustomize()
    assert command is not None
    done = subprocess.run([*command, str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return list(yaml.load_all(done.stdout, yaml.CSafeLoader))


def named(manifests: list[Manifest], kind: str, name: str | None = None) -> Manifest:
    """The one manifest of this kind (and name)."""
    (found,) = (m for m in manifests if m["kind"] == kind and name in (None, m["metadata"]["name"]))
    return found


def cluster(manifests: list[Manifest]) -> dict[str, Any]:
    """The specification of the Ray cluster, be it a job's or one to work on."""
    (found,) = (m for m in manifests if m["kind"] in ("RayJob", "RayCluster"))
    return cast(dict[str, Any], found["spec"]["rayClusterSpec"] if found["kind"] == "RayJob" else found["spec"])


def pods(manifests: list[Manifest]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every pod template, and what to call it."""
    for manifest in manifests:
        spec = manifest.get("spec", {})
        if manifest["kind"] in ("RayJob", "RayCluster"):
            ray = spec["rayClusterSpec"] if manifest["kind"] == "RayJob" else spec
            yield "head", ray["headGroupSpec"]["template"]
            for group in ray["workerGroupSpecs"]:
                yield f"group {group['groupName']}", group["template"]
            if "submitterPodTemplate" in spec:
                yield "submitter", spec["submitterPodTemplate"]
        elif "template" in spec:
            yield f"{manifest['kind']} {manifest['metadata']['name']}", spec["template"]


def containers(manifests: list[Manifest]) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Every container with its pod's specification; the autoscaler is one of the head's."""
    for where, template in pods(manifests):
        spec = template["spec"]
        for container in [*spec.get("initContainers", []), *spec["containers"]]:
            yield f"{where}: {container['name']}", container, spec
    head = cluster(manifests)
    yield "head: autoscaler", head.get("autoscalerOptions", {}), head["headGroupSpec"]["template"]["spec"]


def schema_problems(manifests: list[Manifest]) -> list[str]:
    """What the API server would refuse, or drop without a word."""
    found = []
    for manifest in manifests:
        where = f"{manifest['kind']} {manifest['metadata']['name']}"
        if manifest["apiVersion"].startswith("ray.io/"):
            plain = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": manifest["metadata"]}
            errors = [*_custom(manifest), *_builtin(plain)]
        else:
            errors = _builtin(manifest)
        found += [f"{where}: {error}" for error in errors]
    return found


def _builtin(manifest: Manifest) -> list[str]:
    try:
        kubernetes_validate.validate(manifest, kubernetes_validate.latest_version(), strict=True)
    except (kubernetes_validate.ValidationError, kubernetes_validate.SchemaNotFoundError) as error:
        return [error.message]
    return []


def _custom(manifest: Manifest) -> list[str]:
    version = manifest["apiVersion"].partition("/")[2]
    validator = _validator(manifest["kind"].lower() + "s", version)
    return [f"{error.json_path}: {error.message[:300]}" for error in validator.iter_errors(manifest)]


@cache
def _validator(plural: str, version: str) -> Any:
    crd = yaml.load((CRDS / f"ray.io_{plural}.yaml").read_text(), yaml.CSafeLoader)
    (schema,) = (v["schema"]["openAPIV3Schema"] for v in crd["spec"]["versions"] if v["name"] == version)
    closed = _closed(schema)
    closed["properties"]["metadata"] = {"type": "object"}  # Kubernetes' own; the CRD says nothing of it
    closed["required"] = ["apiVersion", "kind", "metadata", "spec"]
    rules = {
        "x-kubernetes-list-map-keys": _unique_keys,
        "x-kubernetes-list-type": _unique_items,
        "x-kubernetes-validations": _unchecked,
    }
    return jsonschema.validators.extend(jsonschema.Draft202012Validator, rules)(closed)


def _closed(schema: Any) -> Any:
    """A structural schema that refuses what the API server would prune: fields that it does not name."""
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _closed(value) for key, value in schema.items()}
    is_object = made.get("type") == "object" and not made.get("x-kubernetes-preserve-unknown-fields")
    if is_object and "additionalProperties" not in made:
        made["additionalProperties"] = False
    return made


def _unique_keys(_: Any, keys: list[str], items: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    defaults = {key: schema["items"]["properties"][key].get("default") for key in keys}
    seen = [tuple(item.get(key, defaults[key]) for key in keys) for item in items]
    for twice in sorted({str(s) for s in seen if seen.count(s) > 1}):
        yield jsonschema.ValidationError(f"{twice} is there twice; {', '.join(keys)} must be unique")


def _unique_items(_: Any, kind: str, items: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    if kind == "set" and any(items.count(item) > 1 for item in items):
        yield jsonschema.ValidationError(f"{items} must have no item twice")


def _unchecked(_: Any, rules: Any, value: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    yield jsonschema.ValidationError("has rules (CEL) that cannot be evaluated here; leave the field out")
