"""Signatures of release folders: Ed25519 over release.json, which holds the checksum of every other file.

The signature stands beside the manifest, in signature.json, with the public key it claims. That key is a hint for
people; whether a release is trusted is decided by the key that the reader holds. Private keys never enter a folder.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privroute.errors import InputError, MissingExtraError, PrivrouteError, ReleaseError
from privroute.network.text_files import read_bytes, write_whole
from privroute.release.folder import MANIFEST, SIGNATURE, flush, is_ours

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

__all__ = ["KEY_VARIABLE", "check_signature", "fingerprint", "make_keys", "sign_release", "signed_by"]

KEY_VARIABLE = "PRIVROUTE_SIGNING_KEY"
"""Environment variable with a private key in PEM, for machines where keys are not kept in files."""

_CONTEXT = b"privroute release\x00"  # a signature made for this is none for anything else
_LARGEST_KEY, _LARGEST_SIGNATURE, _LARGEST_MANIFEST = 2**14, 2**12, 2**24


def make_keys(private: str | os.PathLike[str]) -> Path:
    """Write a new private key, readable by its owner alone, and beside it the public one (.pub); its path."""
    serialization, ed25519 = _cryptography()
    place = Path(private)
    public = place.with_name(f"{place.name}.pub")
    if public.exists():
        raise InputError(f"{public} already exists; keys are never replaced, choose another name")
    key = ed25519.Ed25519PrivateKey.generate()
    encoding, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    secret = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, plain)
    try:
        with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(secret)
        flush(place)
    except FileExistsError:
        raise InputError(f"{place} already exists; keys are never replaced, choose another name") from None
    except OSError as problem:
        raise InputError(f"{place} cannot be written ({problem.strerror}); check the folder") from None
    with write_whole(public) as stream:
        stream.write(key.public_key().public_bytes(encoding, serialization.PublicFormat.SubjectPublicKeyInfo).decode())
    return public


def sign_release(folder: str | os.PathLike[str], key: str | os.PathLike[str] | None = None) -> str:
    """Sign a release folder; the fingerprint of the key.

    key : file with a private key in PEM; None takes the PEM of the environment variable PRIVROUTE_SIGNING_KEY
    """
    secret = _private_key(key)
    place = Path(folder)
    manifest = _manifest_bytes(place)
    _only_listed(place, manifest)
    public = _raw(secret.public_key())
    found = {
        "algorithm": "ed25519",
        "public_key": base64.b64encode(public).decode(),
        "signature": base64.b64encode(secret.sign(_CONTEXT + manifest)).decode(),
    }
    with write_whole(place / SIGNATURE) as stream:
        stream.write(json.dumps(found, indent=2) + "\n")
    return fingerprint(public)


def check_signature(place: Path, manifest: bytes, trusted: str | os.PathLike[str]) -> str:
    """Refuse a manifest that the holder of the trusted key did not sign; the fingerprint of that key.

    manifest : the bytes of release.json that are parsed afterwards, so that what is checked is what is used
    trusted : file with a public key in PEM

    Files that the manifest does not list are refused too: nobody signed them.
    """
    key = _public_key(Path(trusted))
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - an extra

    listed = _signature(place)
    if listed is None:
        raise ReleaseError(f"{place} is not signed; it is refused because a trusted key was given")
    mine, claimed = fingerprint(_raw(key)), fingerprint(listed["public_key"])
    if listed["public_key"] != _raw(key):
        raise ReleaseError(f"{place} is signed with the key {claimed}, as it says, not with the trusted key {mine}")
    try:
        key.verify(listed["signature"], _CONTEXT + manifest)
    except InvalidSignature:
        raise ReleaseError(f"{place}: the signature is not one of the trusted key {mine} for this {MANIFEST}") from None
    _only_listed(place, manifest)
    return mine


def signed_by(folder: str | os.PathLike[str]) -> str | None:
    """Fingerprint of the key that a folder's signature claims, unchecked; None where there is no signature."""
    found = _signature(Path(folder))
    return None if found is None else fingerprint(found["public_key"])


