"""What has a name and is no file of its own: a method, a kind of task, a search space, the shape of a model."""

from __future__ import annotations

from ticlm.methods.catalog import CATALOG
from ticlm.platform.cli.reference.meanings import whole
from ticlm.platform.cli.reference.names import task_kinds
from ticlm.platform.cli.reference.resolved import as_yaml, flow, skeleton
from ticlm.platform.models.presets import SHAPES
from ticlm.tune_spaces import space


def text(name: str, kind: str, line: str, every: bool) -> str:
    """Return a method, task, space or model as YAML, under the `line` that says what it is; of a method `every` key, or
    those that are not left at a default."""
    match kind:
        case "method":
            return as_yaml(CATALOG[name], f"Method {name}: {line}", None if every else {})
        case "task":
            return skeleton(task_kinds()[name], f"Task {name}: {' '.join(whole(task_kinds()[name]).split())}")
        case "space":
            return _space(name, line)
        case _:
            fields = [f"{key}: {flow(value)}" for key, value in SHAPES[name].items()]
            return "\n".join([f"# Model {name}: {line}", *fields]) + "\n"


def _space(name: str, line: str) -> str:
    found = space.load(name)
    points = [f"- {flow(dict(point))}" for point in found.points]
    drawn = [f"# {path}: drawn from {domain}" for path, domain in found.domains.items()]
    return "\n".join([f"# Space {name}: {line}", f"# It changes {found.method}.", *points, *drawn]) + "\n"
