"""A data set on the hub, or in a folder laid out like one: its commit, its configs, and the files of their splits."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

from ticlm.core.errors import InputError
from ticlm.core.remote.passing import in_one_line, passing
from ticlm.datasets.io import formats, records, whole_files
from ticlm.datasets.io.fetching import Unreachable, opened, tried

SUFFIXES = (*records.SUFFIXES, *formats.TABLES, *whole_files.SUFFIXES)
"""Endings of files of records; other files of a data set explain it."""
NAME = re.compile(r"[\w.-]+/[\w.-]+")
COMMIT = re.compile(r"[0-9a-f]{40}")
SHOWN = 8
"""Most configs that an error names."""
FIRST_TRIES = 4
"""How often a hub is asked that has never answered: its address may be wrong."""
SCHEME = "hf://datasets/"
T = TypeVar("T")


class HubFile(NamedTuple):
    """A file of a split. `path` names it without the commit, as it is recorded; `stamp` changes with its contents."""

    path: str
    size: int
    stamp: str
    config: str
    split: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def is_folder(path: str) -> bool:
    return os.path.isdir(os.path.expanduser(path))


@cache
def commit_of(path: str, revision: str | None) -> str:
    """Return the commit that a revision of a data set is now, and remains for this process; "" of a local folder.

    Raises InputError, in one line, if there is none, or if this user may not read it.
    """
    if is_folder(path):
        return ""
    from huggingface_hub import HfApi, constants

    if not NAME.fullmatch(path):
        raise InputError(f"documents.path: {path}: no folder here, and no name of a data set: ORG/NAME")
    if constants.HF_HUB_OFFLINE:
        raise InputError(f"documents.path: {path}: no folder here, and HF_HUB_OFFLINE is set")

    def asked() -> str:
        found = HfApi().dataset_info(path, revision=revision, expand=["sha", "gated"])
        if found.gated:
            HfApi().auth_check(path, repo_type="dataset")
        return str(found.sha)

    return _heard(path, revision, "asking for its commit", asked, most=FIRST_TRIES)


def url_of(path: str, commit: str) -> str:
    """Return what opens a file, given the path of a HubFile and the commit."""
    if not path.startswith(SCHEME):
        return path
    from huggingface_hub import constants, hf_hub_url

    organisation, name, file = path.removeprefix(SCHEME).split("/", 2)
    where = {"repo_type": "dataset", "revision": commit, "endpoint": constants.ENDPOINT}
    return str(hf_hub_url(f"{organisation}/{name}", file, **where))


@cache
def files_at(path: str, commit: str, configs: Sequence[str], split: str) -> list[HubFile]:
    """Return the files that the chosen configs of a data set have in the splits of a pattern, in order of their names;
    see `files`. What the hub says of a commit stays."""
    return files(path, commit, configs, split)


def files(path: str, commit: str, configs: Sequence[str], split: str) -> list[HubFile]:
    """Return the files of the configs that match one of the patterns (the default config, if there are none), in order.

    The card says what a config's files are; without it, the names of the files tell their split, as for `datasets`.
    Raises InputError for a pattern without a config, a config without such a split, and if there are no records.
    """
    base = f"{SCHEME}{path}@{commit}" if commit else os.path.abspath(os.path.expanduser(path))
    known = _heard(path, None, "reading its card", lambda: _configs(path, commit, base))
    found: list[HubFile] = []
    seen: set[str] = set()
    # The default config often has the files of all others: each file is one of the config that names it best.
    for config in sorted(_chosen(path, known, configs), key="default".__eq__):
        splits = _heard(path, None, f"listing {config}", partial(_splits, known[config], base))
        wanted = [name for name in splits if fnmatchcase(name, split)]
        if not wanted:
            raise InputError(f"documents.split: {path} ({config}) has no split {split}; there are {', '.join(splits)}")
        for name in wanted:
            listed = _heard(path, None, f"listing {config}", partial(_resolved, splits[name], base))
            fresh = [file for file in listed if file[0].endswith(SUFFIXES) and file[0] not in seen]
            seen.update(file[0] for file in fresh)
            found += (HubFile(*file, config=config, split=name) for file in fresh)
    if not found:
        raise InputError(f"documents.path: {path} has no file of a known format; formats are {', '.join(SUFFIXES)}")
    return sorted(found)


def _chosen(path: str, known: Mapping[str, Any], patterns: Sequence[str]) -> list[str]:
    shown = ", ".join(list(known)[:SHOWN]) + (f" and {len(known) - SHOWN} more" if len(known) > SHOWN else "")
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            raise InputError(f"documents.configs: no config of {path} matches {pattern}; there are {shown}")
    if patterns:
        return [name for name in known if any(fnmatchcase(name, pattern) for pattern in patterns)]
    default = [name for name, about in known.items() if name == "default" or about.get("default") or len(known) == 1]
    if not default:
        raise InputError(f"documents.configs: {path} has no default config; say which: there are {shown}")
    return default[:1]


def _configs(path: str, commit: str, base: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the configs that the card lists, by name; a default one without anything if it lists none."""
    from datasets.utils.metadata import MetadataConfigs
    from huggingface_hub import DatasetCard, DatasetCardData

    card = url_of(f"{SCHEME}{path}/README.md", commit) if commit else f"{base}/README.md"
    try:
        with opened(card) as file:
            data = DatasetCard(file.read().decode(errors="replace"), ignore_metadata_errors=True).data
    except FileNotFoundError:
        data = DatasetCardData()
    except Unreachable as error:
        if getattr(error.__cause__, "status", None) != 404 and not isinstance(error.__cause__, FileNotFoundError):
            raise
        data = DatasetCardData()
    return MetadataConfigs.from_dataset_card_data(data) or {"default": {}}


