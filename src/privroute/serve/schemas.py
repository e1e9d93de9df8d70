"""What the service's answers look like, for its OpenAPI description."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from privroute.serve.answers import MOST_SHOWN_ROUTES
from privroute.serve.pair_index import MOST_PAIRS

__all__ = [
    "COORDINATES",
    "DEPARTURE",
    "DRIVING",
    "ENDS",
    "LARGEST_LIMIT",
    "LARGEST_SEED",
    "LIMIT",
    "LINK",
    "MOST_ALTERNATIVES",
    "PAIR_LIMIT",
    "PLACES",
    "RELEASE",
    "SEED",
    "USUAL_PAIR_LIMIT",
    "Answer",
    "Batch",
    "BatchRequest",
    "CertificateAnswer",
    "DriveAnswer",
    "FeatureCollection",
    "Health",
    "LinkAnswer",
    "PeopleAnswer",
    "Periods",
    "Problem",
]

LARGEST_SEED = 2**53 - 1  # what every JSON reader keeps exactly
LARGEST_LIMIT = 1000
_LARGEST_LABEL = 10**18 - 1
Label = Annotated[int, Field(ge=-_LARGEST_LABEL, le=_LARGEST_LABEL)] | str


class UnitsOfRelease(BaseModel):
    """In what traffic is counted. Numbers have the units that their descriptions say, whatever is shown to people."""

    request: str = Field(description="What one record of the data is.")
    flow: str = Field(
        description="Unit in which traffic is shown. Fields that end in `_per_h` or `_per_hour` have this amount per "
        "hour, whatever they are called: Mbit per hour where it is Mbit/s."
    )
    time: str = Field(description="Unit in which times are shown. Fields that end in `_min` are minutes.")


class Route(BaseModel):
    """One route from origin to destination."""

    probability: float = Field(description="Probability of this route in the policy.", ge=0, le=1)
    duration: float | None = Field(
        description="Seconds, at the released demand if there is one, otherwise on empty roads. From the centre of the "
        "zone to that of the other, with the connectors that join zones with streets."
    )
    duration_free_flow: float | None = Field(description="Seconds on empty roads.")
    distance: float | None = Field(
        description="Metres, connectors included: along the lines on the map if the network has no lengths, null if "
        "it has no longitudes and latitudes either."
    )
    weight: float | None = Field(description="What the policy minimizes; see `weight_name`.")
    nodes: list[Label] = Field(
        description="Nodes from origin to destination; integers that JSON readers would round are strings."
    )
    links: list[Label] = Field(description="Links in their order.")


class Period(BaseModel):
    """Hours of the day, of one kind of day."""

    day_type: str | None = Field(description="Name of the kind of day; null where all days are alike.")
    period: str = Field(description="Start and end by the clock.")


class MeasuredPeriod(Period):
    """A period that has a policy."""

    days: int = Field(description="Days of data.")
    vehicles_per_hour: float | None = Field(description="Of the released demand; null where there is none.")
    verdict: str = Field(description="What was measured of its usefulness, in words.")
    thin: bool = Field(
        description="The noise drowns single pairs, and the policy is undecided or worse than one that needs no data."
    )
    quality: dict[str, Any] | None


class Periods(BaseModel):
    """All periods of a release."""

    release: str
    units: UnitsOfRelease
    periods: list[MeasuredPeriod]


class Routes(BaseModel):
    """Routes of a pair, the most probable first."""

    routes: list[Route]
    remaining_probability: float | None = Field(
        default=None, description="Probability of the routes that are not listed; absent where one was sampled.", ge=0
    )


class Answer(Routes):
    """Routes of one pair."""

    code: Literal["Ok"]
    release: str = Field(description="Id of the release; pass it as `release` to make responses cacheable.")
    period: Period | None = Field(default=None, description="Of a release of several periods: which one answered.")
    weight_name: Literal["marginal_duration", "duration"] = Field(
        description="`marginal_duration`: seconds that one more vehicle costs all vehicles, at the released demand."
    )


class Waypoint(BaseModel):
    """An end of a route."""

    zone: Label = Field(description="Label of the zone in which the end lies.")
    location: list[float] | None = Field(description="Longitude and latitude on the street; null without coordinates.")
    distance: float | None = Field(description="Metres from the place that was asked for; null for a label.")
    name: str = Field(description="Name of the street, if it has one.")


class Leg(BaseModel):
    """From origin to destination."""

    duration: float | None
    duration_free_flow: float | None
    distance: float | None
    weight: float | None
    summary: str = Field(description="Names of the streets along which most is driven.")
    steps: list[dict[str, Any]] = Field(
        description="With `steps=true`: street by street, with name, geometry and manoeuvre; `part` is access (from "
        "the place to the policy's route), route or egress."
    )


class DriveRoute(BaseModel):
    """A route that a vehicle drives."""

    probability: float | None = Field(description="Of the policy's route; null within one zone, where it has none.")
    duration: float | None = Field(
        description="Seconds on streets, access and egress included. Connectors of zones are left out, so `/v1/routes` "
        "gives more for the same route between zones."
    )
    duration_free_flow: float | None
    distance: float | None = Field(description="Metres on streets, without connectors of zones.")
    weight: float | None
    weight_name: str
    geometry: dict[str, Any] | str | None = Field(
        default=None, description="A GeoJSON LineString, or an encoded polyline; not there with `overview=false`."
    )
    legs: list[Leg]
    links: list[Label] = Field(description="Links of the policy's route that are driven.")


class DriveAnswer(BaseModel):
    """Routes between two places."""

    code: Literal["Ok"]
    release: str
    period: Period | None = None
    sampled: bool = Field(description="Whether the route was sampled by the policy's probabilities.")
    remaining_probability: float | None = Field(
        description="With `alternatives`: of the policy's routes that are not listed; null for a sampled route."
    )
    waypoints: list[Waypoint]
    routes: list[DriveRoute]


class Batch(BaseModel):
    """Routes of many pairs, in the order of the request."""

    code: Literal["Ok"]
    release: str
    period: Period | None = None
    weight_name: Literal["marginal_duration", "duration"]
    answers: list[Routes]


class BatchRequest(BaseModel):
    """Pairs of labels."""

    model_config = ConfigDict(extra="forbid")
    pairs: list[tuple[Label, Label]] = Field(max_length=MOST_PAIRS, description="[origin, destination] of each pair.")
    sample: bool = Field(default=False, description="Sample one route for each pair instead of returning all.")
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] | None = Field(
        default=None, description="With `sample`: the same seed gives the same draws."
    )
    departure: str | None = Field(
        default=None, description="Of a release of several periods: when the trips start, like 2026-05-04T07:30."
    )
    limit: int = Field(
        default=MOST_SHOWN_ROUTES, ge=1, le=LARGEST_LIMIT, description="List at most this many routes of each pair."
    )


class CertificateAnswer(BaseModel):
    """The certificate, and what it means."""

    release: str
    private: bool = Field(
        description="False without noise that protects, or if delta is above 0.001; `words` states the reason."
    )
    certificate: dict[str, Any]
    words: dict[str, Any] = Field(description="The certificate in sentences: what it protects and what it does not.")
    units: UnitsOfRelease


class FeatureCollection(BaseModel):
    """GeoJSON."""

    type: Literal["FeatureCollection"]
    features: list[dict[str, Any]]
    computed_layout: bool = Field(description="True if the network has no coordinates and a layout was computed.")
    units: UnitsOfRelease


class LinkPair(BaseModel):
    """A pair that uses a link."""

    origin: Label
    destination: Label
    probability: float = Field(description="Share of the pair's trips that use the link.", ge=0, le=1)
    vehicles_per_h: float | None = Field(description="Of the released demand; null without one.")


class LinkAnswer(BaseModel):
    """Select link."""

    code: Literal["Ok"]
    release: str
    period: Period | None = None
    units: UnitsOfRelease
    link: Label
    from_node: Label
    to_node: Label
    pairs_using: int = Field(description="Number of pairs that use the link, also those that are not listed.")
    vehicles_per_h: float | None = Field(description="Of all pairs, without background traffic; null without a demand.")
    pairs: list[LinkPair] = Field(description="Those with most traffic on the link first.")


class PeopleAnswer(BaseModel):
    """Gains and losses, minutes; positive ones are lost."""

    code: Literal["Ok"]
    release: str
    period: Period | None = None
    units: UnitsOfRelease
    limits: list[float] = Field(description="What a trip may lose before it counts in a share, in `units.time`.")
    limits_min: list[float] = Field(description="The same as `limits`, minutes.")
    mean_min: float = Field(description="Of a trip of the released demand on the policy.")
    against: dict[str, Any] = Field(description="Against the fastest route of the moment, and the equilibrium.")
    by_distance: list[dict[str, Any]]
    by_zone: list[dict[str, Any]] = Field(description="Zones whose trips lose most, against the equilibrium.")
    zone_loss_min: list[float | None] = Field(description="Mean loss of each zone's trips, in the order of the zones.")
    worst: list[dict[str, Any]] = Field(description="Pairs that lose most, against the equilibrium.")
    compliance: list[dict[str, Any]] = Field(description="By the share of drivers that follow the policy.")


class Health(BaseModel):
    """Status of the server."""

    status: Literal["ok"]
    release: str
    version: str
    pairs: int


class Problem(BaseModel):
    """An error response."""

    code: str
    message: str = Field(description="The reason, as a sentence.")


def _parameter(name: str, description: str, *, required: bool = False, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": required, "schema": schema, "description": description}


# parameters of addresses that read their query by hand
ENDS = [
    _parameter("origin", "Label of the node where the trip starts.", required=True, type="string"),
    _parameter("destination", "Label of the node where it ends.", required=True, type="string"),
]
SEED = _parameter("seed", "The same seed gives the same draw.", type="integer", minimum=0, maximum=LARGEST_SEED)
PLACES = [
    _parameter("origin", "Label of a zone, or longitude,latitude.", required=True, type="string"),
    _parameter("destination", "Label of a zone, or longitude,latitude.", required=True, type="string"),
]
COORDINATES = {
    **_parameter(
        "coordinates", "longitude,latitude;longitude,latitude", required=True, type="string", pattern="^[^;/]+;[^;/]+$"
    ),
    "in": "path",
}
MOST_ALTERNATIVES = 20
DEPARTURE = _parameter(
    "departure",
    "Of a release of several periods: when the trip starts, like 2026-05-04T07:30 by the release's clock, or now. "
    "Default: the busiest period.",
    type="string",
)
_GEOMETRIES = ["geojson", "polyline", "polyline6"]
DRIVING = [
    DEPARTURE,
    _parameter("geometries", "How lines are written.", type="string", enum=_GEOMETRIES, default="geojson"),
    _parameter(
        "overview",
        "The line of the whole route: full, simplified to what is seen of it on a screen, or none.",
        type="string",
        enum=["full", "simplified", "false"],
        default="full",
    ),
    _parameter("steps", "Whether to list the streets one by one.", type="boolean", default=False),
    _parameter(
        "alternatives",
        "List the most probable routes, up to this many besides the first, instead of sampling one.",
        anyOf=[{"type": "integer", "minimum": 0, "maximum": MOST_ALTERNATIVES}, {"type": "boolean"}],
    ),
    _parameter(
        "vehicle",
        "Any text that names a vehicle: it keeps its route for the day. Used for a keyed hash and not stored.",
        type="string",
        minLength=1,
        maxLength=200,
    ),
    SEED,
]
DRIVING_AS_OSRM = [
    _parameter("geometries", "How lines are written.", type="string", enum=_GEOMETRIES, default="polyline")
    if each["name"] == "geometries"
    else each
    for each in DRIVING
]
USUAL_PAIR_LIMIT = 100
LINK = _parameter("link", "Label of the link.", required=True, type="string")
PAIR_LIMIT = _parameter(
    "limit",
    "List at most this many pairs, those with most traffic.",
    type="integer",
    minimum=1,
    maximum=LARGEST_LIMIT,
    default=USUAL_PAIR_LIMIT,
)
RELEASE = _parameter(
    "release", "The release that is meant; another one is refused, and the answer may be kept.", type="string"
)
LIMIT = _parameter(
    "limit",
    "List at most this many routes, the most probable ones.",
    type="integer",
    minimum=1,
    maximum=LARGEST_LIMIT,
    default=MOST_SHOWN_ROUTES,
)
