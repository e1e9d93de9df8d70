"""The service: a release over HTTP. It holds a release only, so nothing private can be asked of it."""

from __future__ import annotations

import re
from importlib import metadata
from typing import TYPE_CHECKING, Annotated, Any

import orjson
from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from privroute.errors import InputError, PolicyError, ReleaseError
from privroute.serve import schemas
from privroute.serve.answers import MOST_SHOWN_ROUTES
from privroute.serve.caching import JSON, Plain
from privroute.serve.driving import drive_question
from privroute.serve.guard import Guard
from privroute.serve.places import NoStreetError
from privroute.serve.service import FRESH, GEOJSON, NOW, Service

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams
    from starlette.types import ASGIApp

    from privroute.network.display_units import Units
    from privroute.release.release import Release
    from privroute.serve.options import ServeOptions

__all__ = ["create_app"]

_WHOLE = re.compile("[0-9]{1,16}")
_LARGEST_BODY = 32 * 2**20
_ABOUT = """Routes of a routing policy that was learned from private trips and released with a certificate.

Durations are seconds and distances metres, as routing engines have them. Answers carry an `ETag`; with
`release=` (the value of `release` in every answer) they may be kept for ever, since a release never changes."""

_Departure = Annotated[str | None, Query(description=schemas.DEPARTURE["description"])]
_Pinned = Annotated[str | None, Query(description=schemas.RELEASE["description"])]
_REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": schemas.Problem, "description": "The Host header is not one of this server's."},
    404: {"model": schemas.Problem, "description": "The node, pair or release does not exist."},
    422: {"model": schemas.Problem, "description": "The request is invalid."},
}


def create_app(
    release: Release, *, hosts: frozenset[str] | None = None, options: ServeOptions | None = None
) -> ASGIApp:
    """Return the ASGI application that serves a release.

    hosts : names that the Host header may have; None for any
    options : a basemap, and the key by which vehicles keep their routes for a day
    """
    service = Service(release, options)
    app = FastAPI(
        title="privroute",
        version=metadata.version("privroute"),
        description=_ABOUT,
        docs_url=None,
        redoc_url=None,
        responses=_REFUSALS,
    )
    app.exception_handler(HTTPException)(_on_http_error)
    app.exception_handler(RequestValidationError)(_on_invalid)
    app.exception_handler(PolicyError)(_on_unknown)
    app.exception_handler(NoStreetError)(_on_no_street)
    app.exception_handler(InputError)(_on_input)
    app.exception_handler(ReleaseError)(_on_damage)
    app.exception_handler(Exception)(_on_anything)
    _add_api(app, service)
    _add_advice(app, service)
    if release.network.has_longitude_latitude:
        _add_osrm(app, service)
    _add_page(app, service)
    describe = app.openapi

    def described() -> dict[str, Any]:
        """The description, made when it is first asked for: it takes longer than all the rest of the start."""
        if app.openapi_schema is None:
            origin, destination = map(str, service.picture.example_labels())
            link = str(release.network.link_labels[0])
            _complete(describe(), origin, destination, service.picture.example_places(), link)
            if not release.network.units.on_roads:
                _say_in(release.network.units, app.openapi_schema)
        assert app.openapi_schema is not None  # noqa: S101 - `describe` keeps it there
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]
    basemap = service.options.basemap
    return Guard(app, hosts, images_from=None if basemap is None else basemap.origin)


