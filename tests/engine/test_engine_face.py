"""The face of the engine: one place opens tables, and what other rooms import is what it says."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sqlglot import exp

import dpdb.engine
from dpdb.database.database import Database
from dpdb.engine import Engine, Slice, Table, TableSpec
from dpdb.errors import ParameterError, SourceError, UnknownColumnError
from dpdb.opening import ENGINES, declared_table, empty_table, open_local_table, open_table
from dpdb.sources import kinds
from dpdb.sources.kinds import FILES, SOURCES, FileSource, file_kinds, kind_of
from dpdb.sources.paths import Files
from dpdb.sources.source import Source, Wanted, scanned

ROOT = Path(__file__).resolve().parents[2] / "dpdb"
ROWS = pa.table({"who": ["x", "x", "y", None], "zip": [1, 1, 2, 2], "city": ["a", "b", "c", "d"]})

# Imports past the face, or of DuckDB itself, that are meant: doors that are DuckDB's own, which no other engine could
# serve; results that are written into a DuckDB file; the sandbox, which reads public rows.
PAST_THE_FACE = {
    "doors/duckdb_functions/registration.py": {"dpdb.engine.owner_table", "dpdb.database"},
    "doors/duckdb_functions/release_function.py": {"dpdb.engine.owner_table"},
    "doors/jobs/stored.py": {"dpdb.database"},
    "doors/sql/child/remote_database.py": {"dpdb.database"},  # a text of SQL, and the tables that its owner shows
    "doors/sql/child/public_tables.py": {"dpdb.database"},  # the copies of public tables that it reads
    "owner/conformance/answer_key.py": {"dpdb.database"},  # a self-join of made rows
    "owner/dirt/write_noisy.py": {"dpdb.database"},  # the endings of files that it writes
    "owner/listing.py": {"dpdb.database"},
}
BEHIND = ("engine", "sources", "remote", "database", "opening.py")


@pytest.mark.heavy(family="long")
def test_other_rooms_import_the_face_only() -> None:
    found: dict[str, set[str]] = {}
    for path in ROOT.rglob("*.py"):
        if path.relative_to(ROOT).parts[0] in BEHIND:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            past = {name for name in names if name.startswith(("dpdb.engine.", "dpdb.database"))}
            if past:
                found.setdefault(str(path.relative_to(ROOT)), set()).update(past)
    assert found == PAST_THE_FACE


def test_every_name_of_the_face_is_where_it_says() -> None:
    for name in dpdb.engine.__all__:
        assert getattr(dpdb.engine, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Databse'"):
        dpdb.engine.Databse  # type: ignore[attr-defined]  # noqa: B018


def test_the_face_loads_no_database() -> None:
    program = "import sys; from dpdb.engine import Slice, Table, no_progress; print('duckdb' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


@pytest.mark.parametrize("protocol", [Engine, Table, Slice])
def test_no_type_of_a_database_leaks_through_the_face(protocol: type) -> None:
    source = inspect.getsource(protocol)
    assert "Database" not in source
    assert "exp." not in source


def test_our_engine_implements_the_face() -> None:
    """Types are checked by mypy here; that the parts exist, by use."""
    engine: Engine = ENGINES[-1]
    assert engine.reads(ROWS)
    table: Table
    part: Slice
    with open_table(ROWS, constraints="zip -> city", unit="WHO", max_rows=1) as table:
        assert table.unit == "who"
        assert [str(bound.constraint) for bound in table.constraints]
        part = table.slice()
        assert (part.row_count, part.node_count, part.self_conflicts, part.degree_bound()) == (2, 2, 0, 0)
        assert part.codes(["zip", "city"]).keys() == {"zip", "city"}
        part.close()
        # The unit's row that is kept is the one that the hash puts first; there are two either way.
        assert table.count_rows([None, table.where("zip = 2")]) == [2, 1]
        table.refuse_change(all_rows=True)
        assert "; duckdb " in table.opened_content()


def test_columns_that_are_compared_with_others_have_codes_too() -> None:
    rows = pa.table({"a": [30, None, 10, 20], "b": [20, 7, None, 10]})
    with open_table(rows, constraints=["not(t1.a=t2.b)", "not(t1.a>10&t1.b=t2.b)"]) as table:
        part = table.slice()
        codes = part.codes(["b", "a"])
        assert sorted(zip(*(codes[name].tolist() for name in "ab"), strict=True)) == [(-1, 0), (0, -1), (1, 1), (2, 2)]
        (above,) = part.rows_that([part.constraints[1].predicates[:1]])
        assert above.tolist() == [code > 0 for code in codes["a"]]
        listed = [part.first_violations([0], 2), part.first_violations([0], 2)]
        assert [each and each[0].edge_count for each in listed] == [2, 2]
        assert part.first_violations([0], 1) is None


def test_a_slice_of_one_constraint_has_its_conflicts_alone() -> None:
    with open_table(ROWS, constraints=["zip -> city", "who -> city"]) as table:
        together = [sum(len(u) for u, _ in table.slice(position=k).edges.batches()) for k in (None, 0, 1)]
    assert together == [2, 2, 1]


def described(source: pa.Table, *, constraints: str | None = None, table: str | None = None, **more: Any) -> Any:
    return empty_table(TableSpec.of(source, more, constraints=constraints, table=table))


@pytest.mark.heavy
@pytest.mark.parametrize("opened", [open_table, described, open_local_table])
def test_what_cannot_be_opened_is_refused_alike(opened: object) -> None:
    assert callable(opened)
    for options, error in (
        ({"table": "t"}, SourceError),
        ({"csv_schema": {"zip": "INTEGER"}}, SourceError),
        ({"unit": "nobody", "max_rows": 1}, UnknownColumnError),
        ({"constraints": "zip -> town"}, UnknownColumnError),
        ({"memory_limit": "-1GB"}, ParameterError),
    ):
        with pytest.raises(error):
            opened(ROWS, **options)


def test_a_declared_table_has_no_rows() -> None:
    with declared_table({"zip": "INTEGER", "city": "VARCHAR"}, constraints="zip -> city") as table:
        assert table.schema.names == ("zip", "city")
        assert table.count_rows([None]) == [0]
        assert table.slice().node_count == 0


def test_sources_are_one_tuple_whose_last_entry_refuses_what_is_none() -> None:
    assert SOURCES[: len(FILES)] == FILES
    named = [f"{type(kind).__module__.removeprefix('dpdb.sources.')}.{type(kind).__name__}" for kind in file_kinds()]
    assert tuple(named) == FILES
    for told in ("kind", "title"):
        assert len({getattr(kind, told) for kind in file_kinds()}) == len(FILES)
    assert type(kind_of(ROWS)).__name__ == "ArrowStream"
    with pytest.raises(SourceError, match="int: not a source"), open_table(7):
        pass


class TextFile(FileSource):
    """A kind of files that dpdb does not know: one row, one column."""

    kind, title = "text", "text"

    def begins(self, head: bytes) -> bool:
        return head.startswith(b"one row")

    def is_named(self, path: str) -> bool:
        return path.endswith(".txt")

    def describe(self, database: Database, files: Files, wanted: Wanted) -> Source:
        return scanned(database, files.place, exp.select("42 AS answer").subquery("text"))


def test_a_new_source_is_a_file_and_a_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Found by its first bytes alone and by its name in a folder; named where a file is of no kind."""
    monkeypatch.setitem(sys.modules, "dpdb.sources.text", sys.modules[__name__])
    monkeypatch.setattr(kinds, "FILES", (*FILES, "text.TextFile"))
    monkeypatch.setattr(kinds, "SOURCES", (*FILES, "text.TextFile", *SOURCES[len(FILES) :]))
    (tmp_path / "a.txt").write_text("one row")
    (tmp_path / "no").write_text("nothing")
    for source in (tmp_path / "a.txt", tmp_path):
        with open_table(source) as table:
            assert table.schema.names == ("answer",)
            assert table.count_rows([None, table.where("answer = 42")]) == [1, 1]
    titles = [re.escape(kind.title) for kind in file_kinds() if kind.kind != TextFile.kind]
    with pytest.raises(SourceError, match=f"not a {'.*, '.join(titles)}.* or text file"):
        open_table(tmp_path / "no")
