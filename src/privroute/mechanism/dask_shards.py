"""Shards on a Dask cluster, one actor each.

What is private goes straight to the worker that needs it: data are scattered without the scheduler, calls are made on
actors. The scheduler sees keys, which are random, and never a hash of data; no text of a failure leaves a worker.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from distributed import Client

from privroute.errors import InputError
from privroute.mechanism.shard import Shard
from privroute.mechanism.shards import ShardLostError, answer

if TYPE_CHECKING:
    from privroute.mechanism.shard import ShardData

__all__ = ["DaskWorkers"]

_PATIENCE = "60s"


class ShardActor:
    """PRIVATE. A shard on a worker."""

    def __init__(self, data: ShardData) -> None:
        self._shard = Shard(data)

    def call(self, name: str, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
        """Return whether it worked, and the answer; the text of an error stays here, it may hold private data."""
        try:
            return True, answer(self._shard, name, arguments)
        except Exception:  # noqa: BLE001
            return False, None


class DaskWorkers:
    """Workers of a cluster, used in turn."""

    def __init__(self, cluster: Any) -> None:
        if not isinstance(cluster, str | Client):
            raise InputError(f"cluster is a {type(cluster).__name__}; pass the address of a scheduler or a Client")
        # a client that does not go straight to workers would send what is private through the scheduler
        self._owned = isinstance(cluster, str) or cluster.direct_to_workers is not True
        self.client: Any = _connected(cluster) if self._owned else cluster

    def make(self, number: int, data: ShardData) -> _DaskWorker:
        """Put a shard on a worker that is alive."""
        alive = sorted(self.client.scheduler_info(n_workers=-1)["workers"])
        if not alive:
            raise InputError("the cluster has no workers; start some, or wait until they have joined")
        return _DaskWorker(self.client, alive[number % len(alive)], data)

    def close(self) -> None:
        """Leave the cluster, if it was joined here."""
        if self._owned:
            self.client.close()


def _connected(cluster: Any) -> Any:
    """Join a cluster, by address or that of another client, to go straight to its workers."""
    connect: Any = Client
    address, security = (cluster, None) if isinstance(cluster, str) else (cluster.scheduler.address, cluster.security)
    return connect(address, security=security, direct_to_workers=True, set_as_default=False, timeout=_PATIENCE)


class _DaskWorker:
    def __init__(self, client: Any, address: str, data: ShardData) -> None:
        self._client, self._address = client, address
        self._call: Any = None
        try:
            held = client.scatter(data, workers=[address], direct=True, hash=False)
            self._future = client.submit(
                ShardActor,
                held,
                actor=True,
                workers=[address],
                allow_other_workers=False,
                key=f"privroute-shard-{uuid.uuid4().hex}",
                pure=False,
                retries=0,
            )
            with client.as_current():  # an actor's calls go through the client that is current when it is made
                self._actor = self._future.result()
            del held
        except Exception:  # noqa: BLE001 - whatever happened, the shard is not there
            raise ShardLostError from None

    def send(self, name: str, *arguments: Any) -> None:
        try:
            self._call = self._actor.call(name, arguments)
        except Exception:  # noqa: BLE001
            raise ShardLostError from None

    def answer(self) -> Any:
        while True:
            try:
                worked, value = self._call.result(timeout=1.0)
            except TimeoutError:
                if self._address in self._client.scheduler_info(n_workers=-1)["workers"]:
                    continue
                raise ShardLostError from None
            except Exception:  # noqa: BLE001
                raise ShardLostError from None
            if not worked:
                raise ShardLostError
            return value

    def close(self) -> None:
        self._actor = self._future = self._call = None
