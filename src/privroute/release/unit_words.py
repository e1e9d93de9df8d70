"""Phrases of a certificate in words for its unit of data: a request, a user, a user's day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from privroute.release.certificate import Certificate

__all__ = ["UnitWords", "words_of"]

_GROWS = "the factor grows faster than exponentially with their number"


@dataclass(frozen=True, slots=True)
class UnitWords:
    """Phrases for one unit of data."""

    meaning: str
    one: str
    that: str
    whether: str
    where: str
    knows: str
    several: str
    many: str


def words_of(certificate: Certificate) -> UnitWords:
    """The phrases for the unit of a certificate, in the words of its units."""
    units = certificate.units
    one, many = units.request, units.requests
    if certificate.unit == "request":
        return UnitWords(
            meaning=f"one {one} on one day",
            one=f"one {one}",
            that=f"that {one}",
            whether=f"any one {one} was",
            where=f"Where and when a {one} was made, against somebody who knows that it was made",
            knows=f"a {one} was made but not where or when",
            several=f"Several {many} of one person together: {_GROWS}",
            many=many,
        )
    went = "a person travelled" if units.on_roads else f"the {many} of a person went"
    if certificate.unit == "user":
        return UnitWords(
            meaning=f"all {many} of one person together",
            one="one person",
            that=f"all {many} of that person",
            whether=f"any one person's {many} were",
            where=f"Where and when {went}, against somebody who knows that their {many} are in the data",
            knows=f"a person's {many} are in the data but not where or when they were made",
            several=f"Several people together (a family): {_GROWS}",
            many="people",
        )
    return UnitWords(
        meaning=f"all {many} of one person on one day",
        one="one person's day",
        that=f"all {many} of that person on that day",
        whether=f"any one person's {many} of one day were",
        where=f"Where {went} on a day, against somebody who knows that {many} of that day are in the data",
        knows=f"a person's {many} of a day are in the data but not where they were made",
        several=f"Several days of one person together: {_GROWS}",
        many="days",
    )
