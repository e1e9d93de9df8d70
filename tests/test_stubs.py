"""The stubs of the compiled core say what nanobind says of it: every name, argument, default and type of array.

They are written by hand because nanobind cannot know what a tuple or a dictionary that is returned holds.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import privroute
from privroute import _core

stubgen = pytest.importorskip("nanobind.stubgen", reason="stubs: no nanobind; it makes the stubs to compare with")

WRITTEN = Path(privroute.__file__).with_name("_core.pyi")
ARRAY = re.compile(r"NDArray\[(?:np|numpy)\.(\w+)\]")


def generated() -> str:
    made = stubgen.StubGen(_core)
    made.put(_core)
    return str(made.get())


def functions(text: str) -> dict[str, ast.FunctionDef]:
    """Functions and methods by name."""
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{one.name}": one for one in node.body if isinstance(one, ast.FunctionDef)}
    return found


def arguments(function: ast.FunctionDef) -> list[tuple[str, bool, bool, tuple[str, ...]]]:
    """Name, whether it is by keyword only, whether it has a default, and the types of its arrays."""
    given = function.args
    places = [*given.posonlyargs, *given.args]
    defaults = [False] * (len(places) - len(given.defaults)) + [True] * len(given.defaults)
    rows = [(place, False, default) for place, default in zip(places, defaults, strict=True)]
    rows += [(place, True, value is not None) for place, value in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    return [
        (place.arg, by_name, default, tuple(ARRAY.findall(ast.unparse(place.annotation)) if place.annotation else ()))
        for place, by_name, default in rows
    ]


def test_the_stubs_are_those_of_the_core() -> None:
    ours, theirs = functions(WRITTEN.read_text()), functions(generated())
    assert sorted(ours) == sorted(theirs)
    for name, function in theirs.items():
        for mine, other in zip(arguments(ours[name]), arguments(function), strict=True):
            assert mine[:-1] == other[:-1], name
            assert set(other[-1]) <= set(mine[-1]), name  # the stubs may also have a type that is converted
            assert bool(mine[-1]) == bool(other[-1]), name


def test_what_is_returned_is_no_other_kind_of_thing() -> None:
    """Where nanobind knows the type of an array or a plain value that is returned, the stubs have the same."""
    ours, theirs = functions(WRITTEN.read_text()), functions(generated())
    for name, function in theirs.items():
        assert function.returns is not None
        mine = ours[name].returns
        assert mine is not None
        told, said = ast.unparse(function.returns), ast.unparse(mine)
        if arrays := ARRAY.findall(told):
            assert ARRAY.findall(said) == arrays, name
        elif told in {"int", "float", "bool", "str", "bytes", "None"}:
            assert said == told, name
