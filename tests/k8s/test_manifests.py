"""Every overlay, and components that meet in none: confined, whole, and such that Ray and ticlm run on them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from manifests import (
    GPU,
    K8S,
    OVERLAYS,
    Manifest,
    amount,
    build,
    cluster,
    containers,
    environment,
    kustomize,
    named,
    needs_kustomize,
    parse_ray,
    parse_ticlm,
    pods,
    study_of,
)
from paths import ROOT

TOGETHER = ("volume+job", "volume+spot+redis", "s3+spot+job", "s3+redis", "gs+spot+redis+job", "gs")
"""Every pair of components, and every component without every other."""
VOLUMES = {"configMap", "emptyDir", "persistentVolumeClaim"}
SECRETS = list(yaml.safe_load_all((K8S / "base/secrets.example.yaml").read_text()))


@pytest.fixture(scope="module", params=[*OVERLAYS, *TOGETHER])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Manifest]:
    if kustomize() is None:
        pytest.skip("neither kustomize nor kubectl is here")
    if request.param in OVERLAYS:
        return overlay(request.param)
    folder = tmp_path_factory.mktemp(request.param)
    images = [{"name": "ticlm", "newName": "registry.example/ticlm", "newTag": "0.2.0"}]
    components = [f"components/{name}" for name in request.param.split("+")]
    write(folder, {"resources": ["base"], "components": components, "images": images})
    return build(folder)


def overlay(name: str) -> list[Manifest]:
    return build(K8S / "overlays" / name)


def write(folder: Path, kustomization: dict[str, Any]) -> None:
    """Write a kustomization somewhere else; what is in k8s/ is named as from there."""
    folder.mkdir(exist_ok=True)
    for field in ("resources", "components"):
        names = kustomization.get(field, [])
        kustomization[field] = [n if n.startswith("..") else os.path.relpath(K8S / n, folder) for n in names]
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))


def test_every_overlay_is_looked_at() -> None:
    assert {path.name for path in (K8S / "overlays").iterdir()} == set(OVERLAYS)


# confined: Kubernetes' pod security standard `restricted`, and a root file system that cannot be written


def test_no_pod_reaches_its_host(made: list[Manifest]) -> None:
    for where, template in pods(made):
        spec = template["spec"]
        assert not any(spec.get(name) for name in ("hostNetwork", "hostPID", "hostIPC")), where
        assert {kind for volume in spec.get("volumes", []) for kind in volume} <= VOLUMES | {"name"}, where
    for where, container, _ in containers(made):
        assert not any("hostPort" in port for port in container.get("ports", [])), where


def test_no_container_is_root_or_can_become_root(made: list[Manifest]) -> None:
    for where, container, spec in containers(made):
        context = {**spec["securityContext"], **container["securityContext"]}
        assert context["runAsNonRoot"] is True and context["runAsUser"] > 0, where
        assert container["securityContext"]["allowPrivilegeEscalation"] is False, where
        assert container["securityContext"]["readOnlyRootFilesystem"] is True, where
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}, where
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}, where
        assert not context.get("privileged"), where


def test_only_the_head_has_a_token_of_kubernetes(made: list[Manifest]) -> None:
    """Its autoscaler asks the API server for pods."""
    tokens = {where: template["spec"]["automountServiceAccountToken"] for where, template in pods(made)}
    assert [where for where, mounted in tokens.items() if mounted] == ["head"]


def test_a_network_policy_holds_for_every_pod_and_every_selector_selects_one(made: list[Manifest]) -> None:
    labels = {where: template["metadata"]["labels"].items() for where, template in pods(made)}
    policies = [m["spec"]["podSelector"]["matchLabels"].items() for m in made if m["kind"] == "NetworkPolicy"]
    services = [m["spec"]["selector"].items() for m in made if m["kind"] == "Service"]
    for where, have in labels.items():
        assert any(wanted <= have for wanted in policies), where
    for wanted in policies + services:
        assert wanted and any(wanted <= have for have in labels.values()), wanted


def test_only_the_head_reaches_the_api_server_and_only_buckets_are_outside(made: list[Manifest]) -> None:
    """An address that is not a pod's may be reached by the head, and by all pods where a component names a bucket."""
    root = next(m["data"]["TICLM_ROOT"] for m in made if m["metadata"]["name"] == "ticlm-environment")
    outside = {
        m["metadata"]["name"]: m["spec"]["podSelector"]["matchLabels"]
        for m in made
        if m["kind"] == "NetworkPolicy" and "ipBlock" in str(m["spec"].get("egress"))
    }
    assert outside.pop("ticlm-head")["app.kubernetes.io/component"] == "head"
    assert outside.keys() == ({"ticlm-bucket"} if root.startswith("s3://") else set()) | (
        {"ticlm-bucket", "ticlm-identity"} if root.startswith("gs://") else set()
    )


