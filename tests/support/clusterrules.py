"""What must hold for the manifests so that Ray and ticlm run on them. Each rule returns what breaks it."""

from __future__ import annotations

import re
import shlex
import tempfile
from pathlib import Path
from typing import Any

from manifestrules import GPU, amount
from manifests import Manifest, cluster, containers, named, pods
from paths import ROOT

from ticlm.platform.core.errors import TiclmError
from ticlm.platform.study import settings
from ticlm.platform.study.settings import Study


def ray_problems(manifests: list[Manifest]) -> list[str]:
    """What Ray and KubeRay want of a cluster: a token, autoscaler v2, a head without work, groups that can be."""
    ray = cluster(manifests)
    head, groups = ray["headGroupSpec"], ray["workerGroupSpecs"]
    (version,) = re.findall(r"^ray==(.+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    held = {
        "Ray's token is off": ray.get("authOptions", {}).get("mode") != "token",
        "it does not scale by autoscaler v2": not ray.get("enableInTreeAutoscaling")
        or ray.get("autoscalerOptions", {}).get("version") != "v2",
        f"rayVersion is not {version}, as pinned": ray.get("rayVersion") != version,
        "the head takes work": head.get("rayStartParams", {}).get("num-cpus") != "0",
        "the head has a GPU": GPU in head["template"]["spec"]["containers"][0]["resources"]["limits"],
        "two groups have one name": len({g["groupName"] for g in groups}) < len(groups),
        "the autoscaler has no token of Kubernetes": not head["template"]["spec"].get("automountServiceAccountToken"),
    }
    found = [what for what, broken in held.items() if broken]
    for group in groups:
        name, spec = group["groupName"], group["template"]["spec"]
        if not 0 <= group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]:
            found.append(f"group {name}: minReplicas <= replicas <= maxReplicas does not hold")
        if spec.get("automountServiceAccountToken") is not False:
            found.append(f"group {name}: has a token of Kubernetes")
    for where, template in pods(manifests):
        if not where.startswith("StatefulSet") and template["spec"].get("restartPolicy") != "Never":
            found.append(f"{where}: restartPolicy is not Never, as autoscaler v2 wants it")
    return found


def capacity_problems(manifests: list[Manifest]) -> list[str]:
    """The study's workers are the GPUs of the groups, least and most; its evaluators find room."""
    try:
        resources = study_of(manifests).resources
    except TiclmError as error:
        return [f"study: {error}"]
    workers = resources.workers if isinstance(resources.workers, tuple) else (resources.workers,) * 2
    groups = [(g, *_size(g)) for g in cluster(manifests)["workerGroupSpecs"]]
    least = sum(g["minReplicas"] * gpus for g, _, gpus in groups)
    most = sum(g["maxReplicas"] * gpus for g, _, gpus in groups)
    found = []
    if (least, most) != workers:
        found.append(f"resources.workers is {list(workers)}, but the groups have {least} to {most} GPUs")
    share = 1.0 if resources.evaluator_gpus is None else resources.evaluator_gpus
    if share:
        room = sum(g["maxReplicas"] * min(cpus, int(gpus / share)) for g, cpus, gpus in groups if gpus)
    else:
        room = sum(g["maxReplicas"] * cpus for g, cpus, gpus in groups if not gpus)
    if room < resources.evaluators:
        found.append(f"resources.evaluators is {resources.evaluators}, but there is room for {room}")
    return found


def _size(group: dict[str, Any]) -> tuple[int, int]:
    """CPUs and GPUs of a pod, as Ray counts them."""
    limits = group["template"]["spec"]["containers"][0]["resources"]["limits"]
    return int(amount(limits["cpu"])), int(limits.get(GPU, 0))


def study_of(manifests: list[Manifest]) -> Study:
    """The study that the cluster is given, read as `ticlm run` reads it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "study.yaml")
        file.write_text(named(manifests, "ConfigMap", "ticlm-study")["data"]["study.yaml"])
        return settings.load(str(file))


def command_problems(manifests: list[Manifest]) -> list[str]:
    """Entry points are commands of ticlm on files that are mounted; hooks are commands of Ray that end in time."""
    found = []
    for manifest in manifests:
        if manifest["kind"] == "RayJob":
            arguments = shlex.split(manifest["spec"]["entrypoint"])
            found += ticlm_problems(arguments) + _mounted(arguments, manifests)
    if "TICLM_ROOT" not in named(manifests, "ConfigMap", "ticlm-environment")["data"]:
        found.append("TICLM_ROOT is not set: no storage is chosen")
    for where, container, spec in containers(manifests):
        hook = container.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command")
        if hook:
            found += [f"{where}: preStop: {problem}" for problem in _hook_problems(hook, spec)]
        elif container.get("name") == "ray-worker":
            found.append(f"{where}: is not drained before it ends")
    return found


def ticlm_problems(arguments: list[str]) -> list[str]:
    """What is wrong with a command line of ticlm; nothing of it is run."""
    import typer.main

    from ticlm.platform.cli.main import app

    return command_line_problems(typer.main.get_command(app), "ticlm", arguments)


def command_line_problems(command: Any, program: str, arguments: list[str]) -> list[str]:
    line, (called, *left) = " ".join(arguments), arguments
    if called != program:
        return [f"{line}: is no command of {program}"]
    while hasattr(command, "commands"):
        name = left.pop(0) if left else "(none)"
        if name not in command.commands:
            return [f"{line}: {program} has no command {name}"]
        command = command.commands[name]
    try:
        command.make_context(program, left)
    except Exception as error:  # typer has a click of its own, Ray another: their errors have no common class
        return [f"{line}: {error}"]
    return []


def _mounted(arguments: list[str], manifests: list[Manifest]) -> list[str]:
    """Files that a command names are keys of ConfigMaps mounted in the head, where it runs."""
    spec = cluster(manifests)["headGroupSpec"]["template"]["spec"]
    maps = {v["name"]: v["configMap"]["name"] for v in spec["volumes"] if "configMap" in v}
    files = {
        f"{mount['mountPath']}/{key}"
        for mount in spec["containers"][0]["volumeMounts"]
        if mount["name"] in maps
        for key in named(manifests, "ConfigMap", maps[mount["name"]])["data"]
    }
    return [f"{name}: is not mounted" for name in arguments if name.startswith("/") and name not in files]


def _hook_problems(hook: list[str], spec: dict[str, Any]) -> list[str]:
    from ray.scripts.scripts import cli

    drain = shlex.split(hook[-1].partition(" && ")[0])
    if drain[:1] != ["timeout"]:
        return ["waits for Ray without an end"]
    found = command_line_problems(cli, "ray", drain[2:])
    grace, option = spec.get("terminationGracePeriodSeconds", 30), "--deadline-remaining-seconds"
    if not found and int(drain[1]) + int(drain[drain.index(option) + 1]) > grace:
        found.append(f"takes longer than the {grace} s that the pod has")
    return found
