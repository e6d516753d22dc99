"""`write_noisy`: any source in, a complete file out or none, the source untouched."""

import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpdb.engine import read_rows
from dpdb.errors import ConstraintTypeError, EngineError, ParameterError, SourceError
from dpdb.opening import open_local_table
from dpdb.owner.dirt import rnoise, write_noisy
from dpdb.owner.dirt.write_noisy import OutputFile

DATA = Path(__file__).resolve().parents[2] / "examples" / "data"
ROWS = pa.table(
    {
        "id": pa.array(range(500), pa.int32()),
        "zip": pa.array([str(k % 7) for k in range(500)]),
        "city": pa.array([f'a "{k % 7}", b' for k in range(500)]),
        "day": pa.array([k % 30 for k in range(500)], pa.int32()).cast(pa.date32()),
    }
)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "clean.parquet"
    pq.write_table(ROWS, path)
    return path


def read(path, **options):
    with open_local_table(path, **options) as table:
        return read_rows(table)


@pytest.mark.heavy
@pytest.mark.parametrize("ending", [".parquet", ".csv", ".duckdb"])
def test_each_format_has_what_the_pure_function_returns(source, tmp_path, ending):
    out = tmp_path / f"it's dirty{ending}"
    summary = write_noisy(source, "zip -> city", out, "rnoise", alpha=0.05, seed=3)
    from dpdb.constraints import load_constraints

    expected = rnoise(ROWS, load_constraints("zip -> city"), alpha=0.05, seed=3)
    types = {"id": "INTEGER", "day": "DATE"} if ending == ".csv" else None
    assert read(out, csv_schema=types).to_pylist() == expected.to_pylist()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([source.name, out.name])
    assert (summary.rows, summary.columns, summary.iterations, summary.seed) == (500, 4, 100, 3)
    assert summary.constrained_columns == ("zip", "city")
    assert summary.changed_cells == sum(
        a != b for c in ROWS.column_names for a, b in zip(ROWS[c].to_pylist(), expected[c].to_pylist(), strict=True)
    )
    assert summary.to_dict()["out"] == str(out)


def test_parquet_is_zstd_and_types_are_kept(source, tmp_path):
    out = tmp_path / "dirty.parquet"
    write_noisy(source, "zip -> city", out, "conoise", seed=1)
    meta = pq.ParquetFile(out).metadata
    assert meta.row_group(0).column(0).compression == "ZSTD"
    assert pq.read_table(out).schema.types == ROWS.schema.types


@pytest.mark.heavy(family="long")
def test_sample_keeps_order_and_repeats(source, tmp_path):
    out = tmp_path / "dirty.parquet"
    summary = write_noisy(source, "zip -> city", out, "conoise", iterations=1, sample=50, seed=1)
    ids = pq.read_table(out)["id"].to_pylist()
    assert summary.rows == 50
    assert summary.iterations == 1
    assert ids == sorted(set(ids))
    assert len(ids) == 50
    write_noisy(source, "zip -> city", out, "conoise", iterations=1, sample=50, seed=1, overwrite=True)
    assert pq.read_table(out)["id"].to_pylist() == ids
    assert write_noisy(source, "zip -> city", out, "conoise", sample=501, overwrite=True).rows == 500


@pytest.mark.heavy(family="long")
def test_a_run_without_seed_can_be_repeated(source, tmp_path):
    first = write_noisy(source, "zip -> city", tmp_path / "1.parquet", "rnoise", alpha=0.1)
    write_noisy(source, "zip -> city", tmp_path / "2.parquet", "rnoise", alpha=0.1, seed=first.seed)
    assert pq.read_table(tmp_path / "1.parquet").equals(pq.read_table(tmp_path / "2.parquet"))


EXOTIC = """
    CREATE TABLE visits AS SELECT
        ('a' || (n % 3))::ENUM ('a0', 'a1', 'a2') AS e, ('a' || (n % 3))::ENUM ('a0', 'a1', 'a2') AS constrained,
        n::HUGEINT * 10::HUGEINT ** 30 AS h, n::UHUGEINT AS uh, uuid() AS u, '0101'::BIT AS b, '{"k": 1}'::JSON AS j,
        '10:00:00+01'::TIMETZ AS tz, INTERVAL (n) DAY AS iv, [n, n] AS li, {'x': n} AS st, 1.5::DECIMAL(5, 2) AS dc,
        TIMESTAMPTZ '2024-01-01 00:00:00+02' AS z, '2024-01-01'::TIMESTAMP_NS AS ns, 'x'::BLOB AS bl, n::UTINYINT AS k
    FROM range(100) AS r (n)
"""


@pytest.mark.heavy(family="long")
def test_duckdb_keeps_unconstrained_types_and_cells(tmp_path):
    path, out = tmp_path / "clean.duckdb", tmp_path / "dirty.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(EXOTIC)
        connection.execute("CREATE VIEW seen AS SELECT * FROM visits")
    write_noisy(path, "k, h -> constrained", out, "rnoise", alpha=0.05, seed=1, table="main.visits")
    with duckdb.connect(str(out)) as connection:
        connection.execute(f"ATTACH '{path}' AS clean (READ_ONLY)")
        types = dict(row[:2] for row in connection.execute("DESCRIBE visits").fetchall())
        before = dict(row[:2] for row in connection.execute("DESCRIBE clean.visits").fetchall())
        assert types == before | {"constrained": "VARCHAR"}
        free = "COLUMNS(* EXCLUDE (constrained, h, k))::VARCHAR"
        query = f"SELECT {free} FROM {{}}.visits"
        clean, dirty = (connection.execute(query.format(name)).fetchall() for name in ("clean", "dirty"))
        assert clean == dirty
    with pytest.raises(SourceError, match="'li' of type BIGINT"):
        write_noisy(path, "k -> e", tmp_path / "x.duckdb", "conoise", table="seen")
    with pytest.raises(ConstraintTypeError, match="'iv'"):
        write_noisy(path, "k -> iv", tmp_path / "x.duckdb", "conoise", table="visits")
    assert not (tmp_path / "x.duckdb").exists()


