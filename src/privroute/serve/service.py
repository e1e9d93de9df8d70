"""A release made ready to answer: everything that the addresses of the service hand out."""

from __future__ import annotations

import asyncio
import datetime as dt
import threading
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import orjson
from starlette.exceptions import HTTPException

from privroute.errors import InputError, PolicyError, ReleaseError
from privroute.network.geojson import feature_collection
from privroute.release.explanation import explain
from privroute.release.usefulness import period_values
from privroute.serve.answers import MOST_SHOWN_ROUTES, RouteTexts
from privroute.serve.caching import JSON, Document, InTurn, Plain, Tagged, release_id
from privroute.serve.driving import DriveQuestion, Driving
from privroute.serve.options import ServeOptions
from privroute.serve.page_content import Picture
from privroute.serve.page_files import PAGE_FILES, page_text
from privroute.serve.pair_index import PairIndex, whole
from privroute.serve.people import link_use, people_of
from privroute.serve.schemas import LARGEST_LIMIT, LARGEST_SEED
from privroute.study.time_zones import time_zone

if TYPE_CHECKING:
    from starlette.responses import Response

    from privroute.release.release import Release

__all__ = ["FRESH", "GEOJSON", "Service"]

GEOJSON = "application/geo+json"
NOW = "now"
FRESH = [(b"cache-control", b"no-store"), (b"content-type", JSON.encode())]
_LARGEST_ANSWER = 512 * 2**20
_BATCHES_AT_ONCE = 4  # answers stand in memory while they are sent
_PATIENCE_S = 30.0


class Service:
    """A release, made ready to answer."""

    def __init__(self, release: Release, options: ServeOptions | None = None, *, id_: str | None = None) -> None:
        self.release = release
        self.options = options or ServeOptions()
        self.picture = Picture(release)
        self.index = PairIndex(release.policy)
        self.texts = RouteTexts(release, self.picture.times)
        self.files = {name: Document(page_text(name), kind) for name, kind in PAGE_FILES.items()}
        self.id = id_ or release_id(release, more=[file.body for file in self.files.values()])
        # what one address answers depends on the period too, and an answer of one may not pass for another's
        self.tagged = Tagged(f"{self.id}-{release.position}" if release.parts else self.id)
        self._periods: dict[int, Service] = {release.position: self}
        self._lock = threading.Lock()
        weight = "duration" if release.demand is None else "marginal_duration"
        self._period = {"period": release.slot.as_dict} if release.parts else {}
        slot = f'"period":{orjson.dumps(release.slot.as_dict).decode()},' if release.parts else ""
        self.opening = f'{{"code":"Ok","release":"{self.id}",{slot}"weight_name":"{weight}",'.encode()
        self.weight_name = weight
        self.driving = Driving(release, self.picture.times, self.index, self.options.vehicle_key)
        self._people: Document | None = None
        self._people_lock = threading.Lock()
        self._turns = asyncio.Semaphore(_BATCHES_AT_ONCE)

    def at(self, departure: str | None) -> Service:
        """The same for the period of a departure time; without one, for the busiest period."""
        if departure is None:
            return self
        when: str | dt.datetime = departure
        calendar = self.release.certificate.calendar
        if departure == NOW:
            if calendar.time_zone is None:
                raise PolicyError("this release does not say its time zone; pass a local time instead of now")
            when = dt.datetime.now(time_zone(calendar.time_zone)).replace(microsecond=0, tzinfo=None)
        if not self.release.parts and calendar.periods[0].begins is None:
            raise PolicyError("this release does not say its hours; omit departure")
        try:
            position = self.release.position_at(when)
        except (ReleaseError, InputError) as problem:  # whatever it says, no policy is for it
            raise PolicyError(f"{problem}") from None
        with self._lock:
            if position not in self._periods:
                chosen = self.release.at(self.release.slots[position].key)
                self._periods[position] = Service(chosen, self.options, id_=self.id)
            return self._periods[position]

    def pinned(self, wanted: str | None) -> bool:
        """Whether the address names this release; an address that names another one is refused."""
        if wanted is not None and wanted != self.id:
            raise PolicyError(f"this server has release {self.id}, not the one asked for")
        return wanted is not None

    def routes(self, origin: str, destination: str, limit: int) -> bytes:
        """The most probable routes of a pair."""
        return self.texts.of_pair(self.index.pair(origin, destination), limit, self.opening)

    def sample(self, origin: str, destination: str, seed: int | None) -> bytes:
        """One route of a pair, drawn."""
        pair = np.array([self.index.pair(origin, destination)])
        return self._whole(self.texts.drawn(pair, seed, most_bytes=_LARGEST_ANSWER))

    def _whole(self, pieces: list[memoryview] | None) -> bytes:
        """The opening and the one object, whose brace the opening has already."""
        first, *rest = _small_enough(pieces)
        return b"".join((self.opening, first[1:], *rest))

    def drive(self, question: DriveQuestion) -> bytes:
        """A route between two places, or several."""
        found = {"code": "Ok", "release": self.id, **self._period, **self.driving.answer(question, self.weight_name)}
        return orjson.dumps(found)

    def batch_in_turn(self, body: bytes) -> Response:
        """The answer to a batch, made when it is its turn."""
        return InTurn(self._turns, lambda: self._batch(body), _PATIENCE_S)

    def _batch(self, body: bytes) -> Response:
        """Routes of the pairs that a body names, all or one drawn for each."""
        pairs, sample, seed, limit, departure = _batch_question(body)
        asked = self.at(departure)
        positions = asked.index.pairs(pairs)
        if sample:
            answers = asked.texts.drawn(positions, seed, most_bytes=_LARGEST_ANSWER)
        else:
            answers = asked.texts.of_pairs(positions, limit, most_bytes=_LARGEST_ANSWER)
        return Plain(FRESH, asked.opening + b'"answers":[', *_small_enough(answers), b"]}")

    @lru_cache(maxsize=1)  # noqa: B019 - a service lives as long as the process
    def network(self) -> Document:
        """The network as GeoJSON."""
        network, picture = self.release.network, self.picture
        points = picture.points if network.coordinates is None else network.coordinates
        columns = {
            name: [value if np.isfinite(value) else None for value in values.tolist()]
            for name, values in picture.link_columns.items()
        }
        found = feature_collection(network, points, columns, per_hour=True)
        more = {"computed_layout": network.coordinates is None, "units": network.units.as_dict()}
        return Document(orjson.dumps({**found, **more}), GEOJSON)

    def link_use(self, link: str, limit: int) -> bytes:
        """The pairs that use a link."""
        return orjson.dumps({"code": "Ok", "release": self.id, **self._period, **link_use(self.release, link, limit)})

    def people(self) -> Document:
        """Gains and losses; computed at the first request, for which others wait."""
        with self._people_lock:
            if self._people is None:
                found = {"code": "Ok", "release": self.id, **self._period, **people_of(self.release)}
                self._people = Document(orjson.dumps(found), JSON)
            return self._people

    @lru_cache(maxsize=1)  # noqa: B019
    def drawing(self) -> Document:
        """What the page draws."""
        basemap = self.options.basemap
        shown = None if basemap is None else {"tiles": basemap.tiles, "credit": basemap.credit}
        return Document(orjson.dumps({"release": self.id, "basemap": shown, **self.picture.as_dict()}), JSON)

    @lru_cache(maxsize=1)  # noqa: B019
    def period(self) -> Document:
        """What the page draws anew for another period."""
        return Document(orjson.dumps(self.picture.of_period()), JSON)

    def periods(self) -> Document:
        """The periods and kinds of days, and whether each was measured to be useful."""
        units = self.release.network.units.as_dict()
        found = {"release": self.id, "units": units, "periods": [period_values(each) for each in self.release.each()]}
        return Document(orjson.dumps(found), JSON)

    @lru_cache(maxsize=1)  # noqa: B019
    def certificate(self) -> Document:
        """The certificate, and what it means."""
        certificate = self.release.certificate
        words = explain(certificate).as_dict()
        found = {
            "release": self.id,
            "private": certificate.private,
            "certificate": certificate.as_dict(),
            "words": words,
            "units": certificate.units.as_dict(),
        }
        return Document(orjson.dumps(found), JSON)