def _splits(config: Mapping[str, Any], base: str) -> Mapping[str, Sequence[str]]:
    """Return the patterns of the files of each split of a config."""
    from datasets.data_files import get_data_patterns, sanitize_patterns

    folder = "/".join(filter(None, (base, str(config.get("data_dir") or ""))))
    found = sanitize_patterns(config["data_files"]) if "data_files" in config else get_data_patterns(folder)
    return {
        str(split): [one if "data_files" in config else f"{folder}/{one}" for one in patterns]
        for split, patterns in found.items()
    }


def _resolved(patterns: Sequence[str], base: str) -> list[tuple[str, int, str]]:
    """Return (path, size, stamp) of each file that matches one of the patterns."""
    import fsspec
    from datasets.data_files import resolve_pattern
    from huggingface_hub import constants

    found: dict[str, tuple[str, int, str]] = {}
    for pattern in patterns:
        try:
            paths = resolve_pattern(pattern, base)
        except FileNotFoundError:  # the next pattern may have files
            continue
        for path in paths:
            options = {"endpoint": constants.ENDPOINT} if path.startswith(SCHEME) else {}
            fs, inner = fsspec.url_to_fs(path, **options)
            info = fs.info(inner)
            stamp = info.get("blob_id") or info.get("mtime") or info.get("ETag") or ""
            plain = path
            if path.startswith(SCHEME):
                repository, _, file = path.removeprefix(SCHEME).partition("@")
                plain = f"{SCHEME}{repository}/{file.partition('/')[2]}"
            found[plain] = (plain, int(info.get("size") or 0), str(stamp))
    return list(found.values())


def _heard(path: str, revision: str | None, what: str, action: Callable[[], T], most: int | None = None) -> T:
    """Return what the hub answers. Raises InputError, in one line, for what goes wrong."""
    from huggingface_hub import constants, errors, utils

    utils.logging.set_verbosity_error()  # what it tries again, in many lines
    hub = constants.ENDPOINT
    try:
        return tried(f"{hub}/datasets/{path}" if "://" not in path else path, what, action, most=most)
    except InputError:
        raise
    except Unreachable as error:
        cause = error.__cause__
        setting = f"documents.path: {path}"
        if isinstance(cause, errors.GatedRepoError):
            page = f"{hub}/datasets/{path}"
            why = f"{setting}: gated; accept its terms at {page}, then log in: hf auth login, or HF_TOKEN=…"
        elif isinstance(cause, errors.RepositoryNotFoundError | errors.HFValidationError):
            why = f"{setting}: no folder here, and {hub} has no such data set, or a private one: see HF_TOKEN"
        elif isinstance(cause, errors.RevisionNotFoundError):
            why = f"documents.revision: {path} has no revision {revision}"
        elif is_folder(path):
            why = f"{setting} cannot be loaded: {in_one_line(cause or error)}"
        elif cause is not None and passing(cause):
            why = f"{setting}: {hub} does not answer: {in_one_line(cause)}; name a mirror by HF_ENDPOINT, or a folder"
        else:
            why = str(error)
        raise InputError(why) from None
