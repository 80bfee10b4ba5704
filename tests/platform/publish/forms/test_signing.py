"""Signatures: what is signed is found valid by us and by the library's own command, and anything else is named."""

from __future__ import annotations

import base64
import contextlib
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID
from pydantic import TypeAdapter

from ticlm.core.errors import InputError, RunError
from ticlm.core.extras import check as check_extras
from ticlm.platform.publish.forms.signers import (
    AnySigner,
    CertificateSigner,
    KeySigner,
    SigstoreSigner,
    TrustedCertificates,
    TrustedIdentity,
    TrustedKey,
)
from ticlm.platform.publish.forms.signing import SIGNATURE, check, sign

NOW = datetime.now(UTC)
YEAR = timedelta(days=365)


class Keys(NamedTuple):
    """Files of a private key and its public one."""

    private: str
    public: str

    def signer(self) -> KeySigner:
        return KeySigner(private_key=self.private, public_key=self.public)

    def trusted(self) -> TrustedKey:
        return TrustedKey(public_key=self.public)


def pem(key: Any, password: bytes | None = None) -> bytes:
    kept: Any = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, kept))


def public_pem(key: Any) -> bytes:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return bytes(key.public_key().public_bytes(serialization.Encoding.PEM, form))


def keys_in(folder: Path, name: str, key: Any = None, password: bytes | None = None) -> Keys:
    folder.mkdir(parents=True, exist_ok=True)
    key = key or ec.generate_private_key(ec.SECP256R1())
    private, public = folder / f"{name}.pem", folder / f"{name}.pub"
    private.write_bytes(pem(key, password))
    public.write_bytes(public_pem(key))
    return Keys(str(private), str(public))


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return keys_in(tmp_path_factory.mktemp("keys"), "ours")


@pytest.fixture
def vintage(tmp_path: Path) -> Path:
    """A folder like that of a model: two files and a statement about them."""
    folder = tmp_path / "model"
    (folder / "vintage").mkdir(parents=True)
    (folder / "config.json").write_text('{"hidden_size": 16}')
    (folder / "model.safetensors").write_bytes(bytes(2000))
    (folder / "vintage/provenance.json").write_text("{}")
    return folder


@pytest.fixture
def signed(vintage: Path, keys: Keys) -> Path:
    sign(vintage, keys.signer())
    return vintage


class Chain(NamedTuple):
    """Files of a root and of a certificate that it has issued, with its key."""

    root: str
    certificate: str
    private: str

    def signer(self) -> CertificateSigner:
        return CertificateSigner(private_key=self.private, certificate=self.certificate, chain=(self.root,))


def certificate(name: str, key: Any, issuer: str, issuer_key: Any, begins: datetime, ends: datetime) -> bytes:
    """A certificate for signing; the root's own, if it issues itself."""
    is_root = name == issuer
    usage = dict.fromkeys(
        ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "crl_sign"), False
    )
    built = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
        .add_extension(x509.BasicConstraints(ca=is_root, path_length=None), critical=True)
        .add_extension(
            x509.KeyUsage(
                digital_signature=True, key_cert_sign=is_root, encipher_only=False, decipher_only=False, **usage
            ),
            critical=True,
        )
        .sign(issuer_key, hashes.SHA256())
    )
    return built.public_bytes(serialization.Encoding.PEM)


def chain_in(folder: Path, ends: datetime = NOW + YEAR) -> Chain:
    folder.mkdir(parents=True, exist_ok=True)
    root, own = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    (folder / "root.crt").write_bytes(certificate("Root", root, "Root", root, ends - 3 * YEAR, ends + YEAR / 2))
    (folder / "own.crt").write_bytes(certificate("Ada", own, "Root", root, ends - 2 * YEAR, ends))
    (folder / "own.pem").write_bytes(pem(own))
    return Chain(*(str(folder / name) for name in ("root.crt", "own.crt", "own.pem")))


