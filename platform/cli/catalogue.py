"""`ticlm list`, `show` and `schema`: what there is, what it is made of, and what one may write."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ticlm.core.errors import InputError
from ticlm.core.reading.near import hint
from ticlm.platform.cli.options import Json, Sets, absolute

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ticlm.platform.cli.reference.files import FileKind

Kind = Annotated[
    str | None, typer.Option("--as", metavar="KIND", help="Which kind of thing it is, if several have it.")
]


def list_(
    kind: Annotated[str | None, typer.Argument(metavar="[KIND]", help="Only studies, recipes, methods, …")] = None,
    root: Annotated[
        str | None, typer.Option("--root", envvar="TICLM_ROOT", help="Also list what this root holds.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List what is packaged: studies, recipes, methods, tasks, spaces, models, presets; and what a root holds."""
    from ticlm.platform.cli.reference.names import LISTS

    if kind is not None and kind not in LISTS:
        raise InputError(f"list: no kind {kind!r}{hint(kind, LISTS)}; kinds are {', '.join(LISTS)}")
    stored = {} if root is None else _stored(root)  # a root is refused before the names of the package are read
    found = {name: listed() for name, listed in LISTS.items() if kind in (None, name)}
    found |= {f"{name} in {root}": names for name, names in stored.items()}
    if as_json:
        print(json.dumps(found, indent=1, ensure_ascii=False))
    else:
        _print(found)


def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A YAML file, or a name that ticlm list lists.")],
    as_: Kind = None,
    set_: Sets = None,
    every: Annotated[bool, typer.Option("--all", help="Also show the keys that are left at their defaults.")] = False,
) -> None:
    """Show a study or a recipe as it will run, as YAML that explains each key.

    NAME is a YAML file, or the name of anything that `ticlm list` lists: a study, a recipe, a method, a task, a model.
    Without --all, it has the keys that most people set, and all that the file sets.
    """
    print(text(name, as_, set_ or (), every), end="")


def schema(
    kind: Annotated[str, typer.Argument(metavar="[KIND]", help="study, recipe, examples, tasks or preset.")] = "study",
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write it to this file.")] = None,
) -> None:
    """Print the JSON schema of a kind of YAML file, by which editors complete and check keys.

    Name the file in the first line of a study: `# yaml-language-server: $schema=study.json`.
    """
    from ticlm.platform.cli.reference.files import FILES
    from ticlm.platform.cli.reference.schema import schema as schema_of

    if kind not in FILES:
        raise InputError(f"schema: no kind of file {kind!r}; kinds are {', '.join(FILES)}")
    written = json.dumps(schema_of(kind), indent=1, ensure_ascii=False)
    if out is None:
        print(written)
    else:
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(written + "\n", encoding="utf-8")
        except OSError as error:
            raise InputError(f"--out {out}: cannot be written: {error.strerror}") from None


def docs(
    page: Annotated[str | None, typer.Argument(metavar="[PAGE]", help="A page, as ticlm docs lists them.")] = None,
    path: Annotated[bool, typer.Option("--path", help="Print the folder that the pages lie in.")] = False,
) -> None:
    """Print a page of the documentation that comes with the package, as Markdown; without PAGE, list the pages."""
    from ticlm.platform.cli.reference import pages

    if path:
        print(pages.folder())
    elif page is not None:
        print(pages.text(page), end="")
    else:
        _print({"pages": pages.titles()})


def text(name: str, as_: str | None, sets: Sequence[str], every: bool = True) -> str:
    """Return what `ticlm show` prints, with `every` key or without those that are left at a default. Raises InputError
    if nothing has this name, or several things have it."""
    from ticlm.core.reading.packaged import holders
    from ticlm.platform.cli.reference import bare_names

    is_file = "://" in name or Path(name).is_file()
    may_hold = [kind for kind, held in bare_names.by_kind().items() if name in held]
    if not is_file and not may_hold:
        kinds = ", ".join(bare_names.OWNERS.values())
        meant = hint(name, [one for held in bare_names.by_kind().values() for one in held])
        raise InputError(f"show: no file {name}, and no {kinds} of this name{meant}; ticlm list has the names")
    from ticlm.platform.cli.reference import names, parts
    from ticlm.platform.cli.reference.files import FILES

    if is_file:
        return _file(name, FILES[_kind_of_file(name) if as_ is None else _one_of(as_, list(FILES))], sets, every)
    known = {name, holders(FILES["recipe"].folder).get(name, name)}
    owners = {bare_names.OWNERS[kind]: found for kind in may_hold if known & (found := names.LISTS[kind]()).keys()}
    if as_ is None and len(owners) > 1:
        raise InputError(
            f"show: {name} is the name of a {' and of a '.join(owners)}; say --as {' or --as '.join(owners)}"
        )
    kind = next(iter(owners)) if as_ is None else _one_of(as_, list(owners))
    listed = owners[kind]
    if kind in FILES:
        return _packaged(name, "recipe" if kind == "examples" else kind, FILES[kind], sets, every)
    if sets:
        raise InputError(f"show: --set changes studies and recipes; {name} is a {kind}")
    if kind == "task" and name not in names.task_kinds():
        return _packaged(name, "list of tasks", FILES["tasks"], (), every)
    return parts.text(name, kind, listed[name], every)


