"""What the service's answers look like, for its OpenAPI description."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from privroute.serve.answers import MOST_SHOWN_ROUTES
from privroute.serve.pair_index import MOST_PAIRS

__all__ = [
    "ENDS",
    "LARGEST_LIMIT",
    "LARGEST_SEED",
    "LIMIT",
    "RELEASE",
    "SEED",
    "Answer",
    "Batch",
    "BatchRequest",
    "CertificateAnswer",
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
        description="Seconds, at the released demand if there is one, otherwise on empty roads."
    )
    duration_free_flow: float | None = Field(description="Seconds on empty roads.")
    distance: float | None = Field(description="Metres; null if the network has no lengths.")
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
RELEASE = _parameter(
    "release", "The release that is meant; another one is refused, and the answer may be kept.", type="string"
)
SEED = _parameter("seed", "The same seed gives the same draw.", type="integer", minimum=0, maximum=LARGEST_SEED)
LIMIT = _parameter(
    "limit",
    "List at most this many routes, the most probable ones.",
    type="integer",
    minimum=1,
    maximum=LARGEST_LIMIT,
    default=MOST_SHOWN_ROUTES,
)
