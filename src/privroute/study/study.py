"""A study: everything that is public and chosen before any trip is read."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privroute.errors import DemandError, FormatError, GuaranteeError, InputError, arg, named
from privroute.network.checks import check_type, show
from privroute.network.display_units import Units
from privroute.network.network import Network
from privroute.network.text_files import as_path, write_whole
from privroute.study.expected_trips import check_expected
from privroute.study.frame import Frame
from privroute.study.guarantee import Guarantee, check_unit
from privroute.study.keys import PATH
from privroute.study.measured_shares import LARGEST_SHARE, QUALITY_SHARE, TOTAL_SHARE
from privroute.study.mechanisms import Mechanism, Unprotected, as_mechanism, default_mechanism, public_options
from privroute.study.period_shares import period_shares
from privroute.study.schema import KEYS
from privroute.study.settings import Settings, spelt_as_key
from privroute.study.source import BUILT_IN, Source
from privroute.study.toml_text import as_toml
from privroute.study.trip_format import TripFormat

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privroute.network.pairs import Pairs
    from privroute.study.calendar import Calendar
    from privroute.study.contribution import Contribution
    from privroute.study.guarantee import Unit

__all__ = ["Study"]


_ZONE_KEYS = {"source": "zones", "id": "zone_id", "grid_km": "grid_km", "connectors": "connectors"}  # key -> Source

_SMALLEST_SHARE = 1e-4


@dataclass(frozen=True, slots=True)
class Study:
    """All public settings of a release: network, pairs, calendar, bounds, guarantee and mechanism.

    network : public; source : the files it is read from, for `save`; None for a network made in memory
    frame : what is public of the data: pairs, calendar, expansion, bounds on users
    guarantee : None only for the mechanism "none", which is not private
    mechanism : a name, or an object with options such as privroute.Counts(...). Default: by a public rule on the number
        of pairs and the bounds on users, `default_mechanism`
    trips : columns and formats of the trip files
    quality_share : of rho, spent on measuring how useful the release is; 0 measures nothing
    total_share : of rho, spent on measuring the total where bounds on users have max_for_total
    expect_trips : public; `learn` stops before the charge if fewer trips were counted, which reveals that they are
        fewer (docs/limits.md)
    period_weights : public, by period or kind of day: how the budget is divided where the bounds on users hold in each
        period. Default: equal parts

    Validated once, on construction: paths connect all pairs, and guarantee, bounds and mechanism are consistent.
    Histories and ledgers contain its frame, certificates and plans the study itself.
    """

    network: Network
    frame: Frame
    guarantee: Guarantee | None = None
    mechanism: Mechanism = None  # type: ignore[assignment]  # set below
    source: Source | None = None
    trips: TripFormat = field(default_factory=TripFormat)
    quality_share: float = QUALITY_SHARE
    total_share: float = TOTAL_SHARE
    expect_trips: int | None = None
    period_weights: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_type(self.network, Network, "network", DemandError)
        if self.expect_trips is not None:
            check_expected(self.expect_trips)
        check_type(self.frame, Frame, "frame", DemandError)
        chosen = (
            default_mechanism(len(self.pairs), self.frame.contribution) if self.mechanism is None else self.mechanism
        )
        object.__setattr__(self, "mechanism", as_mechanism(chosen))
        self.frame.pairs.reachable(self.network)
        chosen = self.mechanism
        if chosen.on_flows and self.network.has_fixed_costs:
            raise GuaranteeError(
                f"the mechanism {chosen.name!r} is proven for travel times alone, but links of this network cost "
                "something beside time; choose counts, daily or layered, or a network without fixed costs"
            )
        _check_share("quality_share", self.quality_share, least=0.0)
        _check_share("total_share", self.total_share, least=_SMALLEST_SHARE)
        period_shares(self.calendar, self.frame.contribution, self.period_weights)
        if self.calendar.has_slots and chosen.on_flows:
            raise GuaranteeError(
                f"the mechanism {chosen.name!r} learns one period; choose counts, layered or daily for several, or "
                "make a study for each period"
            )
        if self.guarantee is not None:
            check_type(self.guarantee, Guarantee, "guarantee", GuaranteeError)
            check_unit(self.guarantee, self.frame.contribution)
            if chosen.name == "none":
                raise GuaranteeError(f"the mechanism 'none' adds no noise; leave {arg('guarantee')} out")
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
    def parts(self) -> tuple[Study, ...]:
        """A study for each period of each kind of day, as in `Calendar.slots`; itself where there is one."""
        if not self.calendar.has_slots:
            return (self,)
        return tuple(
            replace(self, frame=frame, mechanism=self.mechanism, expect_trips=None, period_weights={})
            for frame in self.frame.parts
        )

    @property
    def period_shares(self) -> tuple[float, ...]:
        """Of rho, for each of the parts."""
        return period_shares(self.calendar, self.frame.contribution, self.period_weights)

    @property
    def promised(self) -> Guarantee:
        """The guarantee of a private mechanism."""
        if self.guarantee is None:
            raise GuaranteeError(f"the mechanism {self.mechanism.name!r} has no guarantee")
        return self.guarantee

    @classmethod
    def load(cls, path: str | os.PathLike[str], overrides: Mapping[str, object] | None = None) -> Study:
        """Read a study file (TOML, as `privroute init` and `save` write it) and the network that it names.

        overrides : values for some keys instead, like {"guarantee.epsilon": 0.5}; their relative paths are relative to
            the working directory, those of the file to its folder
        """
        settings = Settings.read(path)
        try:
            return cls.of(settings.instead(overrides or {}))
        except InputError as problem:
            text = problem.spelt(spelt_as_key)
            if text == f"{problem}":  # it is about something else, such as the network's files
                raise
        raise FormatError(path, text)

    @classmethod
    def of(cls, settings: Settings, *, promised: bool = True) -> Study:
        """The study of these settings; what costs nothing to check is checked before the network is read.

        promised : False leaves guarantee and mechanism out: enough to count trips, not to release anything
        """
        calendar, kept, trips = settings.calendar(), settings.contribution(), settings.trip_format()
        source = settings.source()
        guarantee = settings.guarantee() if promised else None
        if promised:
            settings.check_mechanism()
        network = settings.with_units(source.read()[0])
        total = settings.get("data.total_vehicles_per_hour")
        frame = Frame(source.pairs(network), calendar, settings.get("data.expansion"), kept, total)
        mechanism = settings.chosen_mechanism(source.demand(network)) if promised else Unprotected()
        shares = settings.get("quality.share"), settings.get("unit.total_share")
        last = settings.get("data.expect_trips"), settings.get("guarantee.period_weights") or {}
        return cls(network, frame, guarantee, mechanism, source, trips, *shares, *last)  # type: ignore[arg-type]  # None: the rule chooses

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a commented study file from which `load` makes this study again.

        The network and a public demand are written as paths, relative to the file's folder: only a study that was
        loaded, or made with source=, has them.
        """
        place = as_path(path)
        if place.exists() and not overwrite:
            raise InputError(
                f"{place} already exists; choose another file, or replace it with {arg('overwrite', value=True)}"
            )
        values = {
            key: relative(value, place.parent) if KEYS[key].kind is PATH else value
            for key, value in self.settings().values.items()
        }
        with write_whole(place) as stream:
            stream.write(as_toml(values))

    def settings(self) -> Settings:
        """The values of the keys that make this study; what a study file cannot say is refused."""
        if self.source is None:
            raise InputError(f"the network was created in memory; pass {arg('source')} with the files it is read from")
        options = {item.name: getattr(self.mechanism, item.name) for item in fields(self.mechanism)}
        if options.pop("public_demand", None) is not None and self.source.public_demand is None:
            raise InputError(
                f"the public demand was made in memory; name its file: Source(..., {arg('public_demand')})"
            )
        kept, source = self.frame.contribution, self.source
        network = {item.name: getattr(source, item.name) for item in fields(source)}
        zones = {key: network.pop(name) for key, name in _ZONE_KEYS.items()}
        curves = {"types": network.pop("latency_types")}
        groups: dict[str, dict[str, Any]] = {
            "network": {"source": network.pop("network"), **network, "public_demand": None},
            "latency": curves,
            "units": {} if self.network.units == Units() else self.network.units.as_dict(),
            "zones": zones,
            "calendar": _calendar(self.calendar),
            "unit": {
                "protect": self.unit,
                **({} if kept is None else _bounds_as_keys(kept)),
                **({} if kept is None or kept.max_for_total is None else {"max_for_total": kept.max_for_total}),
                "total_share": None if self.total_share == TOTAL_SHARE else self.total_share,
            },
            "data": {
                "expansion": self.frame.expansion,
                "expect_trips": self.expect_trips,
                "total_vehicles_per_hour": self.frame.total_per_h,
            },
            "quality": {"share": None if self.quality_share == QUALITY_SHARE else self.quality_share},
            "guarantee": ({"epsilon": self.guarantee.epsilon, "delta": self.guarantee.delta} if self.guarantee else {})
            | ({"period_weights": dict(self.period_weights)} if self.period_weights else {}),
            "mechanism": {"name": self.mechanism.name, **options, "public_demand": source.public_demand},
            "trips": {item.name: getattr(self.trips, item.name) for item in fields(self.trips)}
            | {"rows_are_trips": self.trips.rows_are_trips or None},
        }
        plain = {
            f"{section}.{name}": value
            for section, group in groups.items()
            for name, value in group.items()
            if value is not None
        }
        return Settings({key: KEYS[key].read(value) for key, value in plain.items()})

    def as_dict(self) -> dict[str, Any]:
        """Plain values, grouped as in a study file; the network by where it came from and its size."""
        kept = self.frame.contribution
        return {
            "network": {
                "source": None if self.source is None else self.source.name,
                "nodes": self.network.nodes,
                "links": self.network.links,
            },
            "pairs": len(self.pairs),
            "calendar": self.calendar.as_dict(),
            "unit": self.unit,
            "bounds": None if kept is None else bounds_as_dict(kept),
            "expansion": self.frame.expansion,
            "total": _total(self),
            "quality_share": self.quality_share if self.guarantee is not None else 0.0,
            "guarantee": None
            if self.guarantee is None
            else {"epsilon": self.guarantee.epsilon, "delta": self.guarantee.delta},
            "mechanism": {"name": self.mechanism.name, "options": public_options(self.mechanism)},
            **({} if self.expect_trips is None else {"expect_trips": self.expect_trips}),
            **({"period_weights": dict(self.period_weights)} if self.period_weights else {}),
            **units_as_dict(self.network.units),
        }

    @property
    def asserted(self) -> tuple[str, ...]:
        """What the proofs assume of what was chosen beforehand, and nobody can check."""
        kept, public = (
            self.frame.contribution,
            "days, hours, pairs and all other settings were chosen without the trips",
        )
        return (
            public,
            *(
                ["the public demand was made without the trips"]
                if getattr(self.mechanism, "public_demand", None)
                else []
            ),
            *(["the stated total of vehicles was known without the trips"] if self.frame.total_per_h else []),
            *(() if kept is None else kept.asserted),
        )

    def __repr__(self) -> str:
        promised = "no guarantee" if self.guarantee is None else f"{self.guarantee}"
        return f"Study({self.network}, {self.frame}, {promised}, mechanism {self.mechanism.name})"


