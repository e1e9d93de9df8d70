"""What was announced is what is released: nothing of it can be changed, and no part of it is of a type of its own."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import pytest

import privroute as pr
from privroute.errors import InputError
from privroute.mechanism.learn import Announcement
from privroute.study.calendar import Calendar
from privroute.study.frame import Frame

SCENARIO = pr.sioux_falls()
DAYS = pr.simulate_days(SCENARIO.demand, days=3, seed=1)
PROMISE = pr.Guarantee(epsilon=1.0, delta=1e-6)
STUDY = pr.Study(SCENARIO.network, DAYS.frame, PROMISE)


@pytest.mark.parametrize("name", ["study", "noise", "ledger", "promise", "certificate", "another"])
def test_an_announcement_cannot_be_changed(name: str) -> None:
    announced = Announcement(STUDY)
    with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
        setattr(announced, name, None)


def test_a_certificate_cannot_be_changed_nor_through_what_it_was_made_of() -> None:
    values = STUDY.as_dict()
    certificate = replace(Announcement(STUDY).certificate, study=values)
    values["guarantee"]["epsilon"] = 0.01
    assert certificate.epsilon == PROMISE.epsilon
    given: Any = certificate
    for mapping, name in (
        (given.study, "unit"),
        (given.study["guarantee"], "epsilon"),
        (given.study["mechanism"]["options"], "gap"),
        (given.versions, "privroute"),
    ):
        with pytest.raises(TypeError):
            mapping[name] = None
    copied = certificate.as_dict()
    copied["study"]["guarantee"]["epsilon"] = 0.01
    assert certificate.epsilon == PROMISE.epsilon


def test_copies_of_a_certificate_are_equal_and_as_read_only() -> None:
    certificate = Announcement(STUDY).certificate
    same: Any
    for same in (copy.deepcopy(certificate), pickle.loads(pickle.dumps(certificate))):  # noqa: S301 - our own
        assert same == certificate
        assert pr.Certificate.from_dict(json.loads(json.dumps(same.as_dict()))) == certificate
        with pytest.raises(TypeError):
            same.study["unit"] = "user"


def _subclass_of(value: Any) -> Any:
    """The same value, of a class of its own, which could compute its fields from trips."""
    kind = type(value)
    own = type(f"Own{kind.__name__}", (kind,), {"__slots__": ()})
    return own(**{item.name: getattr(value, item.name) for item in fields(value) if item.init})


def test_parts_of_a_study_are_of_exactly_the_packages_types() -> None:
    kept = pr.Contribution("user", 3)
    made: list[Any] = [
        lambda: pr.Study(SCENARIO.network, _subclass_of(DAYS.frame), PROMISE),
        lambda: pr.Study(SCENARIO.network, DAYS.frame, _subclass_of(PROMISE)),
        lambda: Frame(DAYS.pairs, _subclass_of(Calendar.of_days(3))),
        lambda: Frame(DAYS.pairs, Calendar.of_days(3), contribution=_subclass_of(kept)),
        lambda: pr.DemandHistory(DAYS.pairs, DAYS.counts, contribution=_subclass_of(kept)),
        lambda: Announcement(_subclass_of(STUDY)),
    ]
    for make in made:
        with pytest.raises(InputError, match=r"is a Own\w+; pass privroute\."):
            make()
