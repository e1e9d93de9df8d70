"""Shared by all tests: where the public test networks are, and how hard hypothesis searches."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from servers import PostgreSQL, postgresql_programs

pytest_plugins = ["tests.run_rules"]

# before numpy is loaded: workers share the cores, and threads of BLAS that wait by spinning slow each other down
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# a shell starts what runs in the background with Ctrl-C ignored, and tests send it
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

if "PRIVROUTE_TEST_CORE" in os.environ:  # a folder with another build of the core, e.g. with sanitizers
    path = next(Path(os.environ["PRIVROUTE_TEST_CORE"]).glob("_core*"))
    spec = importlib.util.spec_from_file_location("privroute._core", path)
    assert spec
    assert spec.loader
    sys.modules["privroute._core"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["privroute._core"])

settings.register_profile(
    "privroute", deadline=None, derandomize=True, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("privroute")


@pytest.fixture(scope="session")
def tntp() -> Path:
    """Folder of public TNTP files: PRIVROUTE_TNTP, or `shared/tntp` beside the checkout."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "tntp"
    folder = Path(os.environ.get("PRIVROUTE_TNTP", beside))
    if not folder.is_dir():
        pytest.skip("TNTP: no networks beside the checkout; set PRIVROUTE_TNTP to their folder")
    return folder


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSQL]:
    """A PostgreSQL server of this process; required under CI=true. Its tests share the xdist group postgresql."""
    if postgresql_programs() is None:
        if os.environ.get("CI") == "true":
            pytest.fail("there is no PostgreSQL server, and CI=true requires the tests with one")
        pytest.skip("PostgreSQL: no server; install postgresql")
    with PostgreSQL() as server:
        yield server