def test_keys_of_a_bucket_are_where_the_bucket_is(made: list[Manifest]) -> None:
    root = next(m["data"]["TICLM_ROOT"] for m in made if m["metadata"]["name"] == "ticlm-environment")
    with_keys = {where for where, container, _ in containers(made) if "ticlm-s3" in str(container.get("envFrom"))}
    ray = {where for where, container, _ in containers(made) if container.get("envFrom")}
    assert with_keys == (ray if root.startswith("s3://") else set())


# whole: images, resources, and what is referred to


def test_images_have_a_version(made: list[Manifest]) -> None:
    images = {
        where: c["image"] for where, c, _ in containers(made) if where != "autoscaler"
    }  # KubeRay takes the head's
    for where, image in images.items():
        assert re.fullmatch(r"[^@]+:\d[\w.-]+|.+@sha256:[0-9a-f]{64}", image), where


def test_every_container_requests_and_limits_what_it_uses(made: list[Manifest]) -> None:
    for where, container, _ in containers(made):
        requests, limits = container["resources"]["requests"], container["resources"]["limits"]
        assert {"cpu", "memory"} <= requests.keys() <= limits.keys(), where
        assert all(amount(requests[kind]) <= amount(limits[kind]) for kind in requests), where
        assert requests.get(GPU) == limits.get(GPU), where


def test_accounts_claims_and_config_maps_that_are_named_are_there(made: list[Manifest]) -> None:
    there = {(m["kind"], m["metadata"]["name"]) for m in made}
    for where, template in pods(made):
        spec = template["spec"]
        if where != "ticlm-redis":
            assert ("ServiceAccount", spec["serviceAccountName"]) in there, where
        for volume in spec.get("volumes", []):
            if "configMap" in volume:
                assert ("ConfigMap", volume["configMap"]["name"]) in there, where
            if "persistentVolumeClaim" in volume:
                assert ("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"]) in there, where
    maps = {source["configMapRef"]["name"] for _, c, _ in containers(made) for source in c.get("envFrom", [])[:1]}
    assert maps == {"ticlm-environment"} and ("ConfigMap", "ticlm-environment") in there


def test_secrets_that_are_named_are_documented_with_their_keys(made: list[Manifest]) -> None:
    documented = {secret["metadata"]["name"]: secret["stringData"].keys() for secret in SECRETS}
    assert "auth_token" in documented[cluster(made)["authOptions"]["secretName"]]
    for keys in re.findall(r"'secretKeyRef': (\{.*?\})", str(made)):
        reference = yaml.safe_load(keys)
        assert reference["key"] in documented[reference["name"]]
    for where, container, _ in containers(made):
        for source in container.get("envFrom", []):
            assert "secretRef" not in source or source["secretRef"]["name"] in documented, where


def test_mounts_are_volumes(made: list[Manifest]) -> None:
    claims = {c["metadata"]["name"] for m in made for c in m.get("spec", {}).get("volumeClaimTemplates", [])}
    for where, container, spec in containers(made):
        volumes = {volume["name"] for volume in spec.get("volumes", [])} | claims
        assert {mount["name"] for mount in container.get("volumeMounts", [])} <= volumes, where


def test_the_secrets_of_the_example_are_none() -> None:
    values = [value for secret in SECRETS for value in secret["stringData"].values()]
    assert values and all(re.fullmatch(r"<[^<>]+>", value) for value in values)
    assert "secrets.example.yaml" not in (K8S / "base/kustomization.yaml").read_text()


# what Ray wants


def test_ray_asks_for_a_token_and_scales_by_autoscaler_v2(made: list[Manifest]) -> None:
    ray = cluster(made)
    assert ray["authOptions"]["mode"] == "token"
    assert ray["enableInTreeAutoscaling"] is True and ray["autoscalerOptions"]["version"] == "v2"
    for where, template in pods(made):  # the autoscaler wants new pods
        assert where == "ticlm-redis" or template["spec"]["restartPolicy"] == "Never", where


