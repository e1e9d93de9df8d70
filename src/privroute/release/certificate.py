"""The certificate of a release: what is protected, how strongly, by what, and on what it rests."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

from privroute.errors import ReleaseError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ADJACENCY", "Certificate", "DataKind", "NoiseKind"]

DataKind = Literal["trips", "simulated"]
NoiseKind = Literal["opendp", "seeded", "none"]

ADJACENCY = {
    "request": (
        "two data sets are neighbours if one has one request more, on one day, for one origin-destination pair, and "
        "they are equal otherwise (add or remove). Replacing one request by another counts as two such steps: for "
        "counts its sensitivity is sqrt(2) times as large."
    )
}
_FRAME = ("days", "period_min", "expansion")
_NUMBERS = ("epsilon", "delta", "rho", "sensitivity", "noise_scale", *_FRAME)
_KINDS = {"data": ("trips", "simulated"), "noise": ("opendp", "seeded", "none")}


@dataclass(frozen=True, slots=True)
class Certificate:
    """Everything here is public: chosen beforehand, or released with noise.

    epsilon, delta, rho : the guarantee, and the zero-concentrated bound it comes from; None where there is none
    unit, adjacency : what one unit of data is, and when two data sets are neighbours
    mechanism, options : name and frozen options
    sensitivity, noise_scale : ℓ2 sensitivity of what was perturbed, and the Gaussian's scale
    data : "trips" or "simulated"; noise : "opendp", "seeded" (experiments) or "none"; only opendp is private
    days, period_min, expansion, first_date, last_date : the public frame of the data
    budget : the ledger entry, or "not tracked"
    versions : of the packages that made it
    """

    epsilon: float | None
    delta: float | None
    rho: float | None
    unit: str
    adjacency: str
    mechanism: str
    options: Mapping[str, Any]
    sensitivity: float | None
    noise_scale: float | None
    data: DataKind
    noise: NoiseKind
    days: int
    period_min: float
    expansion: float
    first_date: str | None = None
    last_date: str | None = None
    budget: str = "not tracked"
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def private(self) -> bool:
        """Whether the guarantee holds: only noise from OpenDP protects anyone."""
        return self.noise == "opendp" and None not in (self.epsilon, self.delta)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, with `private` said in so many words."""
        return {"private": self.private, **asdict(self)}

    @classmethod
    def from_dict(cls, values: object) -> Certificate:
        """Read a certificate back; anything missing, unknown or of the wrong type is refused."""
        if not isinstance(values, dict):
            raise ReleaseError("the certificate is not an object")
        given = dict(values)
        private = given.pop("private", None)
        names = {item.name for item in fields(cls)}
        if set(given) != names:
            odd = sorted(set(given) ^ names)
            raise ReleaseError(f"the certificate lacks or does not know {', '.join(map(str, odd[:5]))}")
        for name, value in given.items():
            _check_field(name, value)
        certificate = cls(**given)
        if private != certificate.private:
            raise ReleaseError("the certificate calls itself private where its noise is not, or the other way round")
        return certificate


def _check_field(name: str, value: object) -> None:
    if name in _KINDS:
        good, wanted = value in _KINDS[name], f"one of {', '.join(_KINDS[name])}"
    elif name in _NUMBERS:
        below = 1 if name == "delta" else math.inf
        number = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < below
        good, wanted = (
            number or (value is None and name not in _FRAME),
            "a number " + ("between 0 and 1" if below == 1 else "above 0"),
        )
    elif name in ("options", "versions"):
        good, wanted = isinstance(value, dict), "an object"
    else:
        good, wanted = isinstance(value, str) or (value is None and name.endswith("_date")), "a text"
    if not good:
        raise ReleaseError(f"the certificate's {name} is not {wanted}")
