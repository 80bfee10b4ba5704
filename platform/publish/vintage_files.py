"""The files of a vintage's folder: what they are called, and their hashes. `vintage_folder` writes them.

config.json, *.safetensors, tokenizer…   the model, byte for byte as the round left it
README.md, .eval_results/ticlm.yaml      the card and the scores
vintage/certificate.json                 in-toto statement with the predicate vintage/v1, about all files here
vintage/provenance.json                  in-toto statement with SLSA's provenance, about the same files
vintage/metrics.json                     loss, rate and gradient norm of each step of its round
vintage/CORPUS.croissant.json            what the corpus holds, as far as the vintage read it
vintage/model.sig                        the signature of all of these
"""

from __future__ import annotations

from pathlib import Path

from ticlm.core.store import Store

FOLDER = "vintage"
CERTIFICATE, PROVENANCE_FILE, METRICS = (f"{FOLDER}/{name}.json" for name in ("certificate", "provenance", "metrics"))
STATEMENTS = (CERTIFICATE, PROVENANCE_FILE, f"{FOLDER}/model.sig")
"""Files that no certificate can name: they are written after it, or are it."""


def hashes(folder: Path) -> dict[str, str]:
    """Return the hash of each file of a vintage's folder that its certificate names, or should; by its path."""
    store = Store(str(folder))
    found = (file.relative_to(folder).as_posix() for file in sorted(folder.rglob("*")) if file.is_file())
    return {name: store.sha256(name) for name in found if name not in STATEMENTS and not is_beside(name)}


def is_beside(name: str) -> bool:
    """Return whether a file is none of the vintage's: what git and the hub's client keep in a folder for themselves."""
    return name == ".gitattributes" or name.startswith((".git/", ".cache/"))
