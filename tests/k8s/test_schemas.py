"""Manifests against the schemas of Kubernetes and of KubeRay: what the API server would refuse, or drop silently."""

from __future__ import annotations

from functools import cache
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml
from manifests import K8S, OVERLAYS, Manifest, build, cluster, named, needs_kustomize
from paths import SHARED

CRDS = SHARED / "kuberay"
pytestmark = [needs_kustomize, pytest.mark.skipif(not CRDS.is_dir(), reason="KubeRay's CRDs are not here")]


def problems(manifest: Manifest) -> list[str]:
    """Return what the API server would refuse of a manifest, or drop."""
    builtin = manifest
    found = []
    if manifest["apiVersion"].startswith("ray.io/"):
        validator = jsonschema.Draft202012Validator(custom_schema(manifest["kind"]))
        found = [f"{error.json_path}: {error.message[:300]}" for error in validator.iter_errors(manifest)]
        builtin = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": manifest["metadata"]}
    try:
        kubernetes_validate.validate(builtin, kubernetes_validate.latest_version(), strict=True)
    except (kubernetes_validate.ValidationError, kubernetes_validate.SchemaNotFoundError) as error:
        found.append(error.message)
    return found


@cache
def custom_schema(kind: str) -> Any:
    crd = yaml.load((CRDS / f"ray.io_{kind.lower()}s.yaml").read_text(), yaml.CSafeLoader)
    (schema,) = (v["schema"]["openAPIV3Schema"] for v in crd["spec"]["versions"] if v["name"] == "v1")
    made = closed(schema)
    made["properties"]["metadata"] = {"type": "object"}  # Kubernetes' own, of which the CRD says nothing
    return made


def closed(schema: Any) -> Any:
    """Return a schema that refuses fields which it does not name; the API server would drop them."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(value) for key, value in schema.items()}
    if made.get("type") == "object" and not made.get("x-kubernetes-preserve-unknown-fields"):
        made.setdefault("additionalProperties", False)
    return made


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_api_server_takes_every_manifest_whole(name: str) -> None:
    assert [problem for manifest in build(K8S / "overlays" / name) for problem in problems(manifest)] == []


def test_what_the_api_server_would_refuse_or_drop_is_found() -> None:
    made = build(K8S / "overlays/rayjob")
    job, (gpu, cpu) = named(made, "RayJob"), cluster(made)["workerGroupSpecs"]
    gpu["maxReplica"] = 8  # a field that the CRD does not have
    gpu["template"]["spec"]["volume"] = []  # one that a pod does not have
    del cpu["maxReplicas"]  # a required one
    gpu["replicas"] = "2"
    gpu["template"]["spec"]["containers"][0]["resources"]["limits"]["memory"] = "64 GB"
    job["metadata"]["labels"]["app"] = 1
    assert len(problems(job)) == 6
    policy = named(made, "NetworkPolicy", "ticlm")
    policy["spec"]["ingress"][1]["ports"][0]["prot"] = 1
    assert len(problems(policy)) == 1