def command(kind: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Verify with the library's own command."""
    words = [sys.executable, "-m", "model_signing", "verify", kind, str(folder)]
    return subprocess.run(
        [*words, "--signature", str(folder / SIGNATURE), *options], capture_output=True, text=True, timeout=120
    )


def test_a_signature_is_valid_here_and_for_the_command_of_the_library(signed: Path, keys: Keys) -> None:
    assert check(signed, keys.trusted()) == ("valid", "3 files as signed")
    done = command("key", signed, "--public_key", keys.public)
    assert done.returncode == 0 and "Verification succeeded" in done.stdout, done.stderr


def _append(folder: Path) -> None:
    (folder / "config.json").write_text('{"hidden_size": 16} ')


def _drop(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def _add(folder: Path) -> None:
    (folder / "extra.bin").write_bytes(b"1")


def _add_lines(folder: Path) -> None:
    (folder / "a\nb").touch()


def _all(folder: Path) -> None:
    for change in (_append, _drop, _add):
        change(folder)
    for number in range(4):
        (folder / f"more-{number}").touch()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_append, "config.json was changed"),
        (_drop, "model.safetensors was removed"),
        (_add, "extra.bin was added"),
        (_add_lines, r"'a\nb' was added"),
        (
            _all,
            "config.json was changed; model.safetensors was removed; extra.bin, more-0, more-1 and 2 more were added",
        ),
    ],
)
def test_a_file_that_differs_is_named(signed: Path, keys: Keys, change: Callable[[Path], None], words: str) -> None:
    change(signed)
    assert check(signed, keys.trusted()) == ("invalid", words)


def test_the_command_of_the_library_refuses_a_changed_file_too(signed: Path, keys: Keys) -> None:
    _append(signed)
    assert command("key", signed, "--public_key", keys.public).returncode == 1


def test_a_folder_without_a_signature_is_no_error(vintage: Path, keys: Keys) -> None:
    assert check(vintage, keys.trusted()) == ("missing", "no signature (there is no vintage/model.sig)")


def test_a_signature_by_another_key_is_told(signed: Path, tmp_path: Path) -> None:
    assert check(signed, keys_in(tmp_path, "other").trusted()) == ("invalid", "signed by another key")


def bundle(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / SIGNATURE).read_text())
    return found


def with_payload(text: str) -> Callable[[dict[str, Any]], str]:
    def change(found: dict[str, Any]) -> str:
        found["dsseEnvelope"]["payload"] = base64.b64encode(text.encode()).decode()
        return json.dumps(found)

    return change


def _other_digest(found: dict[str, Any]) -> str:
    payload = json.loads(base64.b64decode(found["dsseEnvelope"]["payload"]))
    payload["predicate"]["resources"][0]["digest"] = "0" * 64
    return with_payload(json.dumps(payload))(found)


def _without_hint(found: dict[str, Any]) -> str:
    del found["verificationMaterial"]["publicKey"]["hint"]
    return _other_digest(found)