def _add_api(app: FastAPI, service: Service) -> None:
    # The queries of the two busiest addresses are read by hand: declared parameters take 29 us more a request, of some
    # 100 without them, and benchmarks/serve.py would fall below 0.7 of a bare endpoint.
    @app.get(
        "/v1/routes",
        response_model=schemas.Answer,
        tags=["routes"],
        openapi_extra={"parameters": [*schemas.ENDS, schemas.DEPARTURE, schemas.LIMIT, schemas.RELEASE]},
    )
    async def routes(request: Request) -> Response:
        """Routes of a pair with probabilities, durations and distances, the most probable first."""
        query = request.query_params
        departure = query.get("departure")
        pinned = service.pinned(query.get("release")) and departure != NOW
        asked = service if departure is None else service.at(departure)
        limit = _whole("limit", query.get("limit"), 1, schemas.LARGEST_LIMIT)
        found = asked.routes(*_ends(query), MOST_SHOWN_ROUTES if limit is None else limit)
        return asked.tagged.answer(request, found, pinned=pinned)

    @app.get(
        "/v1/sample",
        response_model=schemas.Answer,
        tags=["routes"],
        openapi_extra={"parameters": [*schemas.ENDS, schemas.DEPARTURE, schemas.SEED]},
    )
    async def sample(request: Request) -> Response:
        """One route, sampled with the probabilities of the policy, for a single vehicle."""
        query = request.query_params
        asked = service.at(query.get("departure"))
        return _fresh(asked.sample(*_ends(query), _whole("seed", query.get("seed"), 0, schemas.LARGEST_SEED)))

    @app.get(
        "/v1/route",
        response_model=schemas.DriveAnswer,
        tags=["routes"],
        openapi_extra={"parameters": [*schemas.PLACES, *schemas.DRIVING]},
    )
    def route(request: Request) -> Response:
        """A route between two places (labels of zones, or longitude,latitude): one sampled route, for a vehicle."""
        query = request.query_params
        return _fresh(service.at(query.get("departure")).drive(drive_question(*_ends(query), query)))

    @app.post(
        "/v1/batch",
        response_model=schemas.Batch,
        tags=["routes"],
        responses={
            413: {"model": schemas.Problem, "description": "The request or its response is too large."},
            415: {"model": schemas.Problem, "description": "The request is not JSON."},
            503: {"model": schemas.Problem, "description": "The server is busy; try again."},
        },
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {JSON: {"schema": schemas.BatchRequest.model_json_schema()}},
            }
        },
    )
    async def batch(request: Request) -> Response:
        """Routes of up to 100,000 pairs at once, or one sampled route for each."""
        return service.batch_in_turn(await _body(request))

    @app.get("/v1/network", response_model=schemas.FeatureCollection, tags=["release"])
    def network(request: Request, release: _Pinned = None, departure: _Departure = None) -> Response:
        """The network as GeoJSON: links with their expected flows as lines, zones as points."""
        pinned, asked = service.pinned(release) and departure != NOW, service.at(departure)
        return asked.tagged.document(request, asked.network(), pinned=pinned)

    @app.get("/v1/periods", response_model=schemas.Periods, tags=["release"])
    def periods(request: Request, release: _Pinned = None) -> Response:
        """The periods of the day and kinds of days that have a policy, with their traffic and measured usefulness."""
        pinned = service.pinned(release)
        return service.tagged.document(request, service.periods(), pinned=pinned)

    @app.get("/v1/certificate", response_model=schemas.CertificateAnswer, tags=["release"])
    def certificate(request: Request, release: _Pinned = None) -> Response:
        """What the release protects, how strongly, and what it does not protect."""
        pinned = service.pinned(release)
        return service.tagged.document(request, service.certificate(), pinned=pinned)

    @app.get("/v1/health", response_model=schemas.Health, tags=["service"])
    async def health() -> Response:
        """Say that the server is there, and what it serves."""
        found = {
            "status": "ok",
            "release": service.id,
            "version": app.version,
            "pairs": len(service.release.policy.pairs),
        }
        return _fresh(orjson.dumps(found))


def _add_advice(app: FastAPI, service: Service) -> None:
    @app.get(
        "/v1/link",
        response_model=schemas.LinkAnswer,
        tags=["release"],
        openapi_extra={"parameters": [schemas.LINK, schemas.PAIR_LIMIT, schemas.DEPARTURE, schemas.RELEASE]},
    )
    def link(request: Request) -> Response:
        """Select link: the pairs that use a link, with probability and traffic, the largest first."""
        query = request.query_params
        departure = query.get("departure")
        pinned, asked = service.pinned(query.get("release")) and departure != NOW, service.at(departure)
        if "link" not in query:
            raise InputError("link is missing from the query")
        limit = _whole("limit", query.get("limit"), 1, schemas.LARGEST_LIMIT)
        found = asked.link_use(query["link"], schemas.USUAL_PAIR_LIMIT if limit is None else limit)
        return asked.tagged.answer(request, found, pinned=pinned)

    demand = service.release.demand
    if demand is None or not demand.total_per_min > 0:
        return  # gains and losses are not known: the address does not exist

    @app.get("/v1/people", response_model=schemas.PeopleAnswer, tags=["release"])
    def people(request: Request, release: _Pinned = None, departure: _Departure = None) -> Response:
        """Who gains and who loses if the released demand follows the policy, and what if only a share follows."""
        pinned, asked = service.pinned(release) and departure != NOW, service.at(departure)
        return asked.tagged.document(request, asked.people(), pinned=pinned)


def _add_osrm(app: FastAPI, service: Service) -> None:
    """The address that clients of OSRM know; only for releases whose places have longitudes and latitudes."""

    @app.get(
        "/route/v1/driving/{coordinates}",  # noqa: FAST003 - read by hand, as it is described
        response_model=schemas.DriveAnswer,
        tags=["routes"],
        openapi_extra={"parameters": [schemas.COORDINATES, *schemas.DRIVING_AS_OSRM]},
    )
    def as_osrm(request: Request) -> Response:
        """The same in the form of OSRM: two places as longitude,latitude;longitude,latitude."""
        places = request.path_params["coordinates"].removesuffix(".json").split(";")
        if len(places) != len(("origin", "destination")):
            raise InputError("the coordinates are not two places like 13.38,52.51;13.42,52.53")
        query = request.query_params
        question = drive_question(places[0], places[1], query, usual_geometries="polyline")
        return _fresh(service.at(query.get("departure")).drive(question))


