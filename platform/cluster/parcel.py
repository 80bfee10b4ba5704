"""A parcel: the files that go to a cluster with a job, and those of the same folders that stay here.

Whoever may use the cluster can fetch what was sent, so a package's folder is not sent as it is: only its Python code,
and the data that somebody named.
"""

from __future__ import annotations

import fnmatch
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ticlm.core.errors import InputError
from ticlm.core.quantities import printable, size

CODE = ("*.py", "*.pyi", "py.typed")
OWN = (*CODE, "*.yaml", "*.csv", "*.json", "*.html", "*.css", "*.js", "*.ttf", "*.md", "*LICENSE")
"""Files of ticlm itself: its code, studies, recipes, schemas and what pages are made of."""
NEVER = (
    *(".*", "*.ipynb", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.asc", "*.gpg"),
    *(
        "id_rsa*",
        "id_dsa*",
        "id_ecdsa*",
        "id_ed25519*",
        "authorized_keys",
        "known_hosts",
        "credentials",
        "credentials.*",
    ),
    *("secrets", "secrets.*", "*.tfstate", "*_netrc", "htpasswd", "service-account*.json"),
)
"""Names of files and folders that never travel, unless they are Python code: hidden ones (.env, .git, .ssh), notebooks,
whose output nobody reads again, and what keys and passwords are usually kept in."""
OUTSIDE, NOWHERE, SECRET, SPECIAL = (
    "links to outside",
    "links to nothing",
    "hidden files, keys and notebooks",
    "devices",
)
ENVIRONMENT, DATA = "virtual environments", "data (name what the code needs with --data)"
CACHE = "__pycache__"
PAGES = "docs"
"""The documentation, which no job reads."""
SHOWN = 12
"""Most names in a line about what is sent or stays here."""


@dataclass(frozen=True)
class Parcel:
    """`files`: place in the job's folder -> file here. `left_out`: reason -> places of what stays here."""

    files: dict[str, Path] = field(default_factory=dict)
    left_out: dict[str, list[str]] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Copy the files to a folder; of a link, the file that it leads to."""
        for place, file in self.files.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, folder / place)

    def lines(self, own: str) -> list[str]:
        """Return a line for each package with the sizes of its files, and a line for each reason why files stay here.

        The files of the package `own` are only counted.
        """
        tops: dict[str, list[str]] = {}
        for place in self.files:
            tops.setdefault(place.partition("/")[0], []).append(place)
        sizes = {place: file.stat().st_size for place, file in self.files.items()}
        sent = []
        for top, places in tops.items():
            count = f"{len(places):,} file{'s' * (len(places) > 1)}, {size(sum(map(sizes.__getitem__, places)))}"
            each = [f"{place} {size(sizes[place])}" for place in places]
            sent.append(f"sends {top}: {count}" + ("" if top == own or places == [top] else f" ({_some(each)})"))
        return [*map(printable, sent), *(printable(f"stays here, {why}: {_some(of)}") for why, of in self._why())]

    def _why(self) -> Iterable[tuple[str, list[str]]]:
        return sorted((why, of) for why, of in self.left_out.items() if of)


def packed(
    modules: Mapping[str, Path], data: Sequence[str] = (), named: Iterable[str] = (), own: Path | None = None
) -> Parcel:
    """Return the parcel of some modules (top-level name: file or folder), of `data`, and of the package `own`.

    Of a folder it holds the Python code, the files among `named` (texts of a study's settings), and those of `data`:
    files and folders in the folder of a module, or below the current folder. Links that stay within the folder are
    followed. Raises InputError for `data` that lies elsewhere, is missing, or never travels.
    """
    parcel = Parcel()
    known = {real for text in named if (real := _file(text)) is not None}
    for name, source in modules.items():
        if source.is_dir():
            _Walk(parcel, source.resolve(), CODE, known).below(name, source)
        else:
            parcel.files[source.name] = source
    for text in data:
        _named(parcel, text, modules)
    parcel.left_out[DATA] = [place for place in parcel.left_out.get(DATA, ()) if place not in parcel.files]
    if own is not None:
        for entry in sorted(one for one in own.iterdir() if one.name not in (CACHE, PAGES)):
            # folders of a checkout are links
            root = entry.resolve()
            walk = _Walk(parcel, root if root.is_dir() else root.parent, OWN)
            walk.entry(f"{own.name}/{entry.name}", entry, entry.name)
    return parcel


def never(path: Path) -> bool:
    """Return whether a file of this name never travels."""
    return _matches(path.name, NEVER) and not _is_code(path.name)


@dataclass(frozen=True)
class _Walk:
    """Puts what travels of a folder into a parcel. `root` is the folder without links, which no link may leave; None in
    `wanted`: every file is wanted."""

    parcel: Parcel
    root: Path
    wanted: tuple[str, ...] | None
    named: frozenset[Path] | set[Path] = frozenset()

    def below(self, place: str, folder: Path, above: tuple[Path, ...] = ()) -> None:
        """Put in the content of a folder. `above` are the folders that led here, so that a link to one of them ends."""
        real = folder.resolve()
        if real in above:
            return
        try:
            names = sorted(os.listdir(folder))
        except OSError as error:
            raise InputError(f"{folder}: cannot be read, so it cannot be sent: {error.strerror}") from None
        for name in names:
            if name != CACHE:
                self.entry(f"{place}/{name}", folder / name, name, (*above, real))

    def entry(self, place: str, path: Path, name: str, above: tuple[Path, ...] = ()) -> None:
        """Put in a file or a folder, or note why it stays here."""
        real = path.resolve()
        if (why := self._why_not(path, real, name)) is not None:
            self.parcel.left_out.setdefault(why, []).append(place)
        elif real.is_dir():
            self.below(place, path, above)
        else:
            self.parcel.files[place] = real

    def _why_not(self, path: Path, real: Path, name: str) -> str | None:
        if not real.exists():
            return NOWHERE
        if not real.is_relative_to(self.root):
            return OUTSIDE
        if any(never(Path(part)) for part in (name, *real.relative_to(self.root).parts)):
            return SECRET
        if real.is_dir():
            return ENVIRONMENT if (real / "pyvenv.cfg").exists() else None
        if not real.is_file():
            return SPECIAL
        wanted = self.wanted is None or _matches(name, self.wanted) or real in self.named
        return None if wanted else DATA


def _named(parcel: Parcel, text: str, modules: Mapping[str, Path]) -> None:
    """Put in the file or folder that a `--data` names."""
    path = Path(os.path.abspath(Path(text).expanduser()))
    bases = [(source.resolve(), f"{name}/") for name, source in modules.items() if source.is_dir()]
    real = path.resolve()
    within = next(
        ((base, top) for base, top in (*bases, (Path.cwd().resolve(), "")) if real.is_relative_to(base)), None
    )
    if within is None or not real.exists():
        what = "lies elsewhere" if real.exists() else "is not there"
        raise InputError(
            f"--data {text} {what}: expected a file or folder in a package that is sent, or below this one"
        )
    base, top = within
    parts = real.relative_to(base).parts
    if not (place := (top + "/".join(parts)).rstrip("/")):
        raise InputError(f"--data {text}: this is the current folder; name what of it the code needs")
    if any(never(Path(part)) for part in parts):
        raise InputError(f"--data {text}: {SECRET} are never sent; credentials belong into the cluster's environment")
    _Walk(parcel, base, None).entry(place, real, real.name)


def _file(text: str) -> Path | None:
    """Return the local file that a text names, without links; None if it names none."""
    try:
        return Path(text).resolve() if "://" not in text and Path(text).is_file() else None
    except (OSError, ValueError):  # too long for a name, or not of its characters
        return None


def _is_code(name: str) -> bool:
    return not name.startswith(".") and _matches(name, CODE)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns)


def _some(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more:,} more" if more > 0 else "")
