"""Quadratic-programming solvers from PyPI, each set up once per network and used again for every pair.

    min ½‖x − v‖²   s.t.   A x = b,  0 ≤ x ≤ upper        upper = 0 on links closed to the pair, 1 elsewhere

One row of A is left out: the rows sum to zero. `solve` returns the solution and whatever a warm start needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import daqp
import numpy as np
import osqp
import piqp
from scipy import sparse

from privroute.flows.unit_flows import closed_links

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.network.network import Network
    from privroute.network.pairs import Pairs

__all__ = ["Daqp", "Osqp", "Peer", "Piqp"]


class Peer(Protocol):
    """A solver bound to one network and its pairs."""

    def solve(self, pair: int, point: NDArray[np.float64], start: Any = None) -> tuple[NDArray[np.float64], Any]:
        """Project the point; `start` is what an earlier call for this pair returned."""


class _Problem:
    def __init__(self, network: Network, pairs: Pairs) -> None:
        links = np.arange(network.links)
        incidence = sparse.csc_matrix(
            (np.repeat([1.0, -1.0], network.links), (np.concatenate([network.head, network.tail]), np.tile(links, 2))),
            shape=(network.nodes, network.links),
        )
        self.rows = incidence[:-1].tocsc()
        self.balance = np.zeros((len(pairs), network.nodes))
        self.balance[np.arange(len(pairs)), pairs.origin] = -1.0
        self.balance[np.arange(len(pairs)), pairs.destination] = 1.0
        self.balance = np.ascontiguousarray(self.balance[:, :-1])
        self.upper = 1.0 - closed_links(network, pairs.origin)
        self.links = network.links


class Osqp:
    """OSQP: one factorization (fixed ρ), warm started from the pair's last primal and dual solution."""

    def __init__(self, network: Network, pairs: Pairs) -> None:
        self.problem = _Problem(network, pairs)
        links = network.links
        matrix = sparse.vstack([self.problem.rows, sparse.identity(links)], format="csc")
        self.low = np.concatenate([self.problem.balance, np.zeros_like(self.problem.upper)], axis=1)
        self.high = np.concatenate([self.problem.balance, self.problem.upper], axis=1)
        self.solver = osqp.OSQP()
        self.solver.setup(
            P=sparse.identity(links, format="csc"),
            q=np.zeros(links),
            A=matrix,
            l=self.low[0],
            u=self.high[0],
            eps_abs=1e-10,
            eps_rel=1e-10,
            max_iter=200_000,
            check_termination=10,
            adaptive_rho=False,
            rho=1.0,
            scaling=0,
            polishing=False,
            verbose=False,
        )
        self.zero = np.zeros(links), np.zeros(matrix.shape[0])

    def solve(self, pair: int, point: NDArray[np.float64], start: Any = None) -> tuple[NDArray[np.float64], Any]:
        """Project the point."""
        self.solver.update(q=-point, l=self.low[pair], u=self.high[pair])
        x, y = self.zero if start is None else start
        self.solver.warm_start(x=x, y=y)
        result = self.solver.solve(raise_error=False)
        return result.x, (result.x, result.y)


class Daqp:
    """DAQP: dual active set on dense matrices, warm started from the pair's last primal solution."""

    def __init__(self, network: Network, pairs: Pairs) -> None:
        self.problem = _Problem(network, pairs)
        links, rows = network.links, network.nodes - 1
        self.matrix = np.ascontiguousarray(self.problem.rows.toarray())
        self.identity = np.eye(links)
        self.low = np.concatenate([np.zeros_like(self.problem.upper), self.problem.balance], axis=1)
        self.high = np.concatenate([self.problem.upper, self.problem.balance], axis=1)
        self.sense = np.concatenate([np.zeros(links, np.int32), np.full(rows, 5, np.int32)])

    def solve(self, pair: int, point: NDArray[np.float64], start: Any = None) -> tuple[NDArray[np.float64], Any]:
        """Project the point."""
        x, _, _, _ = daqp.solve(
            self.identity,
            -point,
            self.matrix,
            self.high[pair],
            self.low[pair],
            self.sense.copy(),
            primal_tol=1e-10,
            primal_start=start,
        )
        return x, x


class Piqp:
    """PIQP: interior point on sparse matrices, one symbolic factorization; such methods gain nothing from a start."""

    def __init__(self, network: Network, pairs: Pairs) -> None:
        self.problem = _Problem(network, pairs)
        links = network.links
        self.solver = piqp.SparseSolver()
        self.solver.settings.eps_abs = 1e-13
        self.solver.settings.eps_rel = 1e-13
        self.solver.settings.check_duality_gap = True
        self.solver.settings.eps_duality_gap_abs = 1e-14
        self.solver.settings.eps_duality_gap_rel = 1e-14
        self.solver.settings.preconditioner_iter = 0
        self.solver.settings.kkt_solver = piqp.KKTSolver.sparse_ldlt
        self.zero = np.zeros(links)
        self.solver.setup(
            sparse.identity(links, format="csc"),
            np.zeros(links),
            self.problem.rows,
            self.problem.balance[0],
            None,
            None,
            None,
            self.zero,
            np.ones(links),
        )

    def solve(self, pair: int, point: NDArray[np.float64], start: Any = None) -> tuple[NDArray[np.float64], Any]:
        """Project the point."""
        del start
        upper = self.problem.upper[pair]
        self.solver.update(c=-point, b=self.problem.balance[pair], x_l=self.zero, x_u=upper)
        self.solver.solve()
        return np.array(self.solver.result.x), None
