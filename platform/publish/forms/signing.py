"""Signatures of a folder: written and checked with OpenSSF's model-signing, as a Sigstore bundle in the folder.

`model_signing verify key FOLDER --signature FOLDER/vintage/model.sig --public_key KEY.pub` checks the same signature
without this package (with `--allow_symlinks` where the folder is a snapshot in a cache of the hub, which consists of
links). A signature covers every file below the folder but itself, what git and a download of the hub keep there for
themselves, and what its signer left out, which it names.
"""

from __future__ import annotations

import base64
import contextlib
import io
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple

from ticlm.core.errors import InputError, RunError, TiclmError, in_one_line
from ticlm.core.extras import missing, require
from ticlm.core.reading import json_texts
from ticlm.core.store import Store
from ticlm.platform.publish.forms.signers import AnySigner, Trust, TrustedCertificates, TrustedIdentity, ended

SIGNATURE = "vintage/model.sig"
"""Where the signature lies in a folder."""
OF_DOWNLOADS = (".cache/huggingface",)
"""What the hub's client writes into a folder that it downloads to."""
OF_GIT = (".git", ".gitattributes", ".github", ".gitignore")
"""What model-signing leaves out by itself."""
BUNDLE = r"application/vnd\.dev\.sigstore\.bundle(?:\+json;version=|\.v)(\d+)\.(\d+)(?:\+json)?"
NEWEST = (0, 3)
MEANS = {"key": "a key", "certificate": "a certificate", "sigstore": "an identity of Sigstore"}
SHOWN = 3
"""Most files of one kind that a line names."""


class SignatureCheck(NamedTuple):
    """What came of a check: only `valid` says that the files are those that were signed. `unchecked`: nobody could
    look, and the signature may be good or not. `words` is one line."""

    state: Literal["valid", "missing", "invalid", "unchecked"]
    words: str


def sign(folder: Path, signer: AnySigner, ignore: Sequence[str] = ()) -> None:
    """Sign all files below a folder, and write the signature to SIGNATURE there, in place of an older one.

    `ignore` are paths relative to the folder, of files or folders that are not signed. Raises InputError if the folder
    is none or has a link to a folder, if the signer's files cannot be used, or if model-signing is not installed.
    """
    require("signing a vintage", "vintages", "model_signing", "OpenSSL")
    import model_signing

    left_out = [SIGNATURE, *OF_DOWNLOADS, *map(_relative, ignore)]
    _refuse_linked_folders(folder, left_out)
    config = model_signing.signing.Config()
    config.set_hashing_config(_hashing(left_out))
    # Elsewhere first: a process that is killed leaves the older signature, or none, and never half of one.
    with tempfile.TemporaryDirectory() as elsewhere:
        made = Path(elsewhere, "model.sig")
        try:
            signer.configure(config)
            config.sign(folder, made)
        except TiclmError:
            raise
        except Exception as error:  # of Sigstore too: any error of a network
            raise RunError(f"{folder} cannot be signed: {in_one_line(error)}") from None
        Store(str(folder)).write(SIGNATURE, made.read_bytes())


def check(folder: Path, trust: Trust, at: datetime | None = None) -> SignatureCheck:
    """Check the signature of a folder against whom the reader trusts, and every file against the signature.

    Certificates have to hold `at` this moment (now): a signature has no date that its signer could not have invented.
    Raises InputError if the folder is none, or if the files that `trust` names cannot be used.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder")
    if not (folder / SIGNATURE).is_file():
        return SignatureCheck("missing", f"no signature (there is no {SIGNATURE})")
    if line := missing("checking a signature", "vintages", "model_signing", "OpenSSL"):
        return SignatureCheck("unchecked", line)
    try:
        bundle = _Bundle.read(folder / SIGNATURE)
    except KeyError as error:
        return SignatureCheck("invalid", f"{SIGNATURE} is damaged (it has no {error.args[0]})")
    except (ValueError, TypeError, AttributeError, OSError) as error:
        return SignatureCheck("invalid", f"{SIGNATURE} is damaged ({in_one_line(error)})")
    if bundle.version > NEWEST:
        shown = ".".join(map(str, bundle.version))
        read = ".".join(map(str, NEWEST))
        return SignatureCheck(
            "unchecked", f"{SIGNATURE} is a bundle of a newer version: {shown}, this release reads {read}"
        )
    if bundle.signed_by != trust.kind:
        return SignatureCheck("invalid", f"signed with {MEANS[bundle.signed_by]}, expected {MEANS[trust.kind]}")
    return _verified(folder, trust, bundle, at or datetime.now(UTC))


class _Bundle(NamedTuple):
    """What a signature's file says of itself, which nobody has verified yet."""

    version: tuple[int, int]
    signed_by: str
    certificates: tuple[bytes, ...]
    digests: Mapping[str, tuple[str, str]]
    """Path of a file -> (algorithm, hash)."""
    left_out: tuple[str, ...]

    @staticmethod
    def read(path: Path) -> _Bundle:
        """Return what the file says. Raises KeyError, ValueError, TypeError or AttributeError if it is no
        bundle."""
        bundle = json_texts.read_object(path.read_bytes())
        kind = re.fullmatch(BUNDLE, str(bundle["mediaType"]))
        if kind is None:
            raise ValueError("it is no Sigstore bundle")
        version = int(kind[1]), int(kind[2])
        if version > NEWEST:
            return _Bundle(version, "", (), {}, ())
        material = bundle["verificationMaterial"]
        chain = material.get("x509CertificateChain", {}).get("certificates", ())
        # Only Sigstore has a log; older bundles of it have a chain too.
        logged = "certificate" in material or material.get("tlogEntries")
        signed_by = "key" if "publicKey" in material else "sigstore" if logged else "certificate"
        ders = tuple(base64.b64decode(one["rawBytes"], validate=True) for one in chain)
        payload = json_texts.read_object(base64.b64decode(bundle["dsseEnvelope"]["payload"], validate=True))
        predicate = payload["predicate"]
        digests = {one["name"]: (one["algorithm"], one["digest"]) for one in predicate["resources"]}
        left_out = tuple(map(str, predicate["serialization"].get("ignore_paths", ())))
        return _Bundle(version, signed_by, ders, digests, left_out)


