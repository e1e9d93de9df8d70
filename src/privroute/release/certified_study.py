"""The study that a certificate holds: what it must have, read back from a stranger's file."""

from __future__ import annotations

import math
import sys
from typing import Any

from privroute.errors import PrivrouteError, ReleaseError
from privroute.network.checks import check_period_of_day
from privroute.network.demand import check_expansion
from privroute.network.display_units import Units
from privroute.study.calendar import Calendar
from privroute.study.contribution import Contribution
from privroute.study.expected_trips import check_expected
from privroute.study.guarantee import Guarantee
from privroute.study.measured_shares import LARGEST_SHARE
from privroute.study.mechanisms import check_public_options
from privroute.study.period_shares import period_shares

__all__ = ["check_study", "is_above_zero"]

_STUDY = {
    "network": dict,
    "pairs": int,
    "calendar": dict,
    "unit": str,
    "bounds": dict | None,
    "expansion": int | float,
    "guarantee": dict | None,
    "mechanism": dict,
}
# certificates of 0.1.0 lack them
_LATER = {
    "total": dict | None,
    "quality_share": int | float,
    "expect_trips": int,
    "period_weights": dict,
    "rerouted": dict,
    "units": dict,
}
_REROUTED = {"learned_on": dict, "other_network": bool, "closed": list, "capacity_per_hour": dict}


def check_study(study: dict[str, Any]) -> None:
    """Refuse a study that is not complete, or whose parts are not usable."""
    if set(study) - set(_LATER) != set(_STUDY):
        unmatched = sorted(set(study) - set(_LATER) ^ set(_STUDY))
        fields_of_study = ", ".join(map(str, unmatched[:5]))
        raise ReleaseError(f"the study in the certificate has missing or unknown fields: {fields_of_study}")
    for name, kind in {**_STUDY, **{name: kind for name, kind in _LATER.items() if name in study}}.items():
        if not isinstance(study[name], kind) or isinstance(study[name], bool):
            raise ReleaseError(f"the certificate's study has an unusable {name}")
    try:
        if Calendar.from_dict(study["calendar"]).as_dict() != study["calendar"]:
            raise ReleaseError("its calendar is not in its plain form")
        check_expansion(study["expansion"])
        if "expect_trips" in study:
            check_expected(study["expect_trips"])
        if "units" in study:
            Units.from_dict(study["units"])
        if study["guarantee"] is not None:
            Guarantee(**study["guarantee"], unit=study["unit"])
        _check_parts(study)
    except (PrivrouteError, ArithmeticError, LookupError, TypeError, ValueError) as problem:
        raise ReleaseError(f"the certificate's study is not usable: {problem}") from None


def _check_parts(study: dict[str, Any]) -> None:
    """Refuse bounds, sizes, mechanisms and options that no study has."""
    bounds, network, mechanism = study["bounds"], study["network"], study["mechanism"]
    if bounds is not None:
        if set(bounds) - {"each_period", "max_weight", "kept_set"} != {"max_requests", "max_per_pair", "pre_bounded"}:
            raise ReleaseError("its bounds are not complete")
        kept = Contribution(study["unit"], **bounds)
        calendar = Calendar.from_dict(study["calendar"])
        period_shares(calendar, kept, study.get("period_weights", {}))
        if study["unit"] == "user-day":
            for period in calendar.periods:
                check_period_of_day(period.minutes)
    elif "period_weights" in study:
        raise ReleaseError("its periods share no budget")
    sizes = [study["pairs"], network.get("nodes"), network.get("links")]
    if set(network) != {"source", "nodes", "links"} or not all(type(size) is int and size >= 0 for size in sizes):
        raise ReleaseError("its network and pairs are not sizes")
    if not isinstance(network["source"], str | None):
        raise ReleaseError("its network does not say where it came from")
    if set(mechanism) != {"name", "options"} or not isinstance(mechanism["options"], dict):
        raise ReleaseError("its mechanism is not a name with options")
    check_public_options(mechanism["name"], mechanism["options"])
    _check_total(study)
    _check_rerouted(study.get("rerouted"))
    if not 0 <= study.get("quality_share", 0.0) <= LARGEST_SHARE:
        raise ReleaseError("its share for quality is not one")


def _check_rerouted(changed: dict[str, Any] | None) -> None:
    """Refuse changes of roads that `reroute` does not write."""
    if changed is not None and (
        set(changed) != set(_REROUTED)
        or any(type(changed[name]) is not kind for name, kind in _REROUTED.items())
        or set(changed["learned_on"]) != {"source", "nodes", "links", "pairs"}
    ):
        raise ReleaseError("it does not say what was changed when its policy was computed again")


def _check_total(study: dict[str, Any]) -> None:
    """Refuse a source of the total that no study has."""
    total = study.get("total")
    if total is None:
        return
    keys = {"kept": set[str](), "public": {"vehicles_per_hour"}, "measured": {"max_requests", "share"}}
    wanted = keys.get(total.get("source"))
    if study["bounds"] is None or wanted is None or set(total) != {"source", *wanted}:
        raise ReleaseError("its total has a source that is not known")
    if not all(is_above_zero(total[name]) for name in wanted) or total.get("share", 0.0) > LARGEST_SHARE:
        raise ReleaseError("its total is not a number above 0")


def is_above_zero(value: object, below: float = math.inf) -> bool:
    """Whether it is a number above 0 and below the bound that is finite as a float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 < value < below and value <= sys.float_info.max
