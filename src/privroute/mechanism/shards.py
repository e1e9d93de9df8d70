"""Where the shards of Algorithm 1 work: in this process, in processes of this machine, or on a Dask cluster.

    with sharded(2):                      # two processes
        release = privroute.learn(...)
    with sharded(8, cluster="tcp://scheduler:8786"):
        release = privroute.learn(...)

One step is one message to each shard, the prices of the links, and one back, its part of their load: vectors of one
number for each link, whatever the number of pairs. A shard whose worker dies is made anew elsewhere and repeats its own
steps, which are deterministic. Shards draw no noise: the last iterate is gathered and perturbed once, by `learn`.
Results do not depend on where shards work or how many there are. docs/proofs/sgd.md, Shards.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from privroute.errors import InputError, MissingExtraError
from privroute.mechanism.shard import Move, Shard, ShardData

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["LocalWorker", "ShardLostError", "Shards", "Worker", "sharded", "shards_for"]


_ATTEMPTS = 5  # of making a shard anew


class ShardLostError(Exception):
    """The worker of a shard is gone, with what it held."""


class Worker(Protocol):
    """Where one shard works. Calls are sent first and answered later, so that shards work at the same time."""

    def send(self, name: str, *arguments: Any) -> None:
        """Ask for a method of the shard: `replay`, `advance`, or its `flows`."""
        ...

    def answer(self) -> Any:
        """Return the answer of the last call; ShardLostError if the worker is gone."""
        ...

    def close(self) -> None:
        """Give the shard up."""
        ...


class Shards:
    """All pairs, split among workers.

    make : makes a worker for a shard; called again, with the same data, if one is lost
    """

    def __init__(self, parts: Sequence[ShardData], make: Callable[[int, ShardData], Worker]) -> None:
        self._parts, self._make = parts, make
        self._moves: list[Move] = []
        self._workers = [make(number, part) for number, part in enumerate(parts)]

    def start(self, day: int) -> NDArray[np.int64]:
        """Return the load of all pairs on the first day."""
        return self._load("replay", (), day)

    def advance(self, move: Move) -> NDArray[np.int64]:
        """Make a step; return the load of the next day."""
        self._moves.append(move)
        return self._load("advance", move)

    def flows(self) -> NDArray[np.float64]:
        """(entries,) flows of all pairs, in their order."""
        return np.concatenate(self._ask("flows")) if self._parts else np.zeros(0)

    def close(self) -> None:
        """End the workers."""
        for worker in self._workers:
            worker.close()

    def _load(self, name: str, *arguments: Any) -> NDArray[np.int64]:
        return np.asarray(sum(self._ask(name, *arguments)), dtype=np.int64)

    def _ask(self, name: str, *arguments: Any) -> list[Any]:
        lost = set()
        for number, worker in enumerate(self._workers):
            try:
                worker.send(name, *arguments)
            except ShardLostError:
                lost.add(number)
        answers: list[Any] = [None] * len(self._workers)
        for number, worker in enumerate(self._workers):
            if number not in lost:
                try:
                    answers[number] = worker.answer()
                except ShardLostError:
                    lost.add(number)
        for number in sorted(lost):
            answers[number] = self._again(number, name)
        return answers

    def _again(self, number: int, name: str) -> Any:
        """The answer of a shard that is made anew: from the public start, all steps so far."""
        last = self._moves[-1].next_day if self._moves else 0
        for _ in range(_ATTEMPTS):
            with contextlib.suppress(ShardLostError):
                self._workers[number].close()
            try:
                worker = self._workers[number] = self._make(number, self._parts[number])
                worker.send("replay", tuple(self._moves), 0 if last is None else last)
                load = worker.answer()
                if name != "flows":
                    return load
                worker.send("flows")
                return worker.answer()
            except ShardLostError:
                continue
        raise InputError(f"shard {number:,} was lost {_ATTEMPTS} times in a row; look at the workers of the cluster")


class LocalWorker:
    """Workers in this process: one after the other, for a single shard and for tests."""

    def __init__(self, number: int, data: ShardData) -> None:
        del number
        self._shard = Shard(data)
        self._call: tuple[str, tuple[Any, ...]] = ("", ())

    def send(self, name: str, *arguments: Any) -> None:
        """Remember the call."""
        self._call = name, arguments

    def answer(self) -> Any:
        """Make the call."""
        return answer(self._shard, *self._call)

    def close(self) -> None:
        """Nothing to end."""


def answer(shard: Shard, name: str, arguments: tuple[Any, ...]) -> Any:
    """What a shard answers to a call."""
    return shard.flows if name == "flows" else getattr(shard, name)(*arguments)


class _Process:
    """A shard in a process of its own."""

    def __init__(self, number: int, data: ShardData) -> None:
        del number
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self._pipe.send(data)

    def send(self, name: str, *arguments: Any) -> None:
        try:
            self._pipe.send((name, arguments))
        except (BrokenPipeError, ConnectionError):
            raise ShardLostError from None

    def answer(self) -> Any:
        try:
            return self._pipe.recv()
        except (EOFError, ConnectionError):
            raise ShardLostError from None

    def close(self) -> None:
        self._pipe.close()
        self.process.terminate()
        self.process.join()


def _serve(pipe: Any) -> None:
    """Work for one shard until the pipe is closed. Nothing that goes wrong is shown: its text may hold private data."""
    try:
        shard = Shard(pipe.recv())
        while True:
            pipe.send(answer(shard, *pipe.recv()))
    except BaseException:  # noqa: BLE001 - the other end sees a closed pipe
        pipe.close()


_CHOSEN: ContextVar[tuple[int, Callable[[int, ShardData], Worker]] | None] = ContextVar("shards", default=None)


@contextlib.contextmanager
def sharded(count: int, *, cluster: Any = None) -> Iterator[None]:
    """Let `sgd` work in shards inside this block: `count` processes, or workers of a cluster.

    cluster : address of a Dask scheduler, or a `distributed.Client`; of one that does not go straight to
        workers only the address is used. Extra: dask
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise InputError(f"the number of shards is {count!r}; pass a whole number of at least 1")
    make: Callable[[int, ShardData], Worker] = _Process
    closing: Callable[[], None] = lambda: None  # noqa: E731 - nothing to close
    if cluster is not None:
        try:
            from privroute.mechanism.dask_shards import DaskWorkers  # noqa: PLC0415 - an optional package
        except ImportError:
            raise MissingExtraError("distributed", "dask", "working on a Dask cluster") from None
        workers = DaskWorkers(cluster)
        make, closing = workers.make, workers.close
    token = _CHOSEN.set((count, make))
    try:
        yield
    finally:
        _CHOSEN.reset(token)
        closing()


def shards_for(data: ShardData) -> Shards:
    """Split the pairs as `sharded` says, into runs of equally many; one shard here without it.

    A projection takes about as long for many links as for few, so pairs are what is shared out.
    """
    count, make = _CHOSEN.get() or (1, LocalWorker)
    pairs = len(data.sets)
    ends = np.linspace(0, pairs, min(count, max(pairs, 1)) + 1).astype(int).tolist()
    parts = [_part(data, first, last) for first, last in itertools.pairwise(ends) if last > first]
    return Shards(parts, make)


def _part(data: ShardData, first: int, last: int) -> ShardData:
    if (first, last) == (0, len(data.sets)):
        return data
    inside = slice(int(data.sets.start[first]), int(data.sets.start[last]))
    return ShardData(
        data.sets.part(first, last),
        data.metric.part(first, last),
        np.ascontiguousarray(data.rates[:, first:last]),
        data.start[inside].copy(),
        data.per_unit,
        data.tolerance,
        data.threads,
    )