@pytest.mark.heavy(family="long")
def test_sources_in_this_process(tmp_path):
    write_noisy(ROWS, "zip -> city", tmp_path / "1.csv", "rnoise", alpha=0.1, seed=1)
    write_noisy(ROWS, "zip -> city", tmp_path / "1.csv", "rnoise", alpha=0.1, seed=1, overwrite=True)
    with duckdb.connect() as connection:
        connection.register("rows_view", ROWS)
        connection.execute("CREATE TABLE visits AS SELECT * FROM rows_view")
        write_noisy(connection, "zip -> city", tmp_path / "2.csv", "rnoise", alpha=0.1, seed=1, table="visits")
        with pytest.raises(ParameterError, match="may be what the source reads"):
            write_noisy(connection, "zip -> city", tmp_path / "2.csv", "conoise", table="visits", overwrite=True)
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "2.csv").read_bytes()


def test_csv_source(tmp_path):
    (tmp_path / "clean.csv").write_text("a,b,c\n" + "".join(f"{k % 5},{k},x\n" for k in range(100)))
    out = tmp_path / "dirty.parquet"
    write_noisy(tmp_path / "clean.csv", "a -> b", out, "rnoise", alpha=0.2, csv_schema={"b": "INTEGER"}, seed=1)
    assert [str(kind) for kind in pq.read_table(out).schema.types] == ["string", "int32", "string"]


def test_nothing_is_overwritten_by_accident(source, tmp_path):
    def refused(message, out, given=source, **options):
        before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
        with pytest.raises(ParameterError, match=message):
            write_noisy(given, "zip -> city", out, "conoise", **options)
        assert before == {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}

    existing = tmp_path / "existing.csv"
    existing.write_text("mine")
    (tmp_path / "link.parquet").symlink_to(source)
    (tmp_path / "open.duckdb.wal").write_text("log")
    (tmp_path / "folder.csv").mkdir()
    refused("exists", existing)
    refused("is the source", source, overwrite=True)
    refused("is the source", tmp_path / "link.parquet", overwrite=True)
    refused("is the source", source, given=tmp_path, overwrite=True)
    refused("is the source", source, given=str(tmp_path / "cl*.parquet"), overwrite=True)
    refused("is in use", tmp_path / "open.duckdb", overwrite=True)
    refused("is a directory", tmp_path / "folder.csv", overwrite=True)
    refused("must end in", tmp_path / "out.xlsx")
    refused("there is no directory", tmp_path / "missing" / "out.csv")


@pytest.mark.heavy(family="long")
def test_a_failure_leaves_no_file(source, tmp_path, monkeypatch):
    before = sorted(tmp_path.iterdir())
    with pytest.raises(EngineError):
        # The text does not convert, after the first rows were written.
        OutputFile(tmp_path / "x.duckdb", source).write(ROWS, {"city": "INTEGER"})
    monkeypatch.setattr(
        "dpdb.files.new_file._move", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    for ending in ("parquet", "csv", "duckdb"):
        with pytest.raises(ParameterError, match="No space left"):
            write_noisy(source, "zip -> city", tmp_path / f"x.{ending}", "conoise")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.heavy(family="long")
def test_parameters(source, tmp_path):
    def refused(message, kind, **options):
        with pytest.raises(ParameterError, match=message):
            write_noisy(source, "zip -> city", tmp_path / "x.csv", kind, **options)

    refused("needs alpha", "rnoise")
    refused("iterations does not apply to rnoise", "rnoise", alpha=0.1, iterations=3)
    refused("typo does not apply to conoise", "conoise", typo=0.1)
    refused("must be 'rnoise' or 'conoise'", "noise")
    refused("sample", "conoise", sample=0)
    refused("iterations", "conoise", iterations=0)
    refused("alpha", "rnoise", alpha=2)
    refused("seed", "conoise", seed=-3)
    pq.write_table(ROWS.slice(0, 0), tmp_path / "empty.parquet")
    with pytest.raises(SourceError, match="no rows"):
        write_noisy(tmp_path / "empty.parquet", "zip -> city", tmp_path / "x.csv", "conoise")
    assert not (tmp_path / "x.csv").exists()


def test_dpdb_does_not_import_noise():
    code = "import sys, dpdb; sys.exit(any(name.startswith('dpdb.owner.dirt') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.heavy(family="long")
def test_hospital(tmp_path):
    path = DATA / "hospital.parquet"
    summary = write_noisy(path, path.with_suffix(".dcs.txt"), tmp_path / "dirty.parquet", "conoise", seed=1)
    before, after = pq.read_table(path), pq.read_table(tmp_path / "dirty.parquet")
    assert before.schema.types == after.schema.types
    assert summary.rows == after.num_rows == 10_000
    assert 200 <= summary.changed_cells <= 600
