"""Search spaces: the settings of one method that may be searched, as a list of points or as domains to draw from.

A module, or a user's file, with a constant SPACE is a space. `load` finds it by name or path; `grid` makes one.
"""

from __future__ import annotations

import itertools
import re
import runpy
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from ticlm.core.errors import InputError
from ticlm.core.extensions import object_at
from ticlm.core.fingerprint import fingerprint
from ticlm.core.reading import mappings
from ticlm.methods.catalog import CATALOG
from ticlm.methods.method import Continual, Method, OracleSeries
from ticlm.tune_spaces import changes, domains, wording


@dataclass(frozen=True)
class Space:
    """Changes of one method, each under the path of its setting (`schedule.max_rate`, `penalties.0.weight`).

    `points`: the changes to try, one after another. `domains`: domains of ray.tune to draw from, instead. A value may
    be a mapping: it is merged into the method as a study's YAML is; one of another `kind` replaces what is there.
    `method`: the name of a method of the study, else of the catalogue. `says`: a description for people, with a source.
    `also`: further names, under which a study may have the method instead.
    """

    name: str
    method: str
    points: tuple[Mapping[str, Any], ...] = ()
    domains: Mapping[str, Any] = field(default_factory=dict)
    says: str = ""
    also: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not wording.is_name(self.name):
            raise InputError(f"the space {self.name!r}: a name has small letters, digits, '.', '_', '+' and '-'")
        if bool(self.points) == bool(self.domains):
            what = "it has points and domains; give one of them" if self.points else "give points or domains"
            raise InputError(f"the space {self.name} {'is ambiguous' if self.points else 'is empty'}: {what}")
        for number, point in enumerate(self.points, 1):
            changes.check_paths(point, f"the space {self.name}: point {number}")
            if not point:
                raise InputError(f"the space {self.name}: point {number} changes nothing; give a setting and its value")
            if point in self.points[: number - 1]:
                first = self.points.index(point) + 1
                raise InputError(
                    f"the space {self.name}: points {first} and {number} are the same: {self.describe(point)}"
                )
        changes.check_paths(self.domains, f"the space {self.name}: domains")
        _ = self.identity  # refuses what has none

    def method_of(self, study_methods: Sequence[Method]) -> Continual:
        """Return the method to change: the study's of that name, or of another that it may have, else the catalogue's.

        Raises InputError if neither has it, or if it is an Oracle series, which learns nothing from month to month.
        """
        by_name = {method.name: method for method in study_methods}
        names = [name for name in (self.method, *self.also) if name in by_name]
        found = by_name[names[0]] if names else CATALOG.get(self.method)
        where = f"the space {self.name} searches the method {self.method}"
        searched = [m.name for m in (*study_methods, *CATALOG.values()) if not isinstance(m, OracleSeries)]
        allowed = ", ".join(dict.fromkeys(searched))
        if found is None:
            raise InputError(f"{where}, which neither the study nor the catalogue has; allowed: {allowed}")
        if isinstance(found, OracleSeries):
            raise InputError(f"{where}, which is an Oracle series; allowed: {allowed}")
        return found

    def changed(self, base: Continual, point: Mapping[str, Any], name: str) -> Continual:
        """Return `base` with the settings of a point, under the name `name`; all its other settings stay.

        Raises InputError for a setting that `base` lacks, with those it has, or for a value that is refused.
        """
        return changes.applied(base, {**changes.nested(point), "name": name}, f"the space {self.name}")

    def check(self, base: Continual) -> None:
        """Check that all points, and the ends of all domains, can be settings of `base`. Raises InputError if not."""
        middle = {path: domains.ends(domain)[0] for path, domain in self.domains.items()}
        others = [middle | {path: end} for path, domain in self.domains.items() for end in domains.ends(domain)]
        for point in (*self.points, *others):
            self.changed(base, point, base.name)

    def label(self, point: Mapping[str, Any]) -> str:
        """Return a short name of a point. It is unique within the space and can stand in the name of a method."""
        text, exact = self._text(point)
        return text if exact and self._texts[text] <= 1 else f"{text}-{fingerprint(changes.canonical(point))[:6]}"

    def describe(self, point: Mapping[str, Any]) -> str:
        """Return a description of a point for people: `max_rate 1e-4, weight_decay 0.01`."""
        return ", ".join(wording.describe(name, value) for name, value in self._named(point))

    @property
    def identity(self) -> str:
        """The SHA-256 (hex) of the method's name and of all points, or of all domains' kinds, bounds and samplers.

        It is the same in every process. Raises InputError for a domain of an unknown type, or for a value that is not
        of JSON's types.
        """
        where = f"the space {self.name}"
        points = tuple(changes.canonical(point, f"{where}: point {n}") for n, point in enumerate(self.points, 1))
        found = tuple((path, domains.canonical(domain, f"{where}: {path}")) for path, domain in self.domains.items())
        return fingerprint(("space", 1, self.method, points, found))

    def _text(self, point: Mapping[str, Any]) -> tuple[str, bool]:
        parts = [wording.labelled(name, value) for name, value in self._named(point)]
        return "-".join(text for text, _ in parts), all(exact for _, exact in parts)

    @cached_property
    def _texts(self) -> Counter[str]:
        return Counter(self._text(point)[0] for point in self.points)

    def _named(self, point: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """Return the settings of a point that differ between points, under short names."""
        varied = {path: value for path, value in point.items() if path in self._varied} or point
        return [(self._names.get(path, path), value) for path, value in varied.items()]

    @cached_property
    def _varied(self) -> set[str]:
        first, *others = self.points or ({},)
        same = {path for path, value in first.items() if all(path in p and p[path] == value for p in others)}
        return {path for changed in (*self.points, self.domains) for path in changed if path not in same}

    @cached_property
    def _names(self) -> dict[str, str]:
        return wording.short_names({path: None for changed in (*self.points, self.domains) for path in changed})


def load(name: str) -> Space:
    """Return a space by its name: of a packaged space, of a Python file, or an import path `package.module:NAME`.

    A file is run, and its constant SPACE is the space. Raises InputError, in one line, if there is no such space, or if
    running the file raises anything.
    """
    if Path(name).is_file():
        found = _run(name)
    elif re.fullmatch(r"[\w.]+:\w+", name):
        found = {"SPACE": object_at(name)}
    elif name in packaged():
        found = vars(import_module(f"ticlm.tune_spaces.{name}"))
    else:
        raise InputError(f"{name}: no such file, and no packaged space; packaged are: {', '.join(packaged())}")
    if "SPACE" not in found:
        raise InputError(f"{name}: has no constant SPACE; write SPACE = Space(…) of ticlm.tune_spaces.space")
    space = found["SPACE"]
    if not isinstance(space, Space):
        kind = f"{type(space).__module__}.{type(space).__qualname__}"
        raise InputError(f"{name}: SPACE must be a Space of ticlm.tune_spaces.space, it is a {kind}")
    return space


def packaged() -> list[str]:
    """Return the names of the packaged spaces: the modules here that define SPACE."""
    modules = [file for file in files("ticlm").joinpath("tune_spaces").iterdir() if file.name.endswith(".py")]
    return sorted(file.name[:-3] for file in modules if re.search(r"^SPACE\b", file.read_text(), re.MULTILINE))


def grid(method: str, values: Sequence[str]) -> Space:
    """Make a space of all combinations of `PATH=V1,V2,…` (YAML values); the first path changes slowest."""
    columns: dict[str, list[Any]] = {}
    for text in values:
        path, equals, listed = text.partition("=")
        where = f"--values {text}"
        if not equals or not path:
            raise InputError(f"{where}: expected PATH=V1,V2,…")
        if path in columns:
            raise InputError(f"{where}: {path} is given twice")
        try:
            found = mappings.read(f"[{listed}]")
        except yaml.YAMLError:
            raise InputError(f"{where}: {listed!r} are not YAML values between commas") from None
        if not found:
            raise InputError(f"{where}: no values; expected PATH=V1,V2,…")
        columns[path] = [_numeric(value) for value in found]
    points = tuple(dict(zip(columns, row)) for row in itertools.product(*columns.values())) if columns else ()
    return Space("grid", method, points, says=f"{' × '.join(values)} of {method}")


def _run(path: str) -> dict[str, Any]:
    try:
        return runpy.run_path(path)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except (Exception, SystemExit) as error:
        text = " ".join(str(error).split())
        raise InputError(f"{path}: cannot be run: {type(error).__name__}{f': {text}' if text else ''}") from None


def _numeric(value: Any) -> Any:
    """Return a YAML value with numbers such as 1e-4, which YAML reads as text, as floats."""
    if isinstance(value, dict):
        return {key: _numeric(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_numeric(item) for item in value]
    if isinstance(value, str) and re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)[eE][+-]?\d+", value):
        return float(value)
    return value