def _add_page(app: FastAPI, service: Service) -> None:
    def page(request: Request, name: str, *, pinned: bool = False) -> Response:
        return service.tagged.document(request, service.files[name], pinned=pinned)

    @app.get("/", include_in_schema=False)
    async def index(request: Request) -> Response:
        return page(request, "index.html")

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        return page(request, "docs.html")

    @app.get("/page/drawing.json", include_in_schema=False)
    def drawing(request: Request) -> Response:
        return service.tagged.document(request, service.drawing(), pinned=False)

    @app.get("/page/period.json", include_in_schema=False)
    def period(request: Request, at: str) -> Response:
        asked = service.at(at)
        return asked.tagged.document(request, asked.period(), pinned=False)

    @app.get("/page/{name}", include_in_schema=False)
    async def file(request: Request, name: str) -> Response:
        if name not in service.files:
            raise HTTPException(404)
        return page(request, name)


def _say_in(units: Units, described: Any) -> None:
    """Put the descriptions, which speak of trips of vehicles on roads, in the words of a release."""
    for name, value in described.items() if isinstance(described, dict) else enumerate(described):
        if isinstance(value, dict | list):
            _say_in(units, value)
        elif name in ("description", "summary") and isinstance(value, str):
            described[name] = units.said(value)


def _complete(description: dict[str, Any], origin: str, destination: str, places: str | None, link: str) -> None:
    """Name a pair that this release has, so that examples can be tried, and the type of the network's answer."""
    if places is not None:
        description["paths"]["/route/v1/driving/{coordinates}"]["get"]["parameters"][0]["example"] = places
    good = description["paths"]["/v1/network"]["get"]["responses"]["200"]
    good["content"] = {GEOJSON: good["content"][JSON]}
    example = {"origin": origin, "destination": destination}
    for path in ("/v1/routes", "/v1/sample", "/v1/route"):
        for parameter in description["paths"][path]["get"]["parameters"]:
            if parameter["name"] in example:
                parameter["example"] = example[parameter["name"]]
    description["paths"]["/v1/link"]["get"]["parameters"][0]["example"] = link
    body = description["paths"]["/v1/batch"]["post"]["requestBody"]["content"][JSON]
    body["example"] = {"pairs": [[origin, destination]]}


def _ends(query: QueryParams) -> tuple[str, str]:
    """Origin and destination, which the query must have."""
    for name in ("origin", "destination"):
        if name not in query:
            raise InputError(f"{name} is missing from the query")
    return query["origin"], query["destination"]


def _whole(name: str, text: str | None, least: int, most: int) -> int | None:
    if text is None:
        return None
    if not _WHOLE.fullmatch(text) or not least <= int(text) <= most:
        raise InputError(f"{name} is not a whole number from {least} to {most}")
    return int(text)


async def _body(request: Request) -> bytes:
    """The body, never more than the largest."""
    kind = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if kind != JSON:
        raise HTTPException(415, f"send the pairs as {JSON}")
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > _LARGEST_BODY:
                raise HTTPException(
                    413, f"the request has more than {_LARGEST_BODY // 2**20} MB; ask for fewer pairs at once"
                )
    except ClientDisconnect:  # nobody reads this; without it every such client would fill the log with a traceback
        raise HTTPException(400, "the request ended in the middle of its body") from None
    return bytes(body)


def _fresh(body: bytes) -> Response:
    return Plain(FRESH, body)


def _problem(status: int, code: str, message: str, headers: Any = None) -> Response:
    text = message[:1].upper() + message[1:]
    body = orjson.dumps({"code": code, "message": text if text.endswith(".") else f"{text}."})
    return Response(body, status, media_type=JSON, headers={"cache-control": "no-store", **(headers or {})})


_SENTENCES = {
    404: ("NotFound", "this address does not exist; see /docs for all addresses"),
    503: ("Busy", "the server is busy with other batches; try again in a few seconds"),
    405: ("MethodNotAllowed", "this address does not accept this method; see /docs"),
}


async def _on_http_error(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)  # noqa: S101 - registered for it
    code, sentence = _SENTENCES.get(problem.status_code, ("InvalidQuery", str(problem.detail)))
    return _problem(problem.status_code, code, sentence, problem.headers)


async def _on_invalid(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, RequestValidationError)  # noqa: S101 - registered for it
    first = problem.errors()[0]
    name, said = str(first["loc"][-1]), str(first["msg"])
    return _problem(422, "InvalidQuery", f"{name}: {said[:1].lower()}{said[1:]}")


async def _on_unknown(_: Request, problem: Exception) -> Response:
    return _problem(404, "NoRoute", str(problem))


async def _on_no_street(_: Request, problem: Exception) -> Response:
    return _problem(404, "NoSegment", str(problem))


async def _on_input(_: Request, problem: Exception) -> Response:
    return _problem(422, "InvalidQuery", str(problem))


async def _on_damage(_: Request, __: Exception) -> Response:
    # where the files are is not for clients
    return _problem(500, "Fault", "the release was damaged or replaced while it was served; restart the server")


async def _on_anything(_: Request, __: Exception) -> Response:
    return _problem(500, "Fault", "internal error, the release is intact; please report it")
