"""`privroute keys`, `privroute sign` and `privroute verify`: signatures of releases."""

from pathlib import Path
from typing import Annotated

import typer

import privroute as pr
from privroute.cli import inputs
from privroute.cli.terminal import line
from privroute.release.signing import KEY_VARIABLE, make_keys, signed_by

__all__ = ["keys", "sign", "verify"]


def keys(
    private: Annotated[
        Path, typer.Argument(metavar="FILE", help="File for the private key; FILE.pub becomes the public one.")
    ],
) -> None:
    """Make a pair of keys: one that signs releases and one by which readers check them."""
    public = make_keys(private)
    line(f"Written: {private} (private: keep it secret, only its owner can read it)")
    line(f"Written: {public} (public: give it to the readers of your releases)")


def sign(
    release: inputs.ReleaseArgument,
    key: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help=f"Private key. Default: the PEM text in {KEY_VARIABLE}.", show_default=False),
    ] = None,
) -> None:
    """Sign a release, so that readers can tell that it is whole and yours.

    The signature covers release.json, which holds the certificate and the checksum of every file. The release is read
    and checked first.
    """
    _read_all(pr.load_release(release, whole=True))
    line(f"Signed {release} with the key {pr.sign_release(release, key)}.")


def verify(
    release: inputs.ReleaseArgument,
    trusted: Annotated[
        Path, typer.Option("--trusted", metavar="PATH", help="Public key (.pub) that you trust.", show_default=False)
    ],
) -> None:
    """Check that a release is whole and signed by a key that you trust.

    Every file is read and checked as the service would; other files in the folder are refused.
    """
    found = pr.load_release(release, trusted=trusted)
    _read_all(found)
    private = "private" if found.certificate.private else "NOT PRIVATE"
    line(f"{release} is whole and signed with the trusted key {signed_by(release)} ({private}).")


def _read_all(release: pr.Release) -> None:
    """Read every period, so that what is wrong with one is found."""
    for _ in release.each():
        pass