DAMAGE: dict[str, tuple[Callable[[dict[str, Any]], str], str, str]] = {
    "empty": (lambda found: "", "invalid", "is damaged (Expecting value: line 1 column 1 (char 0))"),
    "half": (lambda found: json.dumps(found)[:300], "invalid", "is damaged (Unterminated string"),
    "list": (lambda found: "[]", "invalid", "is damaged (it must be an object, got list)"),
    "other": (lambda found: '{"mediaType": "text/plain"}', "invalid", "is damaged (it is no Sigstore bundle)"),
    "without a type": (lambda found: "{}", "invalid", "is damaged (it has no mediaType)"),
    "without keys": (lambda f: json.dumps(f | {"verificationMaterial": 3}), "invalid", "is damaged ("),
    "without files": (with_payload("{}"), "invalid", "is damaged (it has no predicate)"),
    "without signatures": (
        lambda f: json.dumps(f | {"dsseEnvelope": {**f["dsseEnvelope"], "signatures": []}}),
        "invalid",
        "cannot be verified: ",
    ),
    "changed": (_other_digest, "invalid", "was changed after it was signed, or another key signed it"),
    "changed, without a hint": (_without_hint, "invalid", "was changed after it was signed, or another key signed it"),
    "newer": (
        lambda f: json.dumps(f | {"mediaType": "application/vnd.dev.sigstore.bundle.v0.4+json"}),
        "unchecked",
        "is a bundle of a newer version: 0.4, this release reads 0.3",
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_bundle_is_told_in_one_line(
    signed: Path, keys: Keys, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change, state, words = DAMAGE[name]
    (signed / SIGNATURE).write_text(change(bundle(signed)))
    found = check(signed, keys.trusted())
    assert found.state == state and found.words.startswith(f"{SIGNATURE} {words}") and "\n" not in found.words
    assert capsys.readouterr().out == "", "the library's own warnings stay out of the output"


def test_a_signature_moves_with_its_folder_and_is_written_again(signed: Path, keys: Keys, tmp_path: Path) -> None:
    moved = signed.rename(tmp_path / "elsewhere")
    assert check(moved, keys.trusted()).state == "valid"
    _append(moved)
    sign(moved, keys.signer())
    assert check(moved, keys.trusted()).state == "valid"


def test_what_is_left_out_may_change_and_is_told(vintage: Path, keys: Keys) -> None:
    (vintage / "README.md").write_text("card")
    (vintage / "logs").mkdir()
    (vintage / "logs/a.txt").touch()
    sign(vintage, keys.signer(), ignore=["README.md", "logs/"])
    (vintage / "README.md").write_text("another card")
    (vintage / "logs/b.txt").touch()
    told = ("valid", "3 files as signed; the signature leaves out README.md, logs")
    assert check(vintage, keys.trusted()) == told
    assert command("key", vintage, "--public_key", keys.public).returncode == 0
    for path in ("../other", "/etc", "."):
        with pytest.raises(InputError, match="expected a path below the folder that is signed, got"):
            sign(vintage, keys.signer(), ignore=[path])


def test_what_a_download_leaves_is_no_added_file(signed: Path, keys: Keys) -> None:
    (signed / ".cache/huggingface/download").mkdir(parents=True)
    (signed / ".cache/huggingface/download/config.json.metadata").touch()
    (signed / ".gitattributes").touch()
    assert check(signed, keys.trusted()).state == "valid"
    assert command("key", signed, "--public_key", keys.public).returncode == 0


def test_a_snapshot_of_links_in_a_cache_is_checked_by_what_they_lead_to(
    signed: Path, keys: Keys, tmp_path: Path
) -> None:
    """A cache of the hub has files by their hashes, and a folder of links to them for each revision."""
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots/1234"
    blobs.mkdir()
    for number, file in enumerate(sorted(path for path in signed.rglob("*") if path.is_file())):
        link = snapshot / file.relative_to(signed)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(blobs / str(number))
        (blobs / str(number)).write_bytes(file.read_bytes())
    assert check(snapshot, keys.trusted()).state == "valid"
    assert command("key", snapshot, "--public_key", keys.public, "--allow_symlinks").returncode == 0
    (snapshot / "config.json").resolve().write_text("{}")
    assert check(snapshot, keys.trusted()) == ("invalid", "config.json was changed")
    (snapshot / "config.json").resolve().unlink()
    found = check(snapshot, keys.trusted())
    assert found.state == "invalid" and found.words.startswith("Cannot use 'config.json' as file or directory")


def test_a_link_to_a_folder_is_refused_as_nothing_looks_behind_it(signed: Path, keys: Keys, tmp_path: Path) -> None:
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden/code.py").touch()
    (signed / "more").symlink_to(tmp_path / "hidden")
    line = "more is a link to a folder, whose files no signature covers"
    assert check(signed, keys.trusted()) == ("invalid", line)
    with pytest.raises(InputError, match=line):
        sign(signed, keys.signer())
    sign(signed, keys.signer(), ignore=["more"])
    assert check(signed, keys.trusted()).state == "valid"


def test_a_key_with_a_password_takes_it_from_the_environment(
    vintage: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = keys_in(tmp_path, "kept", password=b"open")
    signer = kept.signer().model_copy(update={"password_variable": "KEY_PASSWORD"})
    with pytest.raises(InputError, match="variable KEY_PASSWORD, which should hold its password, is not set"):
        sign(vintage, signer)
    monkeypatch.setenv("KEY_PASSWORD", "shut")
    with pytest.raises(InputError, match=r"kept\.pem .* its password is wrong") as error:
        sign(vintage, signer)
    assert "shut" not in str(error.value)
    with pytest.raises(InputError, match=r"kept\.pem: it has a password and none was given"):
        sign(vintage, kept.signer())
    assert not (vintage / SIGNATURE).exists()
    monkeypatch.setenv("KEY_PASSWORD", "open")
    sign(vintage, signer)
    assert check(vintage, kept.trusted()).state == "valid"


def test_files_that_are_no_keys_are_named(vintage: Path, keys: Keys, tmp_path: Path) -> None:
    other = keys_in(tmp_path, "other")
    wrong = keys_in(tmp_path, "rsa", rsa.generate_private_key(65537, 2048))
    for signer, line in {
        KeySigner(private_key=str(tmp_path / "none.pem")): "none.pem cannot be read: No such file or directory",
        KeySigner(private_key=keys.public): "ours.pub is no PEM file of one",
        KeySigner(
            private_key=wrong.private
        ): "rsa.pem must be of one of the curves secp256r1, secp384r1, secp521r1, got",
        KeySigner(private_key=keys.private, public_key=other.public): "other.pub does not belong to the private key",
    }.items():
        with pytest.raises(InputError, match=line):
            sign(vintage, signer)
    sign(vintage, keys.signer())
    with pytest.raises(InputError, match=r"public key .*ours\.pem is no PEM file of one"):
        check(vintage, TrustedKey(public_key=keys.private))
    with pytest.raises(InputError, match="none is no folder"):
        check(tmp_path / "none", keys.trusted())
    with pytest.raises(InputError, match="none is no folder"):
        sign(tmp_path / "none", keys.signer())


def test_a_certificate_signs_for_those_who_trust_its_root(vintage: Path, keys: Keys, tmp_path: Path) -> None:
    ours, others = chain_in(tmp_path / "ours"), chain_in(tmp_path / "others")
    sign(vintage, ours.signer())
    assert check(vintage, ours.signer().trusted()) == ("valid", "3 files as signed")
    done = command("certificate", vintage, "--certificate_chain", ours.root)
    assert done.returncode == 0, done.stderr
    found = check(vintage, TrustedCertificates(chain=(others.root,)))
    assert found.state == "invalid" and found.words.startswith("signed with a certificate that is not trusted: ")
    assert check(vintage, keys.trusted()) == ("invalid", "signed with a certificate, expected a key")
    _append(vintage)
    assert check(vintage, ours.signer().trusted()) == ("invalid", "config.json was changed")
    mixed = ours.signer().model_copy(update={"private_key": others.private})
    with pytest.raises(InputError, match=r"own\.crt does not belong to the private key"):
        sign(vintage, mixed)


def test_an_expired_certificate_is_told_with_its_day(vintage: Path, tmp_path: Path) -> None:
    """The library itself looks at the day on which the certificate began, when it always held."""
    ours = chain_in(tmp_path / "ours", datetime(2024, 1, 31, tzinfo=UTC))
    with pytest.raises(InputError, match=r"own\.crt: certificate CN=Ada expired on 2024-01-31"):
        sign(vintage, ours.signer())
    import model_signing

    config = model_signing.signing.Config().use_certificate_signer(
        private_key=ours.private, signing_certificate=ours.certificate, certificate_chain=[ours.root]
    )
    config.sign(vintage, vintage / SIGNATURE)
    trusted = ours.signer().trusted()
    assert check(vintage, trusted) == ("invalid", "certificate CN=Ada expired on 2024-01-31")
    assert check(vintage, trusted, at=datetime(2023, 6, 1, tzinfo=UTC)).state == "valid"
    early = check(vintage, trusted, at=datetime(2021, 6, 1, tzinfo=UTC))
    assert early == ("invalid", "certificate CN=Ada holds from 2022-01-31 on")
    late = check(vintage, trusted, at=datetime(2024, 9, 1, tzinfo=UTC))
    assert late == ("invalid", "certificate CN=Ada expired on 2024-01-31")


def test_sigstore_is_asked_only_where_it_signed(signed: Path) -> None:
    identity = TrustedIdentity(identity="ada@example.org", provider="https://accounts.example.org")
    assert check(signed, identity) == ("invalid", "signed with a key, expected an identity of Sigstore")


def test_without_a_network_sigstore_leaves_a_signature_unchecked(
    signed: Path, vintage: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import model_signing

    def unreachable(*_: Any, **__: Any) -> None:
        raise ConnectionError("no route\nto host")

    found = bundle(signed)
    monkeypatch.setattr(model_signing.verifying.Config, "use_sigstore_verifier", unreachable)
    monkeypatch.setattr(model_signing.signing.Config, "use_sigstore_signer", unreachable)
    signer = SigstoreSigner(identity="ada@example.org", provider="https://accounts.example.org")
    chain = {"certificates": [{"rawBytes": ""}]}
    for material in ({"certificate": {"rawBytes": ""}}, {"x509CertificateChain": chain, "tlogEntries": [{}]}):
        (signed / SIGNATURE).write_text(json.dumps(found | {"verificationMaterial": material}))
        told = ("unchecked", "the signature cannot be checked here: no route to host")
        assert check(signed, signer.trusted()) == told
    with pytest.raises(RunError, match="model cannot be signed: no route to host"):
        sign(vintage, signer)
    with pytest.raises(InputError, match="variable SIGSTORE_TOKEN, which should hold a token, is not set"):
        sign(vintage, signer.model_copy(update={"token_variable": "SIGSTORE_TOKEN"}))


def test_without_the_extra_a_line_says_what_to_install(
    signed: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ticlm.core import extras

    monkeypatch.setattr(extras, "installed", lambda module: module != "model_signing")
    line = "needs model-signing: pip install 'ticlm[vintages]'"
    assert check(signed, keys.trusted()) == ("unchecked", f"checking a signature {line}")
    with pytest.raises(InputError, match=f"^signing a vintage {line.replace('[', '.').replace(']', '.')}$"):
        sign(signed, keys.signer())
    with pytest.raises(InputError, match="signer: kind key needs model-signing"):
        check_extras(keys.signer(), "signer")


def test_a_killed_signer_leaves_the_older_signature(signed: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (signed / SIGNATURE).read_bytes()

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ticlm.core.store.Store.write", killed)
    with contextlib.suppress(KeyboardInterrupt):
        sign(signed, keys.signer())
    assert (signed / SIGNATURE).read_bytes() == before
    assert sorted(path.name for path in (signed / "vintage").iterdir()) == ["model.sig", "provenance.json"]


@pytest.mark.parametrize("kind", ["key", "certificate", "sigstore"])
def test_a_signer_is_a_setting_told_by_its_kind(kind: str) -> None:
    values: dict[str, dict[str, Any]] = {
        "key": {"private_key": "a.pem"},
        "certificate": {"private_key": "a.pem", "certificate": "a.crt", "chain": ["root.crt"]},
        "sigstore": {"identity": "ada@example.org", "provider": "https://accounts.example.org"},
    }
    signer: Any = TypeAdapter(AnySigner).validate_python({"kind": kind, **values[kind]})
    assert signer.kind == kind and getattr(signer.trusted(), "kind", "key") == kind
