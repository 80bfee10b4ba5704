"""What must hold for any manifests beyond their schemas. Each rule returns what breaks it, in one line each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import yaml
from manifests import K8S, Manifest, cluster, containers, pods

VOLUMES = {
    *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral"),
    *("persistentVolumeClaim", "projected", "secret"),
}
GPU = "nvidia.com/gpu"


def restricted_problems(manifests: list[Manifest]) -> list[str]:
    """Kubernetes' pod security standard `restricted`, and a root file system that cannot be written."""
    found = []
    for where, template in pods(manifests):
        spec = template["spec"]
        found += [f"{where}: {name} is on" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
        for volume in spec.get("volumes", []):
            kinds = volume.keys() - {"name"} - VOLUMES
            found += [f"{where}: volume {volume['name']} is of kind {kind}" for kind in sorted(kinds)]
        if spec.get("securityContext", {}).get("sysctls"):
            found.append(f"{where}: sysctls are set")
    for where, container, spec in containers(manifests):
        pod, own = spec.get("securityContext", {}), container.get("securityContext", {})
        both = {**pod, **own}
        held = {
            "allowPrivilegeEscalation is not false": own.get("allowPrivilegeEscalation") is not False,
            "privileged": own.get("privileged", False),
            "does not drop ALL capabilities": "ALL" not in own.get("capabilities", {}).get("drop", []),
            "adds capabilities": set(own.get("capabilities", {}).get("add", [])) - {"NET_BIND_SERVICE"},
            "may run as root": both.get("runAsNonRoot") is not True or both.get("runAsUser", 0) == 0,
            "has no seccomp profile": both.get("seccompProfile", {}).get("type") not in ("RuntimeDefault", "Localhost"),
            "unmasks /proc": own.get("procMount", "Default") != "Default",
            "can write its root file system": own.get("readOnlyRootFilesystem") is not True,
            "takes ports of the host": any("hostPort" in port for port in container.get("ports", [])),
        }
        found += [f"{where} {what}" for what, broken in held.items() if broken]
    return found


def resource_problems(manifests: list[Manifest]) -> list[str]:
    """Every container requests and limits CPUs and memory; whole GPUs; an image of a certain version."""
    found = []
    for where, container, _ in containers(manifests):
        asked, most = (container.get("resources", {}).get(key, {}) for key in ("requests", "limits"))
        missing = [
            f"{kind} in {key}" for key, have in (("requests", asked), ("limits", most)) for kind in NEEDED - {*have}
        ]
        found += [f"{where}: no {what}" for what in sorted(missing)]
        found += [
            f"{where}: requests more {kind} than its limit"
            for kind in asked
            if amount(asked[kind]) > amount(most.get(kind, "0"))
        ]
        if asked.get(GPU) != most.get(GPU):
            found.append(f"{where}: GPUs requested and limited differ")
        image = container.get("image")
        if image is not None and not re.fullmatch(r"[^@]+:\d[\w.-]+|.+@sha256:[0-9a-f]{64}", image):
            found.append(f"{where}: image {image} names no version")
    return found


NEEDED = {"cpu", "memory"}
UNITS: dict[str, Decimal | int] = {
    "": 1,
    "m": Decimal("0.001"),
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
}


def amount(quantity: str | int) -> Decimal:
    """A quantity of Kubernetes as a number."""
    found = re.fullmatch(r"([\d.]+)([A-Za-z]*)", str(quantity))
    assert found is not None, quantity
    return Decimal(found[1]) * UNITS[found[2]]


def reference_problems(manifests: list[Manifest]) -> list[str]:
    """What is named is there; Secrets are those that secrets.example.yaml describes, with the keys it describes."""
    secrets = {s["metadata"]["name"]: set(s["stringData"]) for s in documented_secrets()}
    there = {(m["kind"], m["metadata"]["name"]) for m in manifests} | {("Secret", name) for name in secrets}
    found = []
    for where, kind, name, key in _references(manifests):
        if (kind, name) not in there:
            found.append(f"{where}: there is no {kind} {name}")
        elif kind == "Secret" and key is not None and key not in secrets[name]:
            found.append(f"{where}: Secret {name} has no key {key}")
    for where, container, spec in containers(manifests):
        volumes = {volume["name"] for volume in spec.get("volumes", [])} | _claimed(manifests)
        mounts = {mount["name"] for mount in container.get("volumeMounts", [])}
        found += [f"{where}: mounts {name}, which is no volume" for name in sorted(mounts - volumes)]
    labels = [template["metadata"]["labels"] for _, template in pods(manifests)]
    for manifest in manifests:
        chosen = {"NetworkPolicy": "podSelector", "Service": "selector", "StatefulSet": "selector"}.get(
            manifest["kind"]
        )
        if chosen is not None:
            selector = manifest["spec"][chosen]
            wanted = selector.get("matchLabels", {}) if manifest["kind"] != "Service" else selector
            if not wanted or not any(wanted.items() <= have.items() for have in labels):
                found.append(f"{manifest['kind']} {manifest['metadata']['name']}: selects no pod")
    policies = [m["spec"]["podSelector"]["matchLabels"] for m in manifests if m["kind"] == "NetworkPolicy"]
    for where, template in pods(manifests):
        if not any(policy.items() <= template["metadata"]["labels"].items() for policy in policies):
            found.append(f"{where}: no network policy holds for it")
    return found


def documented_secrets() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((K8S / "base/secrets.example.yaml").read_text()))


def _claimed(manifests: list[Manifest]) -> set[str]:
    return {c["metadata"]["name"] for m in manifests for c in m.get("spec", {}).get("volumeClaimTemplates", [])}


def _references(manifests: list[Manifest]) -> Iterator[tuple[str, str, str, str | None]]:
    """(where, kind, name, key) of all that is referred to."""
    ray = cluster(manifests)
    yield "authOptions", "Secret", ray.get("authOptions", {}).get("secretName", "(none)"), "auth_token"
    yield from _secret_keys("gcsFaultToleranceOptions", ray.get("gcsFaultToleranceOptions", {}))
    for where, template in pods(manifests):
        spec = template["spec"]
        if "serviceAccountName" in spec:
            yield where, "ServiceAccount", spec["serviceAccountName"], None
        for volume in spec.get("volumes", []):
            if "configMap" in volume:
                yield where, "ConfigMap", volume["configMap"]["name"], None
            if "persistentVolumeClaim" in volume:
                yield where, "PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"], None
        yield from _secret_keys(where, spec)
    for where, container, _ in containers(manifests):
        for source in container.get("envFrom", []):
            for field, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
                if field in source:
                    yield where, kind, source[field]["name"], None


def _secret_keys(where: str, value: Any) -> Iterator[tuple[str, str, str, str | None]]:
    if isinstance(value, list):
        for item in value:
            yield from _secret_keys(where, item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key == "secretKeyRef":
                yield where, "Secret", item["name"], item["key"]
            else:
                yield from _secret_keys(where, item)
