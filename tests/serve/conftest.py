"""Releases, running servers and a browser."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import httpx
import numpy as np
import pytest
import uvicorn
from playwright.sync_api import Browser, sync_playwright
from tests.release.certificates import with_guarantee

import privroute as pr
from privroute.serve.app import create_app
from privroute.serve.run import settings

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def moved(policy: pr.RoutingPolicy, network: pr.Network) -> pr.RoutingPolicy:
    """The same routes on a network with the same links."""
    return pr.RoutingPolicy.by_origin(network, policy.pairs, **policy.bushes.arrays())


@contextmanager
def serving(release: pr.Release) -> Iterator[str]:
    """The address of a server of this release, in a thread of this process."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    server = uvicorn.Server(settings(create_app(release)))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


@pytest.fixture(scope="session")
def release() -> pr.Release:
    """Sioux Falls with a private policy and a released demand."""
    scenario = pr.sioux_falls()
    history = pr.simulate_days(scenario.demand, days=4, period_min=60, seed=7)
    return pr.learn(scenario.network, history, pr.Guarantee(epsilon=0.1, delta=1e-6))


@pytest.fixture(scope="session")
def weak(release: pr.Release) -> pr.Release:
    """The same policy with a certificate whose delta is too large to be called private."""
    return replace(release, certificate=with_guarantee(release.certificate, {"delta": 0.1}))


@pytest.fixture(scope="session")
def bare(release: pr.Release) -> pr.Release:
    """Routes alone, not private, of a network with hostile labels, without coordinates, with lengths."""
    old = release.network
    odd = [
        "=HYPERLINK(1)",
        "a/b",
        "</script><b>",
        "ü;ß",
        "+1",
        "-x",
        "@y",
        '"quoted"',
        "a,b",
        "%2e%2e",
        "Ω & Co",
        "x" * 60,
    ]
    labels: list[int | str] = [*odd, *range(13, 23), 2**53 + 1, 10**18 - 1]
    network = pr.Network(
        old.tail,
        old.head,
        old.latency,
        labels,
        length_km=np.linspace(0.5, 5.0, old.links),
        link_labels=[*(f"={position}" for position in range(old.links - 1)), 10**18 - 7],
    )
    history = pr.simulate_days(pr.sioux_falls().demand, days=2, period_min=60, seed=7)
    return pr.Release(moved(release.policy, network), pr.learn(old, history, mechanism="none").certificate)


@pytest.fixture(scope="session")
def address(release: pr.Release) -> Iterator[str]:
    with serving(release) as found:
        yield found


@pytest.fixture(scope="session")
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address) as found:
        yield found


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[[pr.Release], str]]:
    """Start further servers, which stop with the session."""
    with ExitStack() as stack:
        yield lambda release: stack.enter_context(serving(release))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = os.environ.get("PRIVROUTE_CHROMIUM") or shutil.which("chromium")
    if path is None:
        if os.environ.get("CI") == "true":
            pytest.fail("there is no chromium, and CI=true requires the tests of the page")
        pytest.skip("page: no Chromium; install it, or set PRIVROUTE_CHROMIUM to one")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield found
        found.close()
