"""Shared by tests of engines: a Spark session."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from engines import spark_session


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A Spark session; under CI=true it must be there. Its tests share the xdist group postgresql."""
    if os.environ.get("CI") != "true":
        pytest.importorskip("pyspark", reason="Spark: no pyspark; CI=true installs it")
        if shutil.which("java") is None:
            pytest.skip("Spark: no Java; install it")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Spark about other packages
        with spark_session() as session:
            session.conf.set("spark.sql.shuffle.partitions", "1")
            session.conf.set("spark.sql.codegen.wholeStage", "false")  # tables are small
            yield session