def _verified(folder: Path, trust: Trust, bundle: _Bundle, at: datetime) -> SignatureCheck:
    """Return what model-signing says of a signature that could be read."""
    import model_signing

    config = model_signing.verifying.Config()
    try:
        trust.configure(config)
    except TiclmError:
        raise
    except Exception as error:  # Sigstore fetches its roots here: any error of a network
        return SignatureCheck("unchecked", f"the signature cannot be checked here: {in_one_line(error)}")
    config.set_hashing_config(_hashing([SIGNATURE, *OF_DOWNLOADS]))
    try:
        # model-signing prints a warning about older bundles, into output that a program may read
        with contextlib.redirect_stdout(io.StringIO()):
            config.verify(folder, folder / SIGNATURE)
    except Exception as error:  # the file comes from strangers, and its readers raise what they like
        return SignatureCheck("invalid", _why(folder, trust, bundle, error))
    try:
        _refuse_linked_folders(folder, bundle.left_out)
    except InputError as error:
        return SignatureCheck("invalid", str(error))
    if isinstance(trust, TrustedCertificates) and (words := _ended(bundle, at)):
        return SignatureCheck("invalid", words)
    count = len(bundle.digests)
    own = {SIGNATURE, *OF_DOWNLOADS, *OF_GIT}
    others = sorted(set(bundle.left_out) - own)
    besides = f"; the signature leaves out {_named(others)}" if others else ""
    return SignatureCheck("valid", f"{count} file{'s' * (count != 1)} as signed{besides}")


def _why(folder: Path, trust: Trust, bundle: _Bundle, error: Exception) -> str:
    """Return a line that says why a signature is not valid."""
    said = in_one_line(error)
    if said.startswith("Signature mismatch"):
        return _differences(folder, bundle) or said
    if said.startswith("Key mismatch"):
        return "signed by another key"
    if said.startswith("Cannot use"):  # a link to nothing, a file that nobody may read
        return said.replace(f"{folder}{os.sep}", "")
    if type(error).__name__ == "InvalidSignature":
        return f"{SIGNATURE} was changed after it was signed, or another {trust.kind} signed it"
    if isinstance(trust, TrustedIdentity):
        return f"not signed by {trust.identity}: {said}"
    if type(error).__name__ == "X509StoreContextError":
        return f"signed with a certificate that is not trusted: {said}"
    return f"{SIGNATURE} cannot be verified: {said}"


def _differences(folder: Path, bundle: _Bundle) -> str:
    """Return a line that names the files that differ from what was signed. The signature of `bundle` was found good."""
    there = {
        one.identifier: (one.digest.algorithm, one.digest.digest_hex)
        for one in _hashing([SIGNATURE, *OF_DOWNLOADS, *bundle.left_out]).hash(folder).resource_descriptors()
    }
    signed = bundle.digests
    kinds = {
        "changed": [name for name in signed if name in there and there[name] != signed[name]],
        "removed": [name for name in signed if name not in there],
        "added": [name for name in there if name not in signed],
    }
    return "; ".join(
        f"{_named(sorted(names))} {'was' if len(names) == 1 else 'were'} {what}"
        for what, names in kinds.items()
        if names
    )


def _ended(bundle: _Bundle, at: datetime) -> str:
    """Return a line about the first certificate of a bundle that does not hold at a moment; "" if all do.

    model-signing looks at the chain as it was when the signer's certificate began, so that none ever expires for it.
    """
    from cryptography import x509

    return ended([x509.load_der_x509_certificate(one) for one in bundle.certificates], at)


def _hashing(left_out: Sequence[str]) -> Any:
    """Return how files are hashed: as a whole, by SHA-256, those behind links too."""
    import model_signing

    config = model_signing.hashing.Config().set_ignored_paths(paths=left_out)
    return config.set_allow_symlinks(True)


def _refuse_linked_folders(folder: Path, left_out: Sequence[str]) -> None:
    """Raise InputError if the folder is none, or for a link to a folder in it: model-signing does not look behind such
    a link, so files there could change unseen."""
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder")
    for link in _linked_folders(folder, {*left_out, *OF_GIT}):
        raise InputError(f"{link} is a link to a folder, whose files no signature covers")


def _linked_folders(folder: Path, left_out: set[str]) -> Iterator[str]:
    """Yield the paths of links to folders, relative to `folder`."""
    for above, names, _ in os.walk(folder):
        kept = []
        for name in sorted(names):
            path = Path(above, name)
            relative = path.relative_to(folder).as_posix()
            if relative in left_out:
                continue
            kept.append(name)
            if path.is_symlink():
                yield relative
        names[:] = kept


def _relative(path: str) -> str:
    """Return a path below the folder. Raises InputError if it leads out of it."""
    found = PurePosixPath(path)
    if found.is_absolute() or ".." in found.parts or not found.parts:
        raise InputError(f"ignore: expected a path below the folder that is signed, got {path!r}")
    return found.as_posix()


def _named(names: Sequence[str]) -> str:
    """Return the first names in words, in one line whatever is in them."""
    more = len(names) - SHOWN
    return ", ".join(name if name.isprintable() else repr(name) for name in names[:SHOWN]) + (
        f" and {more} more" if more > 0 else ""
    )
