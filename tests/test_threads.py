"""Items that threads make ahead: all of them, few at a time, and an end whatever happens."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from privroute.threads import made_ahead


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("sizes", [[], [0], [3], [0, 4, 1, 0, 7], [50] * 3])
def test_every_item_comes_once(threads: int, sizes: list[int]) -> None:
    parts = [[(at, item) for item in range(size)] for at, size in enumerate(sizes)]
    found = list(made_ahead(parts, threads))
    assert sorted(found) == sorted(item for part in parts for item in part)
    for at, part in enumerate(parts):  # and those of a part in its order
        assert [item for item in found if item[0] == at] == part


def test_no_more_is_made_than_a_thread_ahead() -> None:
    made = []

    def part() -> Iterator[int]:
        for item in range(100):
            made.append(item)
            yield item

    taken = 0
    for _ in made_ahead([part(), part()], 2):
        taken += 1
        assert len(made) <= taken + 2 + 2  # two wait to be taken, and each thread has made one more
    assert taken == 200


def test_the_first_problem_is_raised_and_ends_the_threads() -> None:
    def damaged() -> Iterator[int]:
        yield 1
        raise ValueError("row 7")

    before = threading.active_count()
    with pytest.raises(ValueError, match="row 7"):
        list(made_ahead([damaged(), iter(range(10**9))], 2))
    assert threading.active_count() == before


def test_a_caller_may_stop_early() -> None:
    before = threading.active_count()
    items = made_ahead([iter(range(10**9)), iter(range(10**9))], 2)
    assert next(items) == 0
    items.close()  # type: ignore[attr-defined]  # a generator
    assert threading.active_count() == before
