"""`privroute serve`: the page and the API of a release."""

import gc
from typing import Annotated

import typer

import privroute as pr
from privroute.cli import inputs
from privroute.cli.route import load
from privroute.cli.terminal import line
from privroute.errors import MissingExtraError

__all__ = ["serve", "serve_release"]


def serve(
    release: inputs.ReleaseArgument,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 accepts other machines.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 selects a free port.")] = 8000,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Serve a release: a page with its map, routes and guarantee, and a JSON API.

    The server reads only the release and has no access to trips, ledgers or mechanisms. It does not log requests.
    """
    gc.disable()  # nothing of what the start imports and reads is garbage; the server turns it on again
    serve_release(load(release), host=host, port=port, open_browser=open_browser)


def serve_release(release: pr.Release, *, host: str, port: int, open_browser: bool) -> None:
    """Serve until Ctrl-C and print the address."""
    try:
        from privroute.serve.run import run  # noqa: PLC0415 - optional packages
    except ImportError as problem:
        raise MissingExtraError(problem.name or "fastapi", "serve", "the service") from None

    def started(address: str) -> None:
        line(f"Serving the page at {address} and the API at {address}docs (press Ctrl-C to stop)")

    run(release, host=host, port=port, open_browser=open_browser, started=started)
