"""Algorithm 1 in shards: the same flows, bit for bit, wherever they are computed and whatever dies on the way."""

from __future__ import annotations

import importlib
import logging
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import privroute as pr
from privroute.errors import InputError
from privroute.mechanism import sgd as sgd_module
from privroute.mechanism import shards as shards_module
from privroute.mechanism.learn import Announcement
from privroute.mechanism.public_routes import public_routes
from privroute.mechanism.shard import ShardData
from privroute.mechanism.shards import LocalWorker, ShardLostError, Shards, sharded
from privroute.study.guarantee import Guarantee

SCENARIO = pr.sioux_falls()
HISTORY = pr.simulate_days(SCENARIO.demand, days=3, period_min=60, seed=1)
OPTIONS = pr.Sgd(public_demand=SCENARIO.demand, alpha=1.0, steps_per_day=2)
STUDY = pr.Study(SCENARIO.network, HISTORY.frame, Guarantee(1.0, 1e-6), OPTIONS)


def last() -> NDArray[np.float64]:
    return sgd_module.last_iterate(STUDY, HISTORY)


@pytest.fixture(scope="module")
def alone() -> NDArray[np.float64]:
    return last()


class Mortal(LocalWorker):
    """A worker that dies at a given call, once."""

    dies_at: int | None = None
    calls = 0

    def answer(self) -> Any:
        Mortal.calls += 1
        if Mortal.calls == Mortal.dies_at:
            raise ShardLostError
        return super().answer()


@pytest.mark.parametrize("count", [1, 2, 3, 7, 600])
def test_flows_do_not_depend_on_the_number_of_shards(
    count: int, alone: NDArray[np.float64], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards_module, "_Process", LocalWorker)
    with sharded(count):
        assert np.array_equal(last(), alone)


@pytest.mark.parametrize("dies_at", [1, 2, 5, 9, 16, 19, 20, 21])
def test_a_worker_that_dies_is_replaced_and_nothing_changes(
    dies_at: int, alone: NDArray[np.float64], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three shards, a start, six steps and the gathering of flows: at any of them."""
    monkeypatch.setattr(shards_module, "_Process", Mortal)
    monkeypatch.setattr(Mortal, "dies_at", dies_at)
    monkeypatch.setattr(Mortal, "calls", 0)
    with sharded(3):
        assert np.array_equal(last(), alone)
    assert Mortal.calls > 24, "nobody died"


def test_processes_do_the_same_and_one_may_be_killed(
    alone: NDArray[np.float64], monkeypatch: pytest.MonkeyPatch
) -> None:
    right, killed = Shards.advance, []

    def killing(self: Shards, move: Any) -> Any:
        if len(self._moves) == 2:
            worker: Any = self._workers[1]
            worker.process.kill()
            worker.process.join()
            killed.append(worker.process.pid)
        return right(self, move)

    monkeypatch.setattr(Shards, "advance", killing)
    with sharded(2):
        assert np.array_equal(last(), alone)
    assert len(killed) == 1


def test_noise_is_drawn_once_and_not_by_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shard that is made anew repeats steps, never a draw."""
    drawn = []

    class Counting:
        def add_integers(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
            del scale
            drawn.append(values.size)
            return values

    monkeypatch.setattr(shards_module, "_Process", Mortal)
    monkeypatch.setattr(Mortal, "dies_at", 8)
    monkeypatch.setattr(Mortal, "calls", 0)
    with sharded(3):
        noisy = Announcement(STUDY, Counting()).draw(HISTORY).noisy
    assert sum(drawn) == noisy.size


def test_what_a_shard_is_given_is_never_shown() -> None:
    routes = public_routes(STUDY)
    rates = np.full((1, len(routes.sets)), 0.123456)
    data = ShardData(routes.sets, routes.metric, rates, np.zeros(routes.sets.entries), 1.0, 1e-9)
    assert "0.123" not in repr(data)
    assert "array" not in repr(data)
    assert pickle.loads(pickle.dumps(data)).rates[0, 0] == 0.123456  # noqa: S301 - our own


@pytest.mark.parametrize("count", [0, -1, True, 1.5])
def test_a_number_of_shards_that_is_none_is_refused(count: Any) -> None:
    with pytest.raises(InputError, match="number of shards"), sharded(count):
        pass


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two Dask workers in processes of their own."""
    distributed = pytest.importorskip("distributed", reason="Dask: not installed; the extra dask has it")
    dask = importlib.import_module("dask")
    patience = dask.config.set({"distributed.comm.timeouts.connect": "8s"})  # for a dead worker
    with (
        patience,
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as made,
    ):
        yield made


class TestDask:
    def test_it_gives_the_same_flows_and_survives_a_worker(
        self, cluster: Any, alone: NDArray[np.float64], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with sharded(2, cluster=cluster.scheduler_address):
            assert np.array_equal(last(), alone)
        right, killed = Shards.advance, list[str]()

        def killing(self: Shards, move: Any) -> Any:
            if len(self._moves) == 3 and not killed:
                address = self._workers[0]._address  # type: ignore[attr-defined]
                killed.append(address)
                for nanny in list(cluster.workers.values()):
                    if nanny.worker_address == address:
                        nanny.process.process.kill()
            return right(self, move)

        monkeypatch.setattr(Shards, "advance", killing)
        with sharded(2, cluster=cluster.scheduler_address):
            assert np.array_equal(last(), alone)
        assert killed

    def test_keys_on_the_scheduler_do_not_depend_on_the_data(self, cluster: Any) -> None:
        """A key made of a hash would be a checksum of the trips."""
        seen: list[set[str]] = []
        for _ in range(2):
            with sharded(2, cluster=cluster.scheduler_address):
                before = set(map(str, cluster.scheduler.tasks))
                last()
                seen.append(set(map(str, cluster.scheduler.tasks)) - before)
        assert not seen[0] & seen[1]
        assert all("array" not in key and len(key) < 100 for keys in seen for key in keys)

    @pytest.mark.parametrize("direct", [None, False, True])
    def test_a_clients_private_numbers_never_pass_the_scheduler(
        self, cluster: Any, alone: NDArray[np.float64], direct: bool | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The scheduler's proxy, through which a client talks to workers unless told otherwise, is not used."""
        distributed = pytest.importorskip("distributed", reason="Dask: not installed; the extra dask has it")
        passed = list[str]()
        right = cluster.scheduler.handlers["proxy"]

        async def proxy(*arguments: Any, **named: Any) -> Any:
            passed.append(str(named.get("msg")))
            return await right(*arguments, **named)

        monkeypatch.setitem(cluster.scheduler.handlers, "proxy", proxy)
        with (
            distributed.Client(cluster, direct_to_workers=direct, set_as_default=False) as client,
            sharded(2, cluster=client),
        ):
            assert np.array_equal(last(), alone)
            assert client.status == "running"
        assert passed == []

    def test_other_things_than_clusters_are_refused(self) -> None:
        pytest.importorskip("distributed", reason="Dask: not installed; the extra dask has it")
        with pytest.raises(InputError, match="cluster is a int"), sharded(2, cluster=3):
            pass
