"""Errors know the arguments they speak of, and every surface spells them its own way."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator

import pytest

import privroute as pr
from privroute import errors
from privroute.errors import FormatError, InputError, MissingExtraError, arg, in_python, named
from privroute.study.settings import spelt_as_key


def test_in_python_an_argument_is_written_as_in_a_call() -> None:
    problem = InputError(
        f"{named('tz')} is 'Nowhere'; pass {arg('tz')}, {arg('unit', 'user')} or {arg('pre_bounded', value=True)}"
        + in_python(" (see help(read_trips))")
    )
    text = "tz is 'Nowhere'; pass tz=, unit=\"user\" or pre_bounded=True (see help(read_trips))"
    assert str(problem) == text
    assert problem.args == (text,)
    assert repr(problem) == f"InputError({text!r})"


def test_in_a_study_file_an_argument_is_a_key() -> None:
    problem = InputError(
        f"{named('tz')}: pass {arg('unit', 'user')}, {arg('pre_bounded', value=True)}, {arg('dates')} or "
        f"{arg('threads')}" + in_python(", in Python")
    )
    assert problem.spelt(spelt_as_key) == (
        'calendar.time_zone: pass unit.protect = "user", unit.pre_bounded = true, calendar.from and calendar.to or '
        "threads="
    )


@pytest.mark.parametrize("text", ["", "no argument", "\x02", "\x02tz\x03", "\x1f", "a\x02b\x1fc", "%s {0} \\1"])
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert str(InputError(text)) == text
    assert InputError(text).spelt(lambda _name, _rest: "changed") == text


def test_every_error_of_the_package_can_be_spelt() -> None:
    assert FormatError("a.toml", f"{named('tz')} is wrong", line=3).spelt(spelt_as_key) == (
        "a.toml, line 3: calendar.time_zone is wrong"
    )
    assert "pip install" in MissingExtraError("duckdb", "trips", "this").spelt(spelt_as_key)
    assert str(pr.PrivrouteError()) == ""


def subclasses(kind: type[Exception]) -> Iterator[type[Exception]]:
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


MADE: dict[type[Exception], tuple[str, ...]] = {
    FormatError: ("a.toml", f"{named('tz')} is wrong"),
    MissingExtraError: ("duckdb", "trips", f"{named('tz')}"),
}


@pytest.mark.parametrize("kind", [pr.PrivrouteError, *subclasses(pr.PrivrouteError)])
def test_copies_of_every_error_are_of_its_class_and_say_the_same(kind: type[pr.PrivrouteError]) -> None:
    problem = kind(*MADE.get(kind, (f"{named('tz')} is wrong",)))
    problem.add_note("a note")
    for same in (pickle.loads(pickle.dumps(problem)), copy.copy(problem), copy.deepcopy(problem)):  # noqa: S301 - our own
        assert type(same) is kind
        assert str(same) == str(problem)
        assert same.args == problem.args
        assert same.__notes__ == ["a note"]
        assert same.spelt(spelt_as_key) == problem.spelt(spelt_as_key)
        assert "calendar.time_zone" in same.spelt(spelt_as_key)


def test_every_error_class_is_listed_once() -> None:
    found = {each.__name__ for each in subclasses(pr.PrivrouteError) if each.__module__ == errors.__name__}
    assert found | {"PrivrouteError", "LargeDeltaWarning", "arg", "in_python", "named"} == set(errors.__all__)
