"""A package index on loopback: projects with sdists that we pack, listed in the JSON of PEP 691."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Mapping
from typing import Any

from web import Site

MIT = "License-Expression: MIT\n"
INDEX = "simple"


def sdist(name: str, version: str, pages: Mapping[str, str], metadata: str = MIT, suffix: str = ".tar.gz") -> bytes:
    """A source distribution (PEP 625) with these pages."""
    top = f"{name}-{version}"
    head = f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n{metadata}\n"
    files = {"PKG-INFO": head, f"{name}/__init__.py": "", **pages}
    out = io.BytesIO()
    if suffix == ".zip":
        with zipfile.ZipFile(out, "w") as packed:
            for path, text in files.items():
                packed.writestr(f"{top}/{path}", text)
        return out.getvalue()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"{top}/{path}")
            entry.size = len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue()


def release(site: Site, name: str, version: str, day: str, pages: Mapping[str, str], **about: Any) -> None:
    """Upload a release to the index. `about`: `metadata`, `suffix`, and fields of the file's entry that differ from
    what is true; None leaves one out."""
    suffix = about.pop("suffix", ".tar.gz")
    data = sdist(name, version, pages, about.pop("metadata", MIT), suffix)
    filename = f"{name}-{version}{suffix}"
    site.files[f"files/{filename}"] = data
    entry = {
        "filename": filename,
        "url": f"../../files/{filename}",
        "hashes": {"sha256": hashlib.sha256(data).hexdigest()},
        "size": len(data),
        "upload-time": f"{day}T12:00:00.123456Z",
        "yanked": False,
    } | about
    page = f"{INDEX}/{name}/"
    listed = json.loads(site.files.get(page, b'{"files": []}'))["files"]
    files = [*listed, {key: value for key, value in entry.items() if value is not None}]
    site.files[page] = json.dumps({"meta": {"api-version": "1.1"}, "name": name, "files": files}).encode()
