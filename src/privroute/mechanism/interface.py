"""What every private mechanism is: a module of its own name, in which only one kind of function sees a history.

    promise(study)                          sensitivity as proved and the noise for it, from public data alone; refuses
                                            what the proof excludes
    converse(study, promise, progress)      a generator, public: it yields a `Question`, receives the noisy answer,
                                            may ask again, and returns what is published

Most mechanisms ask once. Their modules have two plain functions instead of `converse`, and `Single` makes it of them:

    query(study, history, progress)         PRIVATE: what is perturbed, integers on the promise's grid, (entries,)
    publish(study, promise, noisy, progress)   a policy from the noisy integers and public data: post-processing

None of them draws noise: `learn` does, in one place, after the charge. The generator never holds a history, so a
question depends on public data and on earlier noisy answers only (docs/proofs/questions.md). The options of a
mechanism are a class of privroute.study.mechanisms; its proof is docs/proofs/ and its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

from privroute.errors import GuaranteeError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    import numpy as np
    from numpy.typing import NDArray

    from privroute.history.demand_history import DemandHistory
    from privroute.mechanism.promise import Promise
    from privroute.network.demand import Demand
    from privroute.policy.routing_policy import RoutingPolicy
    from privroute.progress import Progress
    from privroute.study.study import Study

__all__ = ["AskedOnce", "Implementation", "NoisySums", "Published", "Question", "Single"]


@dataclass(frozen=True, slots=True, eq=False)
class NoisySums:
    """The noisy sums of days from which a demand was made.

    noisy : (pairs,) Σ_days weight · noisy count; scale : of the noise in each
    weights : (days,) public, at most 1
    """

    noisy: NDArray[np.float64]
    scale: float
    weights: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """What post-processing made of the noisy integers.

    demand, noisy_counts : only where the mechanism releases a demand
    sums : what the demand was made of, where that is noisy sums of days
    factor : by which its rates were multiplied, so that their total is a public or measured one; None where
        none is known
    requests_error : deviation of the noise in the number of requests that the demand was made of
    """

    policy: RoutingPolicy
    demand: Demand | None = None
    noisy_counts: NDArray[np.int64] | None = None
    sums: NoisySums | None = None
    factor: float | None = None
    requests_error: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What is asked of a history in one draw, fixed by public data and earlier noisy answers.

    sensitivity : largest ℓ2 distance of `ask` between neighbours, in the units of the promise; at most what the
        promise says of this question
    ask : PRIVATE: history, progress -> integers on the grid, (entries,). Its progress is k of a public K
    grid : what one integer stands for in the units of the promise; None: the promise's own
    moved : largest ℓ2 distance of the integers themselves; required with a grid of its own, so that the two can be
        compared. None: sensitivity over the promise's grid
    in_place_of : how many of the promise's next questions it takes up. docs/proofs/questions.md, Lemma 2
    """

    sensitivity: float
    ask: Callable[[DemandHistory, Progress | None], NDArray[np.int64]]
    grid: float | None = None
    moved: float | None = None
    in_place_of: int = 1

    def __post_init__(self) -> None:
        if self.in_place_of < 1:
            raise GuaranteeError("a question takes up at least one of those that were promised")
        if (self.grid is None) != (self.moved is None):
            raise GuaranteeError("a question with a grid of its own says how far its integers move, and no other does")


class Implementation(Protocol):
    """A mechanism as `learn` sees it."""

    def promise(self, study: Study) -> Promise:
        """What the release will promise."""
        ...

    def converse(
        self, study: Study, promise: Promise, progress: Progress | None
    ) -> Generator[Question, NDArray[np.int64], Published]:
        """Ask, and publish what the noisy answers give."""
        ...


class AskedOnce(Protocol):
    """The module of a mechanism with one question."""

    def promise(self, study: Study) -> Promise:
        """What the release will promise."""
        ...

    def query(self, study: Study, history: DemandHistory, progress: Progress | None) -> NDArray[np.int64]:
        """PRIVATE. What is perturbed. Its progress is k of K with a public K."""
        ...

    def publish(self, study: Study, promise: Promise, noisy: NDArray[np.int64], progress: Progress | None) -> Published:
        """What is released."""
        ...


@dataclass(frozen=True, slots=True)
class Single:
    """A mechanism with one question, made of its module."""

    module: AskedOnce

    def promise(self, study: Study) -> Promise:
        """What the release will promise."""
        return self.module.promise(study)

    def converse(
        self, study: Study, promise: Promise, progress: Progress | None
    ) -> Generator[Question, NDArray[np.int64], Published]:
        """Ask once and publish the answer."""
        noisy = yield Question(promise.questions[0], partial(self.module.query, study))
        return self.module.publish(study, promise, noisy, progress)
