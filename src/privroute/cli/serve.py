"""`privroute serve`: the page and the API of a release."""

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import privroute as pr
from privroute.cli import inputs
from privroute.cli.route import load
from privroute.cli.terminal import line
from privroute.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from privroute.serve.options import ServeOptions

__all__ = ["serve", "serve_release"]

_SHORTEST_KEY = 32


def serve(
    release: inputs.ReleaseArgument,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 accepts other machines.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 selects a free port.")] = 8000,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    basemap: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Draw a public map below the network, like https://tiles.example.org/{z}/{x}/{y}.png. Visitors' "
            "browsers then send requests to that server. Default: none.",
            show_default=False,
        ),
    ] = None,
    basemap_credit: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Whom the basemap is by, shown on it.", show_default=False)
    ] = None,
    vehicle_key: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="File with a secret of at least 32 bytes, so that vehicles keep their routes of a day across "
            "restarts and servers. Default: a new one for each start.",
            show_default=False,
        ),
    ] = None,
    trusted: inputs.TrustedOption = None,
) -> None:
    """Serve a release: a page with its map, routes and guarantee, and a JSON API.

    The server reads only the release and has no access to trips, ledgers or mechanisms. It does not log requests.
    """
    gc.disable()  # nothing of what the start imports and reads is garbage; the server turns it on again
    options = _options(basemap, basemap_credit, vehicle_key)
    serve_release(load(release, trusted, whole=True), host=host, port=port, open_browser=open_browser, options=options)


def _options(basemap: str | None, credit: str | None, key: Path | None) -> "ServeOptions":
    from privroute.network.text_files import read_bytes  # noqa: PLC0415 - loaded when needed
    from privroute.serve.options import Basemap, ServeOptions  # noqa: PLC0415

    if (basemap is None) != (credit is None):
        raise InputError("--basemap and --basemap-credit belong together; pass both, or neither")
    shown = None if basemap is None or credit is None else Basemap(basemap, credit)
    if key is None:
        return ServeOptions(shown)
    secret = read_bytes(key, largest=2**16)
    if len(secret) < _SHORTEST_KEY:
        raise InputError(f"{key} has {len(secret)} bytes; a key needs at least {_SHORTEST_KEY} random ones")
    return ServeOptions(shown, secret)


def serve_release(
    release: pr.Release, *, host: str, port: int, open_browser: bool, options: "ServeOptions | None" = None
) -> None:
    """Serve until Ctrl-C and print the address."""
    try:
        from privroute.serve.run import run  # noqa: PLC0415 - optional packages
    except ImportError as problem:
        raise MissingExtraError(problem.name or "fastapi", "serve", "the service") from None

    def started(address: str) -> None:
        line(f"Serving the page at {address} and the API at {address}docs (press Ctrl-C to stop)")

    run(release, host=host, port=port, open_browser=open_browser, started=started, options=options)