def test_ray_has_the_pinned_version(made: list[Manifest]) -> None:
    (version,) = re.findall(r"^ray==(.+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert cluster(made)["rayVersion"] == version


def test_nothing_trains_on_the_head(made: list[Manifest]) -> None:
    head = cluster(made)["headGroupSpec"]
    assert head["rayStartParams"]["num-cpus"] == "0"
    assert GPU not in head["template"]["spec"]["containers"][0]["resources"]["limits"]


def test_groups_have_names_of_their_own_and_room_between_least_and_most(made: list[Manifest]) -> None:
    groups = cluster(made)["workerGroupSpecs"]
    assert len({group["groupName"] for group in groups}) == len(groups)
    for group in groups:
        assert 0 <= group["minReplicas"] <= group["replicas"] <= group["maxReplicas"], group["groupName"]


def test_a_worker_is_drained_before_its_pod_ends_and_in_time(made: list[Manifest]) -> None:
    for group in cluster(made)["workerGroupSpecs"]:
        spec = group["template"]["spec"]
        hook = spec["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
        timeout, seconds, *drain = shlex.split(hook[-1].partition(" && ")[0])
        assert timeout == "timeout" and drain[:2] == ["ray", "drain-node"]
        parse_ray(drain)
        remaining = drain[drain.index("--deadline-remaining-seconds") + 1]
        assert int(seconds) + int(remaining) <= spec["terminationGracePeriodSeconds"], group["groupName"]


# what ticlm wants


def test_workers_and_evaluators_of_the_study_find_room(made: list[Manifest], tmp_path: Path) -> None:
    resources, least, most, room = study_of(made, tmp_path).resources, 0, 0, 0
    assert resources.evaluator_gpus == 0
    for group in cluster(made)["workerGroupSpecs"]:
        limits = group["template"]["spec"]["containers"][0]["resources"]["limits"]
        gpus = int(limits.get(GPU, 0))
        least, most = least + group["minReplicas"] * gpus, most + group["maxReplicas"] * gpus
        room += 0 if gpus else group["maxReplicas"] * int(amount(limits["cpu"]))
    assert resources.workers == (least, most)
    assert resources.evaluators <= room


def test_storage_is_chosen_and_a_volume_is_mounted_in_every_pod_of_ray(made: list[Manifest]) -> None:
    root = environment(made)["TICLM_ROOT"]
    assert root.startswith(("/mnt/ticlm/", "s3://", "gs://"))
    ray = cluster(made)
    for template in (ray["headGroupSpec"]["template"], *(g["template"] for g in ray["workerGroupSpecs"])):
        mounts = {m["mountPath"] for m in template["spec"]["containers"][0]["volumeMounts"]}
        assert ("/mnt/ticlm" in mounts) == root.startswith("/mnt/ticlm/")


@pytest.mark.parametrize("name", [name for name in OVERLAYS if name.startswith("rayjob")])
@needs_kustomize
def test_a_job_runs_the_study_that_is_mounted_shows_its_name_and_ends_its_cluster(name: str, tmp_path: Path) -> None:
    made = overlay(name)
    spec, head = named(made, "RayJob")["spec"], cluster(made)["headGroupSpec"]["template"]["spec"]
    arguments = shlex.split(spec["entrypoint"])
    parse_ticlm(arguments)
    (volume,) = (v["name"] for v in head["volumes"] if v.get("configMap") == {"name": "ticlm-study"})
    (place,) = (m["mountPath"] for m in head["containers"][0]["volumeMounts"] if m["name"] == volume)
    assert f"{place}/study.yaml" in arguments
    assert spec["metadata"]["study"] == study_of(made, tmp_path).name
    assert spec["shutdownAfterJobFinishes"] is True


@needs_kustomize
def test_job_and_cluster_are_the_same_but_for_who_owns_them() -> None:
    assert cluster(overlay("rayjob")) == cluster(overlay("raycluster"))


@needs_kustomize
def test_spot_nodes_take_only_what_is_beyond_the_least(tmp_path: Path) -> None:
    made = overlay("rayjob-spot")
    groups = {g["groupName"]: g for g in cluster(made)["workerGroupSpecs"]}
    spot = groups["gpu-spot"]["template"]["spec"]
    least, most = study_of(made, tmp_path).resources.workers  # type: ignore[misc]
    assert groups["gpu"]["minReplicas"] == groups["gpu"]["maxReplicas"] == least
    assert (groups["gpu-spot"]["minReplicas"], groups["gpu-spot"]["maxReplicas"]) == (0, most - least)
    marks = spot["nodeSelector"].items()
    assert marks <= {(t["key"], t.get("value")) for t in spot["tolerations"]}
    assert "nodeSelector" not in groups["gpu"]["template"]["spec"]


@needs_kustomize
def test_with_redis_a_new_head_finds_what_the_lost_one_knew() -> None:
    made = overlay("raycluster-redis")
    port = named(made, "Service", "ticlm-redis")["spec"]["ports"][0]["port"]
    assert cluster(made)["gcsFaultToleranceOptions"]["redisAddress"] == f"ticlm-redis:{port}"
    assert "gcsFaultToleranceOptions" not in cluster(overlay("raycluster"))


@needs_kustomize
def test_a_component_that_meets_another_group_than_it_means_does_not_build(tmp_path: Path) -> None:
    first, second = tmp_path / "without-gpus", tmp_path / "overlay"
    patch = "- {op: remove, path: /spec/workerGroupSpecs/0}"
    write(first, {"resources": ["base"], "patches": [{"target": {"kind": "RayCluster"}, "patch": patch}]})
    write(second, {"resources": ["../without-gpus"], "components": ["components/spot"]})
    done = subprocess.run([*(kustomize() or []), str(second)], capture_output=True, text=True)
    assert done.returncode != 0 and "test" in done.stderr


def test_commands_and_folders_of_the_readme_are_there() -> None:
    text = (K8S / "README.md").read_text()
    blocks = re.findall(r"^```\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line.split("  #")[0].strip() for block in blocks for line in block.splitlines()]
    called = [line.split() for line in lines if line.startswith("ticlm ")]
    assert called
    for words in called:
        parse_ticlm(words)
    paths = [word for line in lines for word in line.split() if word.startswith(("k8s/", "tests/"))]
    assert len(paths) > 4 and [path for path in paths if not (ROOT / path).exists()] == []
