"""Who signs a vintage, and whom a reader trusts: a key, a certificate, or an identity that Sigstore vouches for.

Files are PEM. Keys are of the curves P-256, P-384 or P-521: OpenSSF's model-signing takes no others.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import Field

from ticlm.core.errors import InputError, in_one_line
from ticlm.core.extras import Extra
from ticlm.core.settings import Settings

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

CURVES = ("secp256r1", "secp384r1", "secp521r1")
EXTRAS = (Extra("vintages", ("model_signing", "OpenSSL")),)
T = TypeVar("T")


class TrustedKey(Settings):
    """Trust what the owner of a key has signed."""

    kind: Literal["key"] = "key"
    public_key: str
    """File of the public key."""

    def configure(self, config: Any) -> None:
        """Have a `model_signing.verifying.Config` verify by this key. Raises InputError if the file holds none."""
        _public_key(self.public_key)
        config.use_elliptic_key_verifier(public_key=self.public_key)


class TrustedCertificates(Settings):
    """Trust what was signed with a certificate that one of these, or one issued by them, has issued."""

    kind: Literal["certificate"] = "certificate"
    chain: tuple[str, ...] = Field(min_length=1)
    """Files of the certificates that are trusted: the root, and those between it and the signer's."""

    def configure(self, config: Any) -> None:
        """Have a `model_signing.verifying.Config` verify by these. Raises InputError if a file holds none."""
        for file in self.chain:
            certificates(file)
        config.use_certificate_verifier(certificate_chain=[Path(file) for file in self.chain])


class TrustedIdentity(Settings):
    """Trust what somebody has signed whom an identity provider knows, as Sigstore's log shows. Asks the network."""

    kind: Literal["sigstore"] = "sigstore"
    identity: str
    """Who signed, such as an e-mail address or the URL of a workflow."""
    provider: str
    """URL of the identity provider that knows them."""
    staging: bool = False
    """Whether Sigstore's instance for trials is asked."""

    def configure(self, config: Any) -> None:
        """Have a `model_signing.verifying.Config` verify by this identity."""
        config.use_sigstore_verifier(identity=self.identity, oidc_issuer=self.provider, use_staging=self.staging)


Trust = Annotated[TrustedKey | TrustedCertificates | TrustedIdentity, Field(discriminator="kind")]


class KeySigner(Settings):
    """Sign with a private key."""

    kind: Literal["key"] = "key"
    private_key: str
    """File of the private key."""
    password_variable: str | None = None
    """Environment variable that holds the password of the private key, if it has one."""
    public_key: str | None = None
    """File of the public key, by which readers check; it is compared with the private one before anything is signed."""

    def extras(self) -> tuple[Extra, ...]:
        return EXTRAS

    def trusted(self) -> TrustedKey | None:
        """Return whom a reader has to trust; None if no public key is named."""
        return None if self.public_key is None else TrustedKey(public_key=self.public_key)

    def configure(self, config: Any) -> None:
        """Have a `model_signing.signing.Config` sign with this key. Raises InputError if it cannot be used."""
        password = self._password()
        private = _private_key(self.private_key, password)
        if self.public_key is not None and _public_key(self.public_key) != private.public_key():
            raise InputError(f"public key {self.public_key} does not belong to the private key {self.private_key}")
        # Bytes, though model-signing 1.1 declares text: it hands the password on to cryptography, which wants bytes.
        config.use_elliptic_key_signer(private_key=Path(self.private_key), password=password)

    def _password(self) -> bytes | None:
        if self.password_variable is None:
            return None
        if not (found := os.environ.get(self.password_variable)):
            raise InputError(
                f"private key {self.private_key}: the environment variable {self.password_variable}, which should hold "
                "its password, is not set"
            )
        return found.encode()


