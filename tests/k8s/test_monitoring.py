"""What Prometheus scrapes is there under that name, and the dashboard asks for metrics that exist."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from itertools import combinations
from typing import Any

import pytest
from manifests import K8S, build, cluster, named, needs_kustomize, pods

from ticlm.platform.cluster.ray_metrics import METRICS

LABELS = {tag for metric in METRICS.values() for tag in metric.tags}
LABELS |= {"instance", "GpuIndex", "RayNodeType", "ray_io_cluster"}
KUBERAY = {"app.kubernetes.io/name": "kuberay", "app.kubernetes.io/created-by": "kuberay-operator"}
"""What KubeRay's operator puts on pods and on the head's service, beside ray.io/cluster, -group and -node-type."""


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((K8S / "monitoring/ticlm.json").read_text())
    return found


def expressions() -> list[str]:
    targets = [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]
    return [*targets, *(note["expr"] for note in dashboard()["annotations"]["list"])]


def metrics_of(expression: str) -> set[str]:
    return {name for name in re.findall(r"\b(?:ray|ticlm)_\w+", expression) if name not in LABELS}


def rays_own() -> set[str]:
    """Metrics that the dashboards shipped with Ray ask for."""
    folder = files("ray.dashboard.modules.metrics.dashboards")
    texts = [file.read_text() for file in folder.iterdir() if file.name.endswith("_dashboard_panels.py")]
    return set(re.findall(r"\bray_\w+", "".join(texts)))


def unknown(expression: str) -> set[str]:
    return metrics_of(expression) - {f"ray_{name}" for name in METRICS} - rays_own()


def test_the_dashboard_asks_for_metrics_that_are_published() -> None:
    assert [(e, unknown(e)) for e in expressions() if unknown(e) or not metrics_of(e)] == []


@pytest.mark.parametrize("wrong", ["ray_ticlm_losses", "ticlm_loss", "ray_ticlm_tokens", "ray_node_gpu_used"])
def test_a_metric_that_nobody_publishes_is_found(wrong: str) -> None:
    assert unknown(f"max by (chain) ({wrong}{{}})") == {wrong}


def test_the_dashboard_shows_what_training_publishes() -> None:
    shown = set().union(*map(metrics_of, expressions()))
    assert {f"ray_{name}" for name in METRICS} | {"ray_node_gpus_utilization"} <= shown


def test_expressions_are_whole_and_use_variables_and_labels_that_are_there() -> None:
    names = {variable["name"] for variable in dashboard()["templating"]["list"]}
    assert {"datasource", "study", "chain"} <= names
    for expression in expressions():
        assert set(re.findall(r"\$(\w+)", expression)) - {"__range", "__rate_interval"} <= names
        for pair in ("()", "{}", "[]"):
            assert expression.count(pair[0]) == expression.count(pair[1])
        grouped = re.findall(r"by \(([^)]*)\)", expression)
        matched = re.findall(r"(\w+)=~", expression)
        assert {label for group in grouped for label in group.split(", ")} | set(matched) <= LABELS


def test_panels_have_ids_of_their_own_a_title_and_a_place() -> None:
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len({panel["title"] for panel in panels}) == len(panels)
    cells = [
        {(x, y) for x in range(p["x"], p["x"] + p["w"]) for y in range(p["y"], p["y"] + p["h"])}
        for p in (panel["gridPos"] for panel in panels)
    ]
    assert not [1 for one, other in combinations(cells, 2) if one & other]
    assert all(x < 24 for cell in cells for x, _ in cell)


@needs_kustomize
def test_grafana_gets_the_dashboard_as_it_is() -> None:
    config = named(build(K8S / "monitoring"), "ConfigMap")
    assert json.loads(config["data"]["ticlm.json"]) == dashboard()
    assert config["metadata"]["labels"] == {"grafana_dashboard": "1"}


@needs_kustomize
@pytest.mark.parametrize("kind, field", [("ServiceMonitor", "endpoints"), ("PodMonitor", "podMetricsEndpoints")])
def test_a_monitor_finds_what_it_scrapes(kind: str, field: str) -> None:
    monitor = named(build(K8S / "monitoring"), kind)
    made = build(K8S / "overlays/raycluster")
    assert monitor["apiVersion"] == "monitoring.coreos.com/v1"
    assert monitor["spec"].keys() == {"selector", "jobLabel", field}
    of_head = kind == "ServiceMonitor"
    templates = [t for where, t in pods(made) if (where == "head") == of_head]
    assert templates
    for template in templates:
        common = {"ray.io/cluster": "ticlm", "ray.io/node-type": "head" if of_head else "worker", **KUBERAY}
        # the head's service has labels of the operator alone
        labels = common if of_head else {**common, **template["metadata"]["labels"]}
        assert monitor["spec"]["selector"]["matchLabels"].items() <= labels.items()
        ports = {port["name"]: port["containerPort"] for port in template["spec"]["containers"][0]["ports"]}
        for endpoint in monitor["spec"][field]:
            assert endpoint.keys() == {"port", "interval", "relabelings"}
            assert endpoint["port"] in ports and open_to_prometheus(made, ports[endpoint["port"]])
            assert endpoint["relabelings"][0]["targetLabel"] in LABELS


def open_to_prometheus(made: list[dict[str, Any]], port: int) -> bool:
    rules = named(made, "NetworkPolicy", "ticlm")["spec"]["ingress"]
    names = [str(rule.get("from")) for rule in rules if {"port": port, "protocol": "TCP"} in rule.get("ports", [])]
    return any("monitoring" in name for name in names)


@needs_kustomize
def test_the_operator_reaches_the_dashboard_and_nobody_else_from_outside() -> None:
    made = build(K8S / "overlays/raycluster")
    ports = {
        p["name"]: p["containerPort"]
        for p in cluster(made)["headGroupSpec"]["template"]["spec"]["containers"][0]["ports"]
    }
    rules = named(made, "NetworkPolicy", "ticlm")["spec"]["ingress"]
    for name in ("gcs-server", "client"):
        assert not [rule for rule in rules if {"port": ports[name], "protocol": "TCP"} in rule.get("ports", [])]
    (asked,) = [rule for rule in rules if {"port": ports["dashboard"], "protocol": "TCP"} in rule.get("ports", [])]
    assert [source["podSelector"]["matchLabels"] for source in asked["from"]] == [
        {"app.kubernetes.io/name": "kuberay-operator"},
        {"app.kubernetes.io/component": "kuberay-operator"},
    ]
