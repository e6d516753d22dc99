"""ORC files: no value of one row decides whether the file is read, and damage is refused in one line."""

from __future__ import annotations

import random
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pytest

from dpdb.errors import ConstraintTypeError, DpdbError, PredicateError, SourceError
from dpdb.opening import open_table
from dpdb.sources.files import orc_stripes
from dpdb.sources.files.orc_file import OrcFile

PLAIN, EARLY, LATE = datetime(2020, 1, 1), datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59)
AT = pa.timestamp("us")
COMPRESSIONS = ("uncompressed", "zlib", "snappy", "lz4", "zstd")


def written(folder: Path, columns: dict[str, Any], **options: Any) -> Path:
    pa.orc.write_table(pa.table(columns), folder / "t.orc", **options)
    return folder / "t.orc"


def with_moment(folder: Path, moment: datetime) -> Path:
    """Write three rows whose last has the moment, alone and within all that can hold one."""
    held = [PLAIN, None, moment]
    columns = {
        "zip": [1, 1, 2],
        "at": pa.array(held, AT),
        "zoned": pa.array(held, pa.timestamp("us", "UTC")),
        "listed": pa.array([[each] for each in held], pa.list_(AT)),
        "inside": pa.array([{"at": each, "n": 1} for each in held]),
        "mapped": pa.array([[("k", each)] for each in held], pa.map_(pa.string(), AT)),
        "zip.at": [1, 2, 3],
        "day": [date(1, 1, 1), None, date(9999, 12, 31)],
    }
    return written(folder, columns)


def answers(path: Path) -> list[int]:
    with open_table(path, constraints="zip -> day", unit="zip", max_rows=2) as table:
        conditions = [None, table.where("zip = 1"), table.where("day > DATE '2020-01-01'"), table.where('"zip.at" > 1')]
        return [*table.count_rows(conditions), table.slice().node_count]


@pytest.mark.heavy(family="long")
def test_no_moment_decides_whether_the_other_rows_are_read(tmp_path: Path) -> None:
    """pyarrow refuses the stripe of a moment that its nanoseconds cannot hold."""
    assert answers(with_moment(tmp_path, PLAIN)) == [3, 2, 1, 2, 3]
    for moment in (EARLY, LATE):
        path = with_moment(tmp_path, moment)
        with pytest.raises(pa.ArrowInvalid, match="out of range"):
            pa.orc.read_table(path)
        assert answers(path) == [3, 2, 1, 2, 3]


@pytest.mark.heavy
@pytest.mark.parametrize("moment", [PLAIN, LATE])
@pytest.mark.parametrize("name", ["at", "zoned", "listed", "inside", "mapped"])
def test_columns_with_moments_are_refused_by_their_type(name: str, moment: datetime, tmp_path: Path) -> None:
    path = with_moment(tmp_path, moment)
    with pytest.raises(ConstraintTypeError, match=f"'{name}' has type .*, which constraints cannot compare"):
        open_table(path, constraints=f"zip -> {name}")
    with open_table(path) as table, pytest.raises(PredicateError, match="cannot be compared"):
        table.where(f"{name} IS NULL")


def test_a_file_of_moments_alone_has_nothing_to_compare(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no column has a type that constraints can compare"):
        open_table(written(tmp_path, {"at": pa.array([PLAIN], AT)}))


FORMS = ({}, {"n": [1]}, {"n": pa.array([], "int64")}, {"t": ["ORC"] * 5}, {"d": [0.5] * 9, "b": [True] * 9})


@pytest.mark.heavy
@pytest.mark.parametrize("columns", FORMS)
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_files_are_told_from_texts_that_begin_alike(columns: dict[str, Any], compression: str, tmp_path: Path) -> None:
    head = written(tmp_path, columns, compression=compression).read_bytes()[:12]
    assert OrcFile().begins(head)
    (tmp_path / "t.csv").write_bytes(b"ORCID,n\r\n0000-0001,1\r\n")
    with open_table(tmp_path / "t.csv") as table:
        assert table.schema.names == ("ORCID", "n")


def test_stripes_are_read_one_after_the_other(tmp_path: Path) -> None:
    rows = 50_000
    numbers = [place * 2_654_435_761 % 2**32 for place in range(rows)]
    path = written(tmp_path, {"n": numbers, "at": pa.array([PLAIN] * rows, AT)}, stripe_size=65_536, batch_size=1024)
    assert pa.orc.ORCFile(path).nstripes > 1
    with open_table(path) as table:
        below = sum(number < 2**31 for number in numbers)
        assert table.count_rows([None, table.where(f"n < {2**31}")]) == [rows, below]


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"csv_schema": {"zip": "INTEGER"}}, "columns without a type"), ({"table": "t"}, "table name applies to")],
)
def test_what_orc_has_not_is_refused(options: dict[str, Any], reason: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=reason):
        open_table(with_moment(tmp_path, PLAIN), **options)


# -- damage -----------------------------------------------------------------------------------------------------------

SECRET = "alice"


def whole(compression: str, folder: Path) -> bytes:
    columns = {
        "name": [SECRET, "bob", None] * 40,
        "n": list(range(120)),
        "share": [0.5, None, -1e300] * 40,
        "paid": [Decimal("1.25"), None, Decimal("-7.00")] * 40,
        "day": [date(2020, 1, 1), None, date(1, 1, 1)] * 40,
        "yes": [True, None, False] * 40,
        "many": [[1], None, []] * 40,
    }
    return written(folder, columns, compression=compression).read_bytes()


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Change, cut out or repeat some bytes; most of them in the footer, which says how the others are read."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 8))):
        place = chance.randrange(3, len(changed)) if chance.random() < 0.5 else chance.randrange(-250, 0)
        match chance.randrange(4):
            case 0:
                changed[place] = chance.randrange(256)
            case 1:
                changed[place] ^= 1 << chance.randrange(8)
            case 2:
                del changed[place % len(changed) : place % len(changed) + chance.randrange(1, 9)]
            case _:
                changed[place:place] = changed[place : place + chance.randrange(1, 9)]
    return bytes(changed)


def bear_damage(compression: str, seeds: range, folder: Path) -> dict[str, int]:
    data, found = whole(compression, folder), {"refused": 0, "read": 0}
    path = folder / "d.orc"
    for seed in seeds:
        path.write_bytes(damaged(data, random.Random(f"{compression} {seed}")))
        said = ""
        try:
            with open_table(path) as table:
                table.count_rows([None])
            found["read"] += 1
        except DpdbError as error:
            said = str(error)
            found["refused"] += 1
        assert "\n" not in said, seed
        assert SECRET not in said, seed
    return found


@pytest.mark.heavy
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_damage_is_refused_or_read(compression: str, tmp_path: Path) -> None:
    found = bear_damage(compression, range(4), tmp_path)
    assert found["refused"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_any_damage_is_refused_or_read(compression: str, tmp_path: Path) -> None:
    found = bear_damage(compression, range(400), tmp_path)
    assert found["refused"] > 0
    assert found["read"] > 0


def test_a_reader_that_dies_or_says_much_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As C++ that reads a place which is none, or warns at each value."""
    path = whole("zlib", tmp_path) and tmp_path / "t.orc"
    for ends in (
        "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
        "import sys; sys.stderr.write('x' * 10**6)",
    ):
        monkeypatch.setattr(orc_stripes, "CHILD", ends)
        with pytest.raises(SourceError, match=r"t\.orc: is cut short or damaged") as told:
            open_table(path)
        assert len(str(told.value)) < 200