class CertificateSigner(Settings):
    """Sign with the private key of a certificate, which somebody whom readers trust has issued."""

    kind: Literal["certificate"] = "certificate"
    private_key: str
    """File of the private key, which must have no password: model-signing reads none of these with one."""
    certificate: str
    """File of the signer's certificate."""
    chain: tuple[str, ...] = Field(min_length=1)
    """Files of the certificates between the signer's and the root, and of the root."""

    def extras(self) -> tuple[Extra, ...]:
        return EXTRAS

    def trusted(self) -> TrustedCertificates:
        """Return whom a reader has to trust."""
        return TrustedCertificates(chain=self.chain)

    def configure(self, config: Any) -> None:
        """Have a `model_signing.signing.Config` sign with this certificate. Raises InputError if it cannot be used."""
        own = certificates(self.certificate)[0]
        if _private_key(self.private_key, None).public_key() != own.public_key():
            raise InputError(f"certificate {self.certificate} does not belong to the private key {self.private_key}")
        if words := ended([own, *(one for file in self.chain for one in certificates(file))], datetime.now(UTC)):
            raise InputError(f"{self.certificate}: {words}")
        config.use_certificate_signer(
            private_key=Path(self.private_key),
            signing_certificate=Path(self.certificate),
            certificate_chain=[Path(file) for file in self.chain],
        )


class SigstoreSigner(Settings):
    """Sign without a key: an identity provider says who signs, and Sigstore notes it in a public log.

    The identity comes from a token, or from the machine's own (as in a workflow of a forge); without either, a browser
    asks for it.
    """

    kind: Literal["sigstore"] = "sigstore"
    identity: str
    """Who signs, such as an e-mail address or the URL of a workflow."""
    provider: str
    """URL of the identity provider that knows them."""
    token_variable: str | None = None
    """Environment variable that holds a token of the identity provider."""
    staging: bool = False
    """Whether Sigstore's instance for trials is asked."""

    def extras(self) -> tuple[Extra, ...]:
        return EXTRAS

    def trusted(self) -> TrustedIdentity:
        """Return whom a reader has to trust."""
        return TrustedIdentity(identity=self.identity, provider=self.provider, staging=self.staging)

    def configure(self, config: Any) -> None:
        """Have a `model_signing.signing.Config` sign by Sigstore. Raises InputError if the token is not there."""
        token = None if self.token_variable is None else os.environ.get(self.token_variable)
        if self.token_variable is not None and not token:
            raise InputError(f"the environment variable {self.token_variable}, which should hold a token, is not set")
        config.use_sigstore_signer(
            identity_token=token, use_ambient_credentials=token is None, use_staging=self.staging
        )


AnySigner = Annotated[KeySigner | CertificateSigner | SigstoreSigner, Field(discriminator="kind")]


def certificates(file: str) -> list[Certificate]:
    """Return the certificates in a file. Raises InputError if there are none."""
    from cryptography import x509

    return _read(file, "certificate", x509.load_pem_x509_certificates)


def ended(found: list[Certificate], at: datetime) -> str:
    """Return a line about the first certificate that does not hold at a moment; "" if all do."""
    for one in found:
        name = one.subject.rfc4514_string() or "without a name"
        if at > one.not_valid_after_utc:
            return f"certificate {name} expired on {one.not_valid_after_utc:%Y-%m-%d}"
        if at < one.not_valid_before_utc:
            return f"certificate {name} holds from {one.not_valid_before_utc:%Y-%m-%d} on"
    return ""


def _public_key(file: str) -> Any:
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    return _of_a_curve(_read(file, "public key", load_pem_public_key), f"public key {file}")


def _private_key(file: str, password: bytes | None) -> Any:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    def load(data: bytes) -> Any:
        return load_pem_private_key(data, password)

    return _of_a_curve(_read(file, "private key", load), f"private key {file}")


def _of_a_curve(key: Any, what: str) -> Any:
    """Return the key. Raises InputError if model-signing does not sign with keys of its kind."""
    curve = getattr(getattr(key, "curve", None), "name", type(key).__name__.strip("_"))
    if curve not in CURVES:
        raise InputError(f"{what} must be of one of the curves {', '.join(CURVES)}, got {curve}")
    return key


def _read(file: str, what: str, load: Callable[[bytes], T]) -> T:
    """Return what `load` makes of a PEM file. Raises InputError, which names the file and never its content."""
    try:
        return load(Path(file).read_bytes())
    except OSError as error:
        raise InputError(f"{what} {file} cannot be read: {error.strerror or error}") from None
    except TypeError:  # of cryptography: a password where none is needed, or the other way round
        raise InputError(f"{what} {file}: it has a password and none was given, or it has none and one was") from None
    except ValueError as error:
        raise InputError(
            f"{what} {file} is no PEM file of one, or its password is wrong: {in_one_line(error)}"
        ) from None
