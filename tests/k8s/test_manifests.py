"""Manifests for KubeRay: built, valid, safe, and such that ticlm runs on them. A wrong one is found."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from clusterrules import capacity_problems, command_problems, ray_problems, study_of, ticlm_problems
from manifestrules import documented_secrets, reference_problems, resource_problems, restricted_problems
from manifests import CRDS, K8S, OVERLAYS, Manifest, build, cluster, kustomize, named, pods, schema_problems

Rule = Callable[[list[Manifest]], list[str]]
RULES: tuple[Rule, ...] = (
    *(restricted_problems, resource_problems, reference_problems),
    *(ray_problems, capacity_problems, command_problems),
)
GROUP = "RayJob.spec.rayClusterSpec.workerGroupSpecs"
HEAD = "RayJob.spec.rayClusterSpec.headGroupSpec"
GONE = object()

needs_kustomize = pytest.mark.skipif(kustomize() is None, reason="neither kustomize nor kubectl is here")
needs_crds = pytest.mark.skipif(not CRDS.is_dir(), reason="KubeRay's CRDs are not here")


def overlay(name: str) -> list[Manifest]:
    return build(K8S / "overlays" / name)


def broken(rules: tuple[Rule, ...], manifests: list[Manifest]) -> list[str]:
    return [problem for rule in rules for problem in rule(manifests)]


def change(manifests: list[Manifest], path: str, value: Any) -> None:
    """Set (or with GONE, remove) what stands at `Kind.field.0.field`; `Kind/name` where there are several."""
    kind, *keys, last = re.split(r"\.(?![^\[]*\])", path)
    found: Any = named(manifests, *kind.split("/"))
    for key in keys:
        found = found[int(key)] if isinstance(found, list) else found[key.strip("[]")]
    last = last.strip("[]")
    if value is GONE:
        del found[last]
    elif isinstance(found, list):
        found.append(value)
    else:
        found[last] = value


@needs_kustomize
@pytest.mark.parametrize("name", OVERLAYS)
def test_an_overlay_is_safe_and_what_ticlm_and_ray_need(name: str) -> None:
    assert broken(RULES, overlay(name)) == []


@needs_kustomize
@needs_crds
@pytest.mark.parametrize("name", OVERLAYS)
def test_an_overlay_is_what_the_api_server_takes_whole(name: str) -> None:
    assert schema_problems(overlay(name)) == []


def test_every_overlay_is_looked_at() -> None:
    assert {path.name for path in (K8S / "overlays").iterdir()} == set(OVERLAYS)


@needs_kustomize
@pytest.mark.parametrize("storage, spot, redis, job", product(("volume", "s3", "gs"), *[(False, True)] * 3))
def test_components_go_together(storage: str, spot: bool, redis: bool, job: bool, tmp_path: Path) -> None:
    chosen = [storage, *["spot"] * spot, *["redis"] * redis, *["job"] * job]
    images = [{"name": "ticlm", "newName": "registry.example/ticlm", "newTag": "0.1.0"}]
    components = [f"components/{name}" for name in chosen]
    write(tmp_path, {"resources": ["base"], "components": components, "images": images})
    made = build(tmp_path)
    assert broken(RULES, made) == []
    assert ("gcsFaultToleranceOptions" in cluster(made)) == redis
    assert [g["groupName"] for g in cluster(made)["workerGroupSpecs"]] == ["gpu", "cpu", *["gpu-spot"] * spot]
    root = named(made, "ConfigMap", "ticlm-environment")["data"]["TICLM_ROOT"]
    assert root.startswith({"volume": "/mnt/ticlm/", "s3": "s3://", "gs": "gs://"}[storage])
    assert {m["kind"] for m in made} & {"RayJob", "RayCluster"} == {"RayJob" if job else "RayCluster"}


@needs_kustomize
def test_job_and_cluster_are_the_same_but_for_who_owns_them() -> None:
    assert cluster(overlay("rayjob")) == cluster(overlay("raycluster"))


@needs_kustomize
def test_a_volume_is_mounted_in_every_pod_of_ray_and_holds_the_root() -> None:
    made = overlay("raycluster")
    root = named(made, "ConfigMap", "ticlm-environment")["data"]["TICLM_ROOT"]
    for where, template in pods(made):
        mounts = {m["mountPath"] for m in template["spec"]["containers"][0]["volumeMounts"]}
        assert any(root.startswith(f"{mount}/") for mount in mounts), where


@needs_kustomize
def test_spot_nodes_take_only_what_is_beyond_the_least() -> None:
    groups = {g["groupName"]: g for g in cluster(overlay("rayjob-spot"))["workerGroupSpecs"]}
    spot = groups["gpu-spot"]["template"]["spec"]
    least, most = study_of(overlay("rayjob-spot")).resources.workers  # type: ignore[misc]
    assert groups["gpu"]["minReplicas"] == groups["gpu"]["maxReplicas"] == least
    assert (groups["gpu-spot"]["minReplicas"], groups["gpu-spot"]["maxReplicas"]) == (0, most - least)
    marks = spot["nodeSelector"].items()
    assert marks <= {(t["key"], t.get("value")) for t in spot["tolerations"]}
    assert "nodeSelector" not in groups["gpu"]["template"]["spec"]


@needs_kustomize
def test_the_job_is_shown_under_its_study_and_ends_its_cluster() -> None:
    made = overlay("rayjob")
    spec = named(made, "RayJob")["spec"]
    assert spec["metadata"]["study"] == study_of(made).name
    assert spec["shutdownAfterJobFinishes"] is True


def test_the_secrets_of_the_example_are_none() -> None:
    values = [value for secret in documented_secrets() for value in secret["stringData"].values()]
    assert values and all(re.fullmatch(r"<[^<>]+>", value) for value in values)
    resources = (K8S / "base/kustomization.yaml").read_text()
    assert "secrets.example.yaml" not in resources


def test_commands_and_folders_of_the_readme_are_there() -> None:
    text = (K8S / "README.md").read_text()
    blocks = re.findall(r"^```\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line.split("  #")[0].strip() for block in blocks for line in block.splitlines()]
    called = [line.split() for line in lines if line.startswith("ticlm ")]
    assert called and [p for words in called for p in ticlm_problems(words)] == []
    folders = [word for line in lines for word in line.split() if word.startswith("k8s/")]
    assert len(folders) > 3 and [f for f in folders if not (K8S.parent / f).exists()] == []


WRONG_SCHEMA = {
    "a field that the CRD does not have": (f"{GROUP}.0.maxReplica", 8),
    "a field that a pod does not have": (f"{GROUP}.0.template.spec.volume", []),
    "a number as text": (f"{GROUP}.0.maxReplicas", "8"),
    "a value that is not one of those allowed": ("RayJob.spec.rayClusterSpec.autoscalerOptions.version", "v3"),
    "a required field left out": (f"{GROUP}.1.maxReplicas", GONE),
    "no head": (f"{HEAD}.template", GONE),
    "a quantity that is none": (f"{GROUP}.0.template.spec.containers.0.resources.limits.memory", "64 GB"),
    "parameters of Ray that are no text": (f"{HEAD}.rayStartParams.num-cpus", 0),
    "a volume twice": (f"{GROUP}.0.template.spec.volumes.-", {"name": "tmp", "emptyDir": {}}),
    "a rule that only the API server can check": ("RayJob.spec.rayClusterSpec.managedBy", "someone"),
    "labels that are no text": ("RayJob.metadata.labels.app", 1),
    "a kind's field at another kind": ("ServiceAccount/ticlm-head.spec", {}),
    "a misspelt port": ("NetworkPolicy.spec.ingress.1.ports.0.prot", 1),
    "a claim with a wrong mode's type": ("PersistentVolumeClaim.spec.accessModes", "ReadWriteMany"),
}


@needs_kustomize
@needs_crds
@pytest.mark.parametrize("path, value", WRONG_SCHEMA.values(), ids=WRONG_SCHEMA)
def test_what_the_api_server_would_refuse_or_drop_is_found(path: str, value: Any) -> None:
    made = overlay("rayjob")
    change(made, path, value)
    assert len(schema_problems(made)) == 1


CONTAINER = f"{GROUP}.0.template.spec.containers.0"
WRONG = {
    "a command that ticlm lacks": ("RayJob.spec.entrypoint", "ticlm rum /etc/ticlm/study.yaml", "no command rum"),
    "an option that it lacks": ("RayJob.spec.entrypoint", "ticlm run /etc/ticlm/study.yaml --rot s3://b", "--rot"),
    "a command without its study": ("RayJob.spec.entrypoint", "ticlm run", "Missing"),
    "another program": ("RayJob.spec.entrypoint", "python train.py", "no command of ticlm"),
    "a study that is not mounted": ("RayJob.spec.entrypoint", "ticlm run /etc/ticlm/other.yaml", "not mounted"),
    "too few GPUs": (f"{GROUP}.0.maxReplicas", 4, "2 to 4 GPUs"),
    "more GPUs in a pod": (f"{CONTAINER}.resources.limits.[{'nvidia.com/gpu'}]", "2", "4 to 16 GPUs"),
    "fewer pods than the least": (f"{GROUP}.0.replicas", 1, "minReplicas <= replicas"),
    "a study with other workers": ("ConfigMap/ticlm-study.data.[study.yaml]", "extends: demo", "groups have 2 to 8"),
    "a study that is none": ("ConfigMap/ticlm-study.data.[study.yaml]", "extends: nothing", "study: "),
    "no room for evaluators": (f"{GROUP}.1.maxReplicas", 0, "room for 0"),
    "no storage": ("ConfigMap/ticlm-environment.data.TICLM_ROOT", GONE, "TICLM_ROOT"),
    "a head that trains": (f"{HEAD}.rayStartParams.num-cpus", "4", "head takes work"),
    "no token": ("RayJob.spec.rayClusterSpec.authOptions.mode", "disabled", "token is off"),
    "another Ray": ("RayJob.spec.rayClusterSpec.rayVersion", "2.59.0", "rayVersion"),
    "the old autoscaler": ("RayJob.spec.rayClusterSpec.autoscalerOptions.version", "v1", "autoscaler v2"),
    "pods that start again": (f"{GROUP}.0.template.spec.restartPolicy", "Always", "restartPolicy"),
    "no drain": (f"{CONTAINER}.lifecycle", GONE, "not drained"),
    "too little time to drain": (f"{GROUP}.0.template.spec.terminationGracePeriodSeconds", 30, "longer than the 30 s"),
    "a privileged container": (f"{CONTAINER}.securityContext.privileged", True, "privileged"),
    "escalation": (f"{CONTAINER}.securityContext.allowPrivilegeEscalation", GONE, "allowPrivilegeEscalation"),
    "a capability": (f"{CONTAINER}.securityContext.capabilities.add", ["IPC_LOCK"], "adds capabilities"),
    "all capabilities": (f"{CONTAINER}.securityContext.capabilities", GONE, "drop ALL"),
    "root": (f"{HEAD}.template.spec.securityContext.runAsUser", 0, "may run as root"),
    "a submitter that may be root": ("RayJob.spec.submitterPodTemplate.spec.securityContext", GONE, "may run as root"),
    "no seccomp profile": (f"{HEAD}.template.spec.securityContext.seccompProfile", GONE, "seccomp"),
    "a root that can be written": (f"{CONTAINER}.securityContext.readOnlyRootFilesystem", False, "root file system"),
    "the host's network": (f"{GROUP}.0.template.spec.hostNetwork", True, "hostNetwork"),
    "a path of the host": (
        f"{GROUP}.0.template.spec.volumes.-",
        {"name": "host", "hostPath": {"path": "/data"}},
        "kind hostPath",
    ),
    "an autoscaler with rights": (
        "RayJob.spec.rayClusterSpec.autoscalerOptions.securityContext",
        GONE,
        "autoscaler allowPrivilegeEscalation",
    ),
    "no limit": (f"{CONTAINER}.resources.limits.memory", GONE, "no memory in limits"),
    "no requests": (f"{HEAD}.template.spec.containers.0.resources.requests", GONE, "no cpu in requests"),
    "any image": (f"{CONTAINER}.image", "registry.example/ticlm:latest", "names no version"),
    "a claim that is not there": ("PersistentVolumeClaim.metadata.name", "other", "no PersistentVolumeClaim"),
    "an account that is not there": (f"{HEAD}.template.spec.serviceAccountName", "admin", "no ServiceAccount admin"),
    "a secret that nobody describes": ("RayJob.spec.rayClusterSpec.authOptions.secretName", "mine", "no Secret mine"),
    "a mount of nothing": (f"{CONTAINER}.volumeMounts.-", {"name": "x", "mountPath": "/x"}, "mounts x"),
    "a pod without a network policy": (f"{GROUP}.0.template.metadata.labels", {}, "no network policy"),
    "a policy for nothing": ("NetworkPolicy.spec.podSelector.matchLabels", {"app": "x"}, "selects no pod"),
}


@needs_kustomize
@pytest.mark.parametrize("path, value, said", WRONG.values(), ids=WRONG)
def test_a_wrong_manifest_is_found(path: str, value: Any, said: str) -> None:
    made = overlay("rayjob")
    change(made, path, value)
    assert any(said in problem for problem in broken(RULES, made)), broken(RULES, made)


@needs_kustomize
def test_evaluators_with_a_share_of_a_gpu_need_gpus_for_it() -> None:
    made = overlay("rayjob")
    study = "extends: demo\nresources: {{workers: [2, 8], evaluators: {}, evaluator_gpus: {}}}"
    for evaluators, share, fits in ((8, "null", True), (9, "1", False), (32, "0.25", True), (33, "0.25", False)):
        change(made, "ConfigMap/ticlm-study.data.[study.yaml]", study.format(evaluators, share))
        assert (capacity_problems(made) == []) == fits


@needs_kustomize
def test_a_component_that_meets_another_group_than_it_means_does_not_build(tmp_path: Path) -> None:
    first, second = tmp_path / "without-gpus", tmp_path / "overlay"
    patch = "- {op: remove, path: /spec/workerGroupSpecs/0}"
    write(first, {"resources": ["base"], "patches": [{"target": {"kind": "RayCluster"}, "patch": patch}]})
    write(second, {"resources": ["../without-gpus"], "components": ["components/spot"]})
    done = subprocess.run([*(kustomize() or []), str(second)], capture_output=True, text=True)
    assert done.returncode != 0 and "test" in done.stderr


def write(folder: Path, kustomization: dict[str, Any]) -> None:
    """A kustomization somewhere else; what is in k8s/ is named as from there."""
    folder.mkdir(exist_ok=True)
    for field in ("resources", "components"):
        names = kustomization.get(field, [])
        kustomization[field] = [n if n.startswith("..") else os.path.relpath(K8S / n, folder) for n in names]
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
