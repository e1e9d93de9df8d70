"""A study: everything that is public and chosen before any trip is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from privroute.errors import DemandError, GuaranteeError
from privroute.network.checks import check_type
from privroute.network.network import Network
from privroute.study.frame import Frame
from privroute.study.guarantee import Guarantee, check_unit
from privroute.study.mechanisms import Counts, Mechanism, as_mechanism, public_options

if TYPE_CHECKING:
    from privroute.network.pairs import Pairs
    from privroute.study.calendar import Calendar
    from privroute.study.contribution import Contribution
    from privroute.study.guarantee import Unit

__all__ = ["Study"]


@dataclass(frozen=True, slots=True)
class Study:
    """Network, pairs, calendar, bounds, guarantee and mechanism: what a release will be about.

    network : public; source : where it came from, in words
    frame : what is public of the data: pairs, calendar, expansion, bounds on users
    guarantee : None only for the mechanism "none", which is not private
    mechanism : a name, or an object with options such as privroute.Counts(...)

    It is checked here, once: that paths join all pairs, and that guarantee, bounds and mechanism fit each other.
    Histories and ledgers hold its frame, certificates and plans the study itself.
    """

    network: Network
    frame: Frame
    guarantee: Guarantee | None = None
    mechanism: Mechanism = field(default_factory=Counts)
    source: str | None = None

    def __post_init__(self) -> None:
        check_type(self.network, Network, "network", DemandError)
        check_type(self.frame, Frame, "frame", DemandError)
        object.__setattr__(self, "mechanism", as_mechanism(self.mechanism))
        self.frame.pairs.reachable(self.network)
        chosen = self.mechanism
        if self.guarantee is not None:
            check_type(self.guarantee, Guarantee, "guarantee", GuaranteeError)
            check_unit(self.guarantee, self.frame.contribution)
        elif chosen.name != "none":
            raise GuaranteeError(f"the mechanism {chosen.name!r} needs a guarantee: Guarantee(epsilon=0.1, delta=1e-6)")

    @property
    def pairs(self) -> Pairs:
        """For which a policy gives paths."""
        return self.frame.pairs

    @property
    def calendar(self) -> Calendar:
        """Days, hours and time zone."""
        return self.frame.calendar

    @property
    def unit(self) -> Unit:
        """What is protected: a request, a user, or a user's day."""
        if self.guarantee is not None:
            return self.guarantee.unit
        return "request" if self.frame.contribution is None else self.frame.contribution.unit

    @property
    def promised(self) -> Guarantee:
        """The guarantee of a private mechanism."""
        if self.guarantee is None:
            raise GuaranteeError(f"the mechanism {self.mechanism.name!r} has no guarantee")
        return self.guarantee

    def as_dict(self) -> dict[str, Any]:
        """Plain values, grouped as in a study file; the network by where it came from and its size."""
        kept = self.frame.contribution
        return {
            "network": {"source": self.source, "nodes": self.network.nodes, "links": self.network.links},
            "pairs": len(self.pairs),
            "calendar": self.calendar.as_dict(),
            "unit": self.unit,
            "bounds": None if kept is None else bounds_as_dict(kept),
            "expansion": self.frame.expansion,
            "guarantee": None
            if self.guarantee is None
            else {"epsilon": self.guarantee.epsilon, "delta": self.guarantee.delta},
            "mechanism": {"name": self.mechanism.name, "options": public_options(self.mechanism)},
        }


def bounds_as_dict(kept: Contribution) -> dict[str, Any]:
    """Plain values of the bounds on users."""
    return {"max_requests": kept.max_requests, "max_per_pair": kept.max_per_pair, "pre_bounded": kept.once}