def fingerprint(public: bytes) -> str:
    """First 16 hexadecimal digits of the SHA-256 of a public key's 32 bytes."""
    return hashlib.sha256(public).hexdigest()[:16]


def _only_listed(place: Path, manifest: bytes) -> None:
    """Refuse files that the manifest does not list, such as a private key that was left in the folder."""
    listed = _listed(manifest)
    unknown = sorted(path.name for path in place.iterdir() if path.name not in listed)
    if unknown:
        raise ReleaseError(f"{place} has a file that no signature covers: {unknown[0][:60]!r}; remove it")


def _listed(manifest: bytes) -> set[str]:
    """Names that a signed folder may have: what the manifest lists, itself and the signature."""
    try:
        names = {name for name in json.loads(manifest)["sha256"] if is_ours(name)}
    except (ValueError, LookupError, TypeError, RecursionError):
        names = set()
    return names | {MANIFEST, SIGNATURE}


def _manifest_bytes(place: Path) -> bytes:
    try:
        return read_bytes(place / MANIFEST, largest=_LARGEST_MANIFEST)
    except PrivrouteError as problem:
        raise ReleaseError(f"{place} is not a release: {problem}") from None


def _signature(place: Path) -> dict[str, bytes] | None:
    path = place / SIGNATURE
    if not path.exists() and not path.is_symlink():
        return None
    data = read_bytes(path, largest=_LARGEST_SIGNATURE)
    try:
        found = json.loads(data)
        if set(found) != {"algorithm", "public_key", "signature"} or found["algorithm"] != "ed25519":
            raise ReleaseError(f"{path} is damaged: it is not an Ed25519 signature")
        parts = {name: base64.b64decode(found[name], validate=True) for name in ("public_key", "signature")}
    except (ValueError, TypeError, RecursionError, binascii.Error):
        raise ReleaseError(f"{path} is damaged: it is not a signature") from None
    if len(parts["public_key"]) != 32 or len(parts["signature"]) != 64:  # noqa: PLR2004 - Ed25519's sizes
        raise ReleaseError(f"{path} is damaged: key or signature have another length than Ed25519's")
    return parts


def _private_key(key: str | os.PathLike[str] | None) -> Ed25519PrivateKey:
    serialization, ed25519 = _cryptography()
    if key is None:
        text = os.environ.get(KEY_VARIABLE, "")
        if not text:
            raise InputError(f"no key to sign with; name its file, or set the environment variable {KEY_VARIABLE}")
        data, where = text.encode(), f"the environment variable {KEY_VARIABLE}"
    else:
        data, where = read_bytes(Path(key), largest=_LARGEST_KEY), str(key)
    try:
        found = serialization.load_pem_private_key(data, password=None)
    except (ValueError, TypeError, _unsupported()):
        found = None
    if not isinstance(found, ed25519.Ed25519PrivateKey):
        raise InputError(f"{where} has no private Ed25519 key in PEM without a password; make one: privroute keys FILE")
    secret: Ed25519PrivateKey = found
    return secret


def _public_key(path: Path) -> Ed25519PublicKey:
    serialization, ed25519 = _cryptography()
    if not path.is_file():
        raise InputError(f"{path} is not there; pass the .pub file of the signer")
    try:
        found = serialization.load_pem_public_key(read_bytes(path, largest=_LARGEST_KEY))
    except (ValueError, TypeError, _unsupported()):
        found = None
    if not isinstance(found, ed25519.Ed25519PublicKey):
        raise InputError(f"{path} has no public Ed25519 key in PEM; pass the .pub file of the signer")
    key: Ed25519PublicKey = found
    return key


def _raw(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes_raw()


def _cryptography() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - an extra
        from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("cryptography", "sign", "signatures") from None
    return serialization, ed25519


def _unsupported() -> type[Exception]:
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - an extra

    return UnsupportedAlgorithm
