"""What the service's answers look like, for its OpenAPI description."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from privroute.serve.answers import MOST_SHOWN_ROUTES
from privroute.serve.pair_index import MOST_PAIRS

__all__ = [
    "COORDINATES",
    "DRIVING",
    "ENDS",
    "LARGEST_LIMIT",
    "LARGEST_SEED",
    "LIMIT",
    "MOST_ALTERNATIVES",
    "PLACES",
    "RELEASE",
    "SEED",
    "Answer",
    "Batch",
    "BatchRequest",
    "CertificateAnswer",
    "DriveAnswer",
    "FeatureCollection",
    "Health",
    "Problem",
]

LARGEST_SEED = 2**53 - 1  # what every JSON reader keeps exactly
LARGEST_LIMIT = 1000
_LARGEST_LABEL = 10**18 - 1
Label = Annotated[int, Field(ge=-_LARGEST_LABEL, le=_LARGEST_LABEL)] | str


class Route(BaseModel):
    """One route from origin to destination."""

    probability: float = Field(description="Probability of this route in the policy.", ge=0, le=1)
    duration: float | None = Field(
        description="Seconds, at the released demand if there is one, otherwise on empty roads. From the centre of the "
        "zone to that of the other, with the connectors that join zones with streets."
    )
    duration_free_flow: float | None = Field(description="Seconds on empty roads.")
    distance: float | None = Field(description="Metres, connectors included; null if the network has no lengths.")
    weight: float | None = Field(description="What the policy minimizes; see `weight_name`.")
    nodes: list[Label] = Field(
        description="Nodes from origin to destination; integers that JSON readers would round are strings."
    )
    links: list[Label] = Field(description="Links in driving order.")


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
    geometry: dict[str, Any] | str | None = Field(description="A GeoJSON LineString, or an encoded polyline.")
    legs: list[Leg]
    links: list[Label] = Field(description="Links of the policy's route that are driven.")


class DriveAnswer(BaseModel):
    """Routes between two places."""

    code: Literal["Ok"]
    release: str
    sampled: bool = Field(description="Whether the route was sampled by the policy's probabilities.")
    waypoints: list[Waypoint]
    routes: list[DriveRoute]


class Batch(BaseModel):
    """Routes of many pairs, in the order of the request."""

    code: Literal["Ok"]
    release: str
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


class FeatureCollection(BaseModel):
    """GeoJSON."""

    type: Literal["FeatureCollection"]
    features: list[dict[str, Any]]
    computed_layout: bool = Field(description="True if the network has no coordinates and a layout was computed.")


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
DRIVING = [
    _parameter(
        "geometries",
        "How lines are written.",
        type="string",
        enum=["geojson", "polyline6"],
        default="geojson",
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
