"""One person is one user, however files spell the id; and an id is read by itself."""

from __future__ import annotations

import datetime as dt
import random
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.history.trip_cases import read, write_csv
from tests.reference.user_ids import BLANKS, canonical_id

from privroute.history.trip_texts import SHORT_TEXT, TextRule

SOME = uuid.UUID("550e8400-e29b-41d4-a716-446655440abc")
PARTS = [
    "",
    "0",
    "00",
    "7",
    "12",
    "1000",
    ".",
    ".0",
    ".5",
    "e",
    "E+",
    "e+06",
    "E6",
    "e-3",
    "+",
    "-",
    "a",
    "F",
    "{",
    "}",
]
PARTS += [
    "urn:uuid:",
    str(SOME),
    str(SOME).upper(),
    SOME.hex,
    SOME.hex[:31],
    "u",
    "ü",
    "\u3000",
    "\U0001f600",
    "9" * 39,
]
ENDS = ["", ".", ".0", ".000", "e+0", "e+01", ".0e1", ".5", "a"]


def ids_of(texts: list[str | None]) -> list[str | None]:
    column = pa.array(texts, pa.large_string())
    offset = np.frombuffer(column.buffers()[1], np.int64)[: len(texts) + 1]
    data = np.frombuffer(column.buffers()[2] or b"", np.uint8)
    return list(
        TextRule(user_ids=True).read(offset, data, column.is_valid().to_numpy(zero_copy_only=False)).to_pylist()
    )


def users(files: Any) -> int:
    """How many users have rows there: one request of each is kept."""
    return int(read(files, unit="user", max_requests=1)[0].counts.sum())


def parquet_ids(folder: Path, ids: Any) -> Path:
    when = [dt.datetime(2026, 3, 27, 7, 30)] * len(ids)  # noqa: DTZ001 - local time
    path = folder / "ids.parquet"
    pq.write_table(
        pa.table({"origin": [1] * len(ids), "destination": [2] * len(ids), "departure": when, "user": ids}), path
    )
    return path


def csv_ids(folder: Path, *ids: str) -> Path:
    return write_csv(folder, *(f"1,2,2026-03-27 07:30:00,{text}" for text in ids))


@pytest.mark.parametrize(
    "text",
    [str(SOME), str(SOME).upper(), f"{{{SOME}}}", SOME.hex, SOME.hex.upper(), f"urn:uuid:{SOME}", f'"{SOME}"'],
)
def test_a_uuid_is_one_user_however_it_is_spelt(tmp_path: Path, text: str) -> None:
    column = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([SOME.bytes] * 2, pa.binary(16)))
    assert users([parquet_ids(tmp_path, column), csv_ids(tmp_path, text)]) == 1


@pytest.mark.parametrize(
    "text", ["1000000", "+1000000", "01000000", "1000000.", "1000000.0", "1e+06", "1.0E6", "1E+6", "1.e6", " 1000000\t"]
)
@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.string()])
def test_a_whole_number_is_one_user_however_it_is_spelt(tmp_path: Path, text: str, kind: Any) -> None:
    column = pa.array(["1000000"] * 2) if kind == pa.string() else pa.array([1_000_000] * 2).cast(kind)
    assert users([parquet_ids(tmp_path, column), csv_ids(tmp_path, text)]) == 1


@pytest.mark.parametrize("blank", sorted(set(BLANKS) - set("\r\n")), ids=lambda blank: f"{ord(blank):04x}")
def test_blanks_around_an_id_do_not_make_another_user(tmp_path: Path, blank: str) -> None:
    assert users(csv_ids(tmp_path, "u", f"u{blank}", f"{blank}u", f"{blank} u{blank}")) == 1


def test_what_the_page_lists_as_different_users_is_different(tmp_path: Path) -> None:
    texts = ["u", "U", "ü", "u\u0308", "a b", "a  b", "1e6", "1000000", "1_000_000", "0xF4240", "-1000000", ' "u"']
    assert users(csv_ids(tmp_path, *texts)) == len(texts)


def test_long_ids_are_told_apart_and_are_the_same_in_all_files(tmp_path: Path) -> None:
    ids = ["x" * (SHORT_TEXT + 1), "x" * SHORT_TEXT + "y", "x" * 60_000, "x" * 59_999 + "y"]
    padded = [f" {text}\u00a0" for text in ids]
    assert users(csv_ids(tmp_path, *ids)) == 4
    plain, encoded = pa.array(padded), pa.array(padded).dictionary_encode()
    for column in (plain, encoded, plain.cast(pa.string_view()), plain.cast(pa.binary())):
        assert users([parquet_ids(tmp_path, column), csv_ids(tmp_path, *ids)]) == 4


def test_a_long_id_leaves_nothing_longer_than_a_short_one() -> None:
    assert ids_of(["x" * SHORT_TEXT, " " * 300, None, "x" * 65_537]) == ["x" * SHORT_TEXT, "", None, None]
    (digest,) = ids_of(["x" * (SHORT_TEXT + 1)])
    assert digest is not None
    assert len(digest) < SHORT_TEXT


def test_the_kernel_agrees_with_its_twin_on_random_ids() -> None:
    chance = random.Random(4)  # noqa: S311 - repeatable cases
    texts = ["".join(chance.choices([*PARTS, *BLANKS], k=chance.randint(0, 5))) for _ in range(20_000)]
    texts += [
        chance.choice(["+", "-", "", "0"]) + chance.choice(PARTS[:6]) + chance.choice(PARTS[6:14]) for _ in range(5000)
    ]
    texts += [
        f"{sign}{first}{'4' * digits}{end}"
        for sign in ("", "+", "-", "0")
        for first in "17"
        for digits in range(28, 42)
        for end in ENDS
    ]
    texts = [text for text in texts if len(text.encode()) <= SHORT_TEXT]
    expected = [canonical_id(text) for text in texts]
    assert ids_of(list(texts)) == expected
    assert sum(text.strip(BLANKS) != found for text, found in zip(texts, expected, strict=True)) > 1000
    assert ids_of(list(expected)) == expected  # canonical means: once and for all
