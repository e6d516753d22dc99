"""How cells are read is part of the rows that a ledger knows: a row that was charged as one is not free as another."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from inside import account_of

import dpdb
from dpdb.doors.cli import main
from dpdb.errors import LedgerError, RunIdError
from dpdb.ledger import Ledger, SourceMark
from dpdb.opening import open_local_table
from dpdb.predicates import Region
from dpdb.release.ask import Ask
from dpdb.release.ledger_account import LedgerAccount, table_text

CELLS = "id,amt\n1,13\n2,12.7\n3,x\n4,13\n"
WHOLE, REAL = {"amt": "INTEGER"}, {"amt": "DOUBLE"}
RULE = "CHECK (amt < 20)"
HALF = 500_000_000


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text(CELLS)
    return path


@pytest.fixture(params=[False, True], ids=["epochs", "append-only"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "t.ledger"
    Ledger.create(path, 3, append_only=request.param).close()
    return path


def ask(source: Path, ledger: Path, types: Mapping[str, str] | None, where: str, **more: Any) -> float:
    """One count at epsilon 1; returns what the ledger has spent then."""
    with dpdb.open(source, csv_schema=types, ledger=ledger) as session:
        session.dp_count(epsilon=1, where=where, **more)
        return session.spent()


def open_epoch(path: Path) -> None:
    assert main(["budget", "epoch", str(path)]) == 0


@pytest.mark.heavy(family="long")
def test_another_schema_is_another_state_of_the_rows(source: Path, ledger: Path) -> None:
    """Row 2 is NULL as INTEGER and 12.7 as DOUBLE: no row is in both slices of one reading, and it is in both."""
    assert ask(source, ledger, WHOLE, "amt IS NULL") == 1
    assert ask(source, ledger, WHOLE, "amt = 13") == 1, "disjoint, as cells are read"
    for other in (REAL, None, {"amt": "DECIMAL(9,2)"}):
        with pytest.raises(LedgerError, match=r"cells are read otherwise .*budget epoch"):
            ask(source, ledger, other, "amt IS NOT NULL")
    open_epoch(ledger)
    assert ask(source, ledger, REAL, "amt = 12.7") == 2, "the charges of the first reading count for every row"
    with pytest.raises(LedgerError, match="cells are read otherwise"):
        ask(source, ledger, WHOLE, "amt = 13")
    open_epoch(ledger)
    assert ask(source, ledger, WHOLE, "amt = 13") == 3


def test_another_delimiter_is_so_too(tmp_path: Path, ledger: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("a\n1|2\n1\n")
    with dpdb.open(path, ledger=ledger, delimiter=",") as session:
        session.dp_count(epsilon=1, where="a = '1|2'")
    with dpdb.open(path, ledger=ledger, delimiter="|") as session, pytest.raises(LedgerError, match="budget epoch"):
        session.dp_count(epsilon=1, where="a = '1'")


# Declarations of all cells, by each of which some row of the text below is another one, or none.
TEXT = b"id,v\n1,NA\n#2,\"x\"\n3,'y'\n4,a\\,b\n5,\xc3\xa9\n"
WRITTEN = ["", "nulls NA", "comment '#'", "quote none", "quote single", "escape backslash", "encoding latin-1",
           "encoding cp1252", "encoding cp850", "header none", "header 2", "escape backslash, nulls NA"]  # fmt: skip


def written(text: str, names: str = "id v") -> dict[str, str]:
    """A schema, of text alone; the names are needed where no header line has them."""
    return ({"*": text} if text else {}) | (dict.fromkeys(names.split(), "VARCHAR") if "header" in text else {})


@pytest.mark.heavy(family="privacy")
@pytest.mark.parametrize("first", WRITTEN)
def test_other_cells_are_another_state_of_the_rows(tmp_path: Path, ledger: Path, first: str) -> None:
    """A second reading is no second budget, in an ordinary ledger and in one that compares no rows."""
    path = tmp_path / "t.csv"
    path.write_bytes(TEXT)
    names = "1 NA" if first == "header 2" else "id v"
    schema = written(first, names)
    column = "v" if "v" in names else "NA"
    assert ask(path, ledger, schema, f"{column} = 'y'") == 1
    assert ask(path, ledger, schema, f"{column} = 'z'") == 1, "the same state, and disjoint"
    for other in WRITTEN:
        if other == first:
            continue
        with pytest.raises(LedgerError, match=r"cells are read otherwise .*budget epoch|ledger of another table"):
            ask(path, ledger, written(other, "1 NA" if other == "header 2" else "id v"), "id = '1' OR TRUE")
    open_epoch(ledger)
    assert ask(path, ledger, schema, f"{column} = 'z'") == 2, "the charges of the first epoch count"


@pytest.mark.heavy(family="long")
def test_the_same_declaration_in_other_words_is_the_same_state(source: Path, ledger: Path) -> None:
    same = ("quote double", "encoding utf8, header 1, escape none", "delimiter ','")
    for amount, schema in enumerate([{}, *({"*": text} for text in same)]):
        assert ask(source, ledger, WHOLE | schema, f"amt = {amount}") == 1
    for schema in ({"*": "nulls x y"}, {"*": "nulls 'y' x x"}):
        with pytest.raises(LedgerError, match="cells are read otherwise"):
            ask(source, ledger, WHOLE | schema, "amt = 14")


@pytest.mark.heavy(family="long")
def test_units_and_parents_are_known_by_their_cells(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("who,at\nNA,1\nb,2\n")
    (tmp_path / "p.csv").write_text("id\n'1'\n2\n")
    unit, child = tmp_path / "unit.ledger", tmp_path / "child.ledger"
    for path in (unit, child):
        Ledger.create(path, 9).close()

    def count(path: Path, schema: dict[str, str], **more: Any) -> None:
        with dpdb.open(tmp_path / "t.csv", csv_schema=schema, ledger=path, **more) as session:
            session.dp_count(epsilon=1)

    of_unit = {"unit": "who", "max_rows": 1}
    count(unit, {}, **of_unit)
    open_epoch(unit)
    with pytest.raises(LedgerError, match="ledger of another table"):  # NA were no unit any more
        count(unit, {"*": "nulls NA"}, **of_unit)
    beside = {"constraints": "at IN p.id", "private_parents": {"p": tmp_path / "p.csv"}, "max_children": 1}
    parents = tmp_path / "parents.ledger"
    Ledger.create(parents, 9).close()
    beside["parent_ledgers"] = {"p": parents}
    count(child, {}, **beside)
    count(child, {}, **beside)
    with pytest.raises(LedgerError, match=r"changed|otherwise|another"):
        count(child, {"p.*": "quote single"}, **beside)


@pytest.mark.heavy(family="long")
def test_other_columns_are_another_table(source: Path, ledger: Path) -> None:
    ask(source, ledger, WHOLE, "amt = 13")
    source.write_text("id,amount\n1,13\n")
    open_epoch(ledger)
    with pytest.raises(LedgerError, match="ledger of another table"):
        ask(source, ledger, None, "amount = '13'")


def earlier(source: Path, ledger: Path, types: Mapping[str, str] | None, run_id: str | None = None) -> None:
    """A debit as dpdb made it before cells had a rule: the mark had columns, types, and the state of the file."""
    with open_local_table(source, csv_schema=types) as table, Ledger.open(ledger) as books:
        content = table.opened_content().removesuffix(table.reading)
        mark = SourceMark(table_text(table.schema), content, read_as=table.read_as)
        request = "{}"
        books.reserve(Region(), HALF, source=mark, request=request, run_id=run_id).close()


@pytest.mark.heavy(family="long")
def test_ledgers_that_know_no_rule_need_an_epoch_where_cells_have_types(source: Path, ledger: Path) -> None:
    earlier(source, ledger, WHOLE)
    with pytest.raises(LedgerError, match=r"the rule of another dpdb.*budget epoch"):
        ask(source, ledger, WHOLE, "amt = 13")
    open_epoch(ledger)
    assert ask(source, ledger, WHOLE, "amt = 13") == 1.5
    assert ask(source, ledger, WHOLE, "amt IS NULL") == 1.5
    with pytest.raises(LedgerError, match="cells are read otherwise"):  # it knows the present rule now
        ask(source, ledger, REAL, "amt = 13")


@pytest.mark.heavy(family="long")
def test_ledgers_that_know_no_rule_go_on_where_all_cells_are_text(source: Path, ledger: Path) -> None:
    earlier(source, ledger, None)
    assert ask(source, ledger, None, "amt = '13'") == 1.5
    with pytest.raises(LedgerError, match="ledger of another table"):  # types are part of such a table
        ask(source, ledger, WHOLE, "amt = 13")
    open_epoch(ledger)
    assert ask(source, ledger, None, "amt = '13'") == 2.5


@pytest.mark.heavy(family="long")
def test_types_that_tables_have_themselves_are_part_of_the_table(tmp_path: Path, ledger: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"amt": [13]}), path)
    earlier(path, ledger, None)
    assert ask(path, ledger, None, "amt = 13") == 1.5
    pq.write_table(pa.table({"amt": [13.0]}), path)
    open_epoch(ledger)
    with pytest.raises(LedgerError, match="ledger of another table"):
        ask(path, ledger, None, "amt = 13")


@pytest.mark.heavy(family="long")
def test_a_run_that_has_no_answer_gets_none_of_cells_read_otherwise(source: Path, ledger: Path) -> None:
    """Its debit counts in the epoch of the first reading, for rows that may be others now."""
    asked = Ask("count", 1, where="id = '1'", run_id="r")  # the same charge and request under both schemas
    with dpdb.open(source, csv_schema=WHOLE, ledger=ledger) as session:
        assert isinstance(account_of(session), LedgerAccount)
        account_of(session).debit(session.prepare(asked).charge).close()
    for _ in range(2):
        with (
            dpdb.open(source, csv_schema=REAL, ledger=ledger) as session,
            pytest.raises(RunIdError, match="before the source changed"),
        ):
            session.release(asked)
        open_epoch(ledger)


def test_units_stay_those_of_the_first_schema(source: Path, tmp_path: Path) -> None:
    """As INTEGER the values 1 and 01 are one unit, as text they are two."""
    path = tmp_path / "u.ledger"
    Ledger.create(path, 3).close()
    with dpdb.open(source, csv_schema={"id": "INTEGER"}, ledger=path, unit="id", max_rows=1) as session:
        session.dp_count(epsilon=1)
    open_epoch(path)
    with pytest.raises(LedgerError, match="ledger of another table"):
        dpdb.open(source, ledger=path, unit="id", max_rows=1)


def test_a_suite_of_some_rows_is_not_kept_where_rows_move(source: Path, tmp_path: Path) -> None:
    """A row that has paid for `amt IS NULL` would be tested as one of `amt > 12`, for which it has not."""
    path = tmp_path / "s.ledger"
    Ledger.create(path, 3, append_only=True).close()
    asked: dict[str, Any] = {"epsilon": 1, "keep": "nightly", "where": "amt > 12"}
    suite = f"{RULE}  fail above 5"
    with dpdb.open(source, constraints=RULE, csv_schema=WHOLE, ledger=path) as session:
        session.check(suite, run_id="1", **asked)
        session.check(suite, run_id="2", **asked)
    for _ in range(2):
        with (
            dpdb.open(source, constraints=RULE, csv_schema=REAL, ledger=path) as session,
            pytest.raises(LedgerError, match="was opened for some rows, whose cells are read otherwise"),
        ):
            session.check(suite, run_id="3", **asked)
        open_epoch(path)