def _small_enough(pieces: list[memoryview] | None) -> list[memoryview]:
    if pieces is None:
        raise HTTPException(413, "the answer would be too large; ask for fewer pairs or routes at once")
    return pieces


def _batch_question(body: bytes) -> tuple[object, bool, int | None, int, str | None]:
    """Read the entries by hand: a hundred thousand pairs should not wait for a general validator."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise InputError('the body is not JSON; send an object like {"pairs": [[1, 20]]}') from None
    if not isinstance(found, dict) or "pairs" not in found:
        raise InputError('the body has no pairs; send an object like {"pairs": [[1, 20]]}')
    unknown = set(found) - {"pairs", "sample", "seed", "limit", "departure"}
    if unknown:
        raise InputError("the body has entries other than pairs, sample, seed, limit and departure")
    departure = found.get("departure")
    if departure is not None and not isinstance(departure, str):
        raise InputError("departure is not a text like 2026-05-04T07:30")
    sample, seed = found.get("sample", False), whole(found.get("seed"))
    if not isinstance(sample, bool):
        raise InputError("sample is neither true nor false")
    if seed is not None and (type(seed) is not int or not 0 <= seed <= LARGEST_SEED):
        raise InputError(f"seed is not a whole number from 0 to {LARGEST_SEED}")
    limit = whole(found.get("limit", MOST_SHOWN_ROUTES))
    if type(limit) is not int or not 1 <= limit <= LARGEST_LIMIT:
        raise InputError(f"limit is not a whole number from 1 to {LARGEST_LIMIT}")
    return found["pairs"], sample, seed, limit, departure