def _check_share(name: str, share: object, *, least: float) -> None:
    good = isinstance(share, int | float) and not isinstance(share, bool)
    if not good or not least <= share <= LARGEST_SHARE:  # type: ignore[operator]
        raise GuaranteeError(f"{named(name)} is {show(share)}; pass a number from {least:g} to {LARGEST_SHARE:g}")


def _total(study: Study) -> dict[str, Any] | None:
    """Where the total of the demand comes from, where users are bounded; None where all requests are counted."""
    kept = study.frame.contribution
    if kept is None or not kept.of_users:
        return None
    if study.frame.total_per_h is not None:
        return {"source": "public", "vehicles_per_hour": study.frame.total_per_h}
    if kept.max_for_total is None or study.guarantee is None:
        return {"source": "kept"}
    return {"source": "measured", "max_requests": kept.max_for_total, "share": study.total_share}


def units_as_dict(units: Units) -> dict[str, Any]:
    """For certificates; nothing where they are the usual ones, as in certificates of earlier versions."""
    return {} if units == Units() else {"units": units.as_dict()}


def bounds_as_dict(kept: Contribution) -> dict[str, Any]:
    """Plain values of the bounds on users."""
    values = {"max_requests": kept.max_requests, "max_per_pair": kept.max_per_pair, "pre_bounded": kept.pre_bounded}
    weighed = {} if kept.max_weight is None else {"max_weight": kept.max_weight}
    named = {} if kept.kept_set is None else {"kept_set": kept.kept_set}
    return values | ({"each_period": True} if kept.each_period else {}) | weighed | named


def _bounds_as_keys(kept: Contribution) -> dict[str, Any]:
    """The same as keys of a study file, in which a single request has a weight and no other bound."""
    return bounds_as_dict(kept) if kept.of_users else {"max_weight": kept.max_weight}


def relative(path: str, folder: Path) -> str:
    """A path as a study file in a folder names it: absolute ones as they are."""
    if path == BUILT_IN or Path(path).is_absolute():
        return path
    return os.path.relpath(path, folder)


def _calendar(calendar: Calendar) -> dict[str, Any]:
    """The keys of a calendar; one whose days have no rule cannot be written."""
    values = calendar.as_dict()
    if "from" in values:
        del values["days"]
    if "dates" in values or "begins" in values:
        raise InputError("a study file has no keys for days without a rule, or for a period with fractions of a second")
    return values