def _file(name: str, kind: FileKind, sets: Sequence[str], every: bool) -> str:
    from ticlm.core import settings
    from ticlm.platform.cli.reference.resolved import as_yaml, keys

    written, where = _resolved(kind, name, sets)
    loaded = settings.parse(kind.settings, written, where)
    what = f"{name}{''.join(f' --set {shlex.quote(one)}' for one in sets)}"
    whole = as_yaml(loaded, f"{what}, with everything filled in; for {kind.command}")
    if every:
        return whole
    short = as_yaml(loaded, f"{what}, as it will run; for {kind.command}", written)
    left = keys(whole) - keys(short)
    return f"{short}# {left} more keys have their defaults: --all shows them\n" if left else short


def _resolved(kind: FileKind, name: str, sets: Sequence[str]) -> tuple[dict[str, Any], str]:
    """Return a file as one mapping, and its name for errors. The calendar of `periods: corpus` is looked up in the root
    that commands take by default."""
    from ticlm.core import settings
    from ticlm.platform.study import settings as studies

    if kind.settings is studies.Study:
        return studies.resolved(name, sets, absolute(os.environ.get("TICLM_ROOT") or "runs"))
    return settings.resolved(kind.settings, name, kind.folder, sets)


def _packaged(name: str, kind: str, file: FileKind, sets: Sequence[str], every: bool) -> str:
    """Return a packaged file with everything filled in; as far as it goes, if it lacks something that only its user
    knows, such as the paths of a recipe."""
    from ticlm.core import settings
    from ticlm.platform.cli.reference.resolved import flow

    try:
        return _file(name, file, sets, every)
    except InputError as error:
        if _is_whole(name, file):
            raise
        given, _ = settings.resolved(file.settings, name, file.folder, sets)
        lines = [f"{key}: {flow(value)}" for key, value in given.items()]
        return "\n".join([f"# This {kind} needs more settings, which --set can give: {error}", *lines]) + "\n"


def _is_whole(name: str, file: FileKind) -> bool:
    from ticlm.core import settings

    try:
        settings.parse(file.settings, *_resolved(file, name, ()))
    except InputError:
        return False
    return True


def _kind_of_file(name: str) -> str:
    """Return the kind of a file by the keys that it, or a file that it extends, gives."""
    from ticlm.core import settings
    from ticlm.platform.cli.reference.files import FILES

    telling = {"study": "methods", "examples": "examples", "recipe": "documents", "preset": "by_task"}
    telling |= {"tasks": "evaluations"}
    found: dict[str, bool] = {}  # kinds whose key is there; whether the kind knows all keys
    lost: InputError | None = None
    for kind, key in telling.items():
        try:
            given, _ = settings.resolved(FILES[kind].settings, name, FILES[kind].folder)
        except InputError as error:
            lost = error  # perhaps what it extends is packaged as another kind
            continue
        if key in given:
            found[kind] = given.keys() <= FILES[kind].settings.model_fields.keys()
    if found:  # `extends: monthly` gives what a recipe changes the keys of a study, too
        return max(found, key=lambda kind: found[kind])
    if lost is not None:
        raise lost
    raise InputError(f"{name}: neither a study nor a recipe: it has none of the keys {', '.join(telling.values())}")


def _one_of(kind: str, kinds: Sequence[str]) -> str:
    if kind not in kinds:
        raise InputError(f"--as: must be {' or '.join(kinds)}, got {kind!r}")
    return kind


def _stored(root: str) -> dict[str, dict[str, str]]:
    from ticlm.core.store import Store
    from ticlm.platform.cli.reference.stored import contents

    store = Store(absolute(root))
    if not store.exists() and os.environ.get("TICLM_ROOT") == root:
        return {}  # it is made by the first command that writes there
    if not store.exists():
        raise InputError(f"root {root}: there is nothing")
    return contents(store)


def _print(found: dict[str, dict[str, str]]) -> None:
    from rich.table import Table

    from ticlm.platform.cli.console import console

    for kind, entries in found.items():
        table: Any = Table.grid(padding=(0, 2))
        table.title, table.title_justify, table.title_style = kind, "left", "bold"
        table.add_column(no_wrap=True, min_width=24)
        table.add_column()
        for name, line in entries.items():
            table.add_row(f"  {name}", line)
        console().print(table)
        console().print()
