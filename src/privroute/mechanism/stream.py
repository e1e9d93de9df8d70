"""Streams: every day's counts are released once, with noise of their own, and policies follow from the noisy days.

A request is made on one day, so a stream costs what one day costs, for ever (docs/proofs/daily.md). A day's order is
promise, charge, noise, disk; what is made of the days on the disk is post-processing and can be repeated at no cost.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.errors import DemandError, GuaranteeError, HistoryError, StreamError, arg, named
from privroute.history.demand_history import DemandHistory
from privroute.mechanism import daily
from privroute.mechanism.learn import Announcement, certify, warn_of_large_delta
from privroute.mechanism.stream_files import StreamFiles
from privroute.network.checks import check_period_of_day, check_type, show
from privroute.network.network import Network
from privroute.network.pairs import Pairs
from privroute.privacy.charging import note_written
from privroute.privacy.ledger import Ledger
from privroute.privacy.noise import OpenDPNoise
from privroute.progress import check_progress
from privroute.release.release import Release
from privroute.study.calendar import Calendar, Period
from privroute.study.contribution import Contribution
from privroute.study.frame import Frame
from privroute.study.guarantee import Guarantee
from privroute.study.mechanisms import Daily
from privroute.study.study import Study

if TYPE_CHECKING:
    import os

    from privroute.progress import Progress

__all__ = ["Stream"]


class Stream:
    """A stream of daily data: add each day once, and get a policy computed from all days so far.

    folder : where the noisy days are stored; an existing stream is continued
    network : public, and may change from day to day (`add_day(history, network=...)`); nodes of the pairs must stay
    guarantee : for every request, or for every user and day, over the whole stream; fixed by the first day
    mechanism : which days are averaged, privroute.Daily(window=28), Daily(half_life_days=7), ...
    ledger : each day is charged to it before its noise is drawn, with that day only as its scope. From the first day
        that is charged on, the stream takes no day that is charged to another data set, or to none.
    """

    __slots__ = ("_files", "guarantee", "ledger", "mechanism", "network")

    def __init__(
        self,
        folder: str | os.PathLike[str],
        network: Network,
        guarantee: Guarantee,
        mechanism: Daily | None = None,
        *,
        ledger: Ledger | None = None,
    ) -> None:
        check_type(guarantee, Guarantee, "guarantee", GuaranteeError)
        if guarantee.unit == "user":
            raise GuaranteeError(
                "a user appears on many days of a stream, so the cost for one user grows with every day; use "
                f"{arg('unit', 'user-day')}"
            )
        if mechanism is not None and type(mechanism) is not Daily:
            raise GuaranteeError(f"mechanism is a {type(mechanism).__name__}; a stream takes privroute.Daily")
        if ledger is not None:
            check_type(ledger, Ledger, "ledger", GuaranteeError)
        warn_of_large_delta(guarantee)
        check_type(network, Network, "network", DemandError)
        self.network = network
        self.guarantee = guarantee
        self.mechanism = Daily() if mechanism is None else mechanism
        self.ledger = ledger
        self._files = StreamFiles(folder)
        shared = self._files.frame()
        if shared is not None:
            self._check_shared(shared, {"guarantee": asdict(guarantee)})

    @property
    def dates(self) -> tuple[dt.date, ...]:
        """The days that were added, ascending."""
        return tuple(self._files.dates())

    def check(self, frame: Frame, *, network: Network | None = None) -> None:
        """Refuse what `add_day` would refuse of days with this public frame; no trip is needed for that."""
        roads = self._roads(network)
        self._check_days(frame, roads)
        self._check_known(frame, roads)
        for day in range(frame.days):
            self._announced(replace(frame, calendar=frame.calendar.day(day)), roads)

    def _roads(self, network: Network | None) -> Network:
        """The network from this day on."""
        if network is None:
            return self.network
        check_type(network, Network, "network", DemandError)
        return network

    def _announced(self, frame: Frame, roads: Network) -> Announcement:
        """What a day will be, which the ledger would grant now."""
        return Announcement(Study(roads, frame, self.guarantee, Daily(), quality_share=0.0), ledger=self.ledger)

    def add_day(
        self, history: DemandHistory, *, network: Network | None = None, progress: Progress | None = None
    ) -> Release:
        """Charge, perturb and keep one day, and make a policy of the days so far.

        history : PRIVATE, of one day with its date, which the stream does not have yet
        network : the public network from this day on, where roads were closed or opened
        progress : called while the policy is made of the noisy days
        """
        check_progress(progress)
        check_type(history, DemandHistory, "history", HistoryError)
        roads = self._roads(network)
        frame = history.frame
        if frame.days != 1 or frame.calendar.dates is None:
            found = f"{frame.days:,} days" + ("" if frame.calendar.dates else " without dates")
            raise HistoryError(f"add_day takes one day with its date, and this history has {found}")
        if history.elsewhere:
            raise HistoryError(
                "the days of a stream are counted by privroute; learn from counts of another system at once"
            )
        self._check_days(frame, roads)
        (date,) = frame.calendar.dates
        with self._files.locked():
            self._check_known(frame, roads)
            announced = self._announced(frame, roads)  # refused before anything is written
            known, account = self._files.frame(), self._account()
            if known is not None:
                self._check_shared(known, {"simulated": history.simulated})
            if known is None:
                shared = _shared(self.guarantee, frame) | {"simulated": history.simulated, "account": account}
                self._files.begin(shared, *_labels(roads, frame.pairs))
            elif account is not None and known.get("account") is None:
                self._files.bind(known, account)
            drawn = announced.draw(history)
            written = self._files.write_day(date, drawn.noisy, drawn.certificate.budget)
            if drawn.on_saved is not None:
                drawn.on_saved(str(written))
        self.network = roads
        return self._publish(frame, progress, simulated=history.simulated)

    def release(self, *, progress: Progress | None = None) -> Release:
        """The policy of the days so far, made anew from their noisy counts: no trip is read and nothing is charged."""
        shared = self._files.frame()
        if shared is None or not self._files.dates():
            raise StreamError(f"{self._files.folder} has no day yet; add one")
        pairs = _pairs(self.network, *self._files.pairs())
        try:
            frame, simulated = _frame(shared, pairs), shared["simulated"]
            if not isinstance(simulated, bool):
                raise TypeError
        except (KeyError, TypeError, ValueError, HistoryError):
            raise StreamError(f"{self._files.folder}: what its days share was changed; restore it") from None
        return self._publish(frame, progress, simulated=simulated)

    def _publish(self, frame: Frame, progress: Progress | None, *, simulated: bool) -> Release:
        """Post-processing: noisy days and public data only."""
        dates = self._files.dates()[-(self.mechanism.window or 0) :]
        days = [self._files.read_day(date, len(frame.pairs)) for date in dates]
        used = replace(frame, calendar=frame.calendar.of_dates(tuple(dates)))
        study = Study(self.network, used, self.guarantee, self.mechanism, quality_share=0.0)
        promise = daily.promise(study)
        made = daily.publish(study, promise, np.concatenate([noisy for noisy, _ in days]), progress)
        certificate, on_saved = certify(study, OpenDPNoise(), promise, simulated=simulated), None
        last = _one_account([budget for _, budget in days])
        if last is not None:
            certificate = replace(certificate, budget=last)
            if self.ledger is not None and self.ledger.dataset == last["dataset"]:
                on_saved = partial(note_written, self.ledger, last["entry"])
        return Release(made.policy, certificate, made.demand, made.noisy_counts, on_saved)

    def _check_days(self, frame: Frame, roads: Network) -> None:
        """Refuse days that no stream takes."""
        if frame.calendar.has_slots:
            raise HistoryError("a stream follows one period; make one for each, or learn all periods at once")
        check_period_of_day(frame.period_min, error=HistoryError)
        if frame.total_per_h is not None or (frame.contribution is not None and frame.contribution.max_for_total):
            raise HistoryError("a stream has no total of its own: omit max_for_total and total_vehicles_per_hour")
        frame.pairs.reachable(roads)

    def _check_known(self, frame: Frame, roads: Network) -> None:
        """Refuse days that this stream has already, or that do not go with those it has."""
        folder = self._files.folder
        again = set(self.dates).intersection(frame.calendar.dates or ())
        if again:
            raise StreamError(
                f"{folder}: {min(again)} was added before, and reading it again would cost budget again; nothing "
                "was charged. Its noisy counts are stored, and later releases use them at no cost"
            )
        known = self._files.frame()
        if known is None:
            return
        self._check_shared(known, _shared(self.guarantee, frame))
        if self._files.pairs() != _labels(roads, frame.pairs):
            raise StreamError(f"{folder}: the history has other pairs than the stream's days")
        bound = known.get("account")
        if bound is not None and bound != self._account():
            name = show(bound.get("dataset") if isinstance(bound, dict) else bound)
            given = "no ledger" if self.ledger is None else f"{self.ledger.store}, {show(self.ledger.dataset)}"
            raise StreamError(
                f"{folder}: the days of this stream are charged to the data set {name} of the ledger it was "
                f"started with, but {given} was passed; nothing was charged or released. Pass that ledger, or start "
                "another stream"
            )

    def _account(self) -> dict[str, Any] | None:
        """Which account is charged, by what was approved and when, wherever its file is; public."""
        if self.ledger is None:
            return None
        return {"dataset": self.ledger.dataset, "id": self.ledger.account().id}

    def _check_shared(self, known: dict[str, Any], given: dict[str, Any]) -> None:
        """Refuse a day, or a guarantee, that is not that of the days before."""
        for name, value in given.items():
            if known.get(name) == value:
                continue
            ours, theirs = (one if isinstance(one, dict) else {name: one} for one in (known.get(name), value))
            part = next(part for part in theirs | ours if theirs.get(part) != ours.get(part))
            raise StreamError(
                f"{self._files.folder}: {named(part)} is {_word(theirs.get(part))} where the stream has "
                f"{_word(ours.get(part))}; use that, or start another stream"
            )

    def __repr__(self) -> str:
        dates = self.dates
        span = f", {dates[0]} to {dates[-1]}" if dates else ""
        return f"Stream({self._files.folder}, {len(dates):,} days{span})"


def _one_account(budgets: list[Any]) -> dict[str, Any] | None:
    """The last entry of the account that paid for all days; None if a day was not charged, or to another account."""
    entries = [budget for budget in budgets if isinstance(budget, dict)]
    accounts = {(entry["dataset"], entry["approved_epsilon"], entry["approved_delta"]) for entry in entries}
    if len(entries) < len(budgets) or len(accounts) != 1:
        return None
    return max(entries, key=lambda entry: int(entry["entry"]))


def _shared(guarantee: Guarantee, frame: Frame) -> dict[str, Any]:
    """What all days of a stream share, but for their pairs, as plain values."""
    return {
        "guarantee": asdict(guarantee),
        "period_min": frame.period_min,
        "expansion": frame.expansion,
        "begins": None if frame.calendar.period.begins is None else frame.calendar.period.begins.isoformat(),
        "time_zone": frame.calendar.time_zone,
        "contribution": None if frame.contribution is None else _bounds(frame.contribution),
    }


def _bounds(kept: Contribution) -> dict[str, Any]:
    """Plain values; a stream measures no total."""
    return {name: value for name, value in asdict(kept).items() if name != "max_for_total" and value is not None}


def _word(value: object) -> str:
    return "not given" if value is None else show(value)


def _frame(shared: dict[str, Any], pairs: Pairs) -> Frame:
    """`_shared` backwards, as a frame without days."""
    begins, kept = shared["begins"], shared["contribution"]
    period = Period(
        check_period_of_day(shared["period_min"], error=HistoryError),
        None if begins is None else dt.time.fromisoformat(begins),
    )
    calendar = Calendar(0, (period,), time_zone=shared["time_zone"])
    return Frame(pairs, calendar, shared["expansion"], None if kept is None else Contribution(**kept))


def _labels(network: Network, pairs: Pairs) -> tuple[list[str], list[str]]:
    labels = np.array([str(label) for label in network.node_labels], dtype=object)
    return labels[pairs.origin].tolist(), labels[pairs.destination].tolist()


def _pairs(network: Network, origins: list[str], destinations: list[str]) -> Pairs:
    ends = [network.node_indices(labels) for labels in (origins, destinations)]
    for labels, nodes in zip((origins, destinations), ends, strict=True):
        if (nodes < 0).any():
            missing = show(labels[int(np.argmin(nodes))])
            raise StreamError(f"the network has no node {missing}, which the pairs of the stream need")
    return Pairs(*ends)
