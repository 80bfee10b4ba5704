"""Plans of packaged studies, made once in each process: those of the paper's tables take seconds."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from ticlm.platform.cli import plan_view
from ticlm.platform.study.plan import Plan, make
from ticlm.platform.study.settings import load


@cache
def planned(name: str) -> Plan:
    """Return the plan of a packaged study without a root. Tests that share it do not change it."""
    return make(load(name), None)


@cache
def described(name: str) -> dict[str, dict[str, Any]]:
    """Return what the plan's JSON says of each method."""
    return {row["name"]: row for row in json.loads(plan_view.as_json(planned(name)))["methods"]}
