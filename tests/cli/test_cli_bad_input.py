"""Bad input: one clear line, the right exit code, no traceback, no stray file, no private number."""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpdb.doors.cli import main
from dpdb.release import Session

RULE = "zip_code -> city"
REMEDY = "write a predicate that rows can satisfy"
BAD = {
    "unknown file": (["nowhere.parquet", "--constraints", RULE, "--epsilon", "1"], 2, "no such file"),
    "unknown column": (["{table}", "--constraints", "zip_cod -> city", "--epsilon", "1"], 2, "nearest"),
    "unparsable": (["{table}", "--constraints", "not(t1.city=", "--epsilon", "1"], 2, "line 1, column 13"),
    "constraints file": (["{table}", "--constraints", "rules.txt", "--epsilon", "1"], 2, "not found"),
    "incomparable": (["{table}", "--constraints", "not(t1.zip_code=t2.city)", "--epsilon", "1"], 2, "BIGINT"),
    "constant": (["{table}", "--constraints", "not(t1.zip_code='x')", "--epsilon", "1"], 2, "cannot compare"),
    "epsilon zero": (["{table}", "--constraints", RULE, "--epsilon", "0"], 2, "epsilon must be positive"),
    "epsilon negative": (["{table}", "--constraints", RULE, "--epsilon", "-1"], 2, "epsilon must be positive"),
    "epsilon nan": (["{table}", "--constraints", RULE, "--epsilon", "nan"], 2, "finite"),
    "epsilon infinite": (["{table}", "--constraints", RULE, "--epsilon", "inf"], 2, "finite"),
    "epsilon text": (["{table}", "--constraints", RULE, "--epsilon", "much"], 2, "number"),
    "measure": (["{table}", "--constraints", RULE, "--epsilon", "1", "--measure", "repairs"], 2, "'repair'"),
    "drastic": (["{table}", "--constraints", RULE, "--epsilon", "1", "--measure", "drastic", "--rate"], 2, "no rate"),
    "consistency": (
        ["{table}", "--constraints", "not(t1.city < t2.city & t1.state > t2.state)", "--epsilon", "1", "--measure",
         "maximal_consistency"], 2, "neither a dependency nor a key"),
    "mechanism": (
        ["{table}", "--constraints", RULE, "--epsilon", "1", "--measure", "repair", "--mechanism", "gredy"],
        2, "'greedy'"),
    "max degree": (
        ["{table}", "--constraints", RULE, "--epsilon", "1", "--measure", "problematic", "--mechanism", "em"],
        2, "max_degree"),
    "where": (["{table}", "--constraints", RULE, "--epsilon", "1", "--where", "random() < 0.5"], 2, "not allowed"),
    "where column": (["{table}", "--constraints", RULE, "--epsilon", "1", "--where", "stat = 'AL'"], 2, "'state'"),
    "where no row": (
        ["{table}", "--constraints", RULE, "--epsilon", "1", "--where", "state = 'AL' AND NOT state IN ('AL')"],
        2, "selects no row"),
    "where bytes": (
        ["{table}", "--constraints", RULE, "--epsilon", "1", "--where", "state = '\udcff'"], 2, "is not text"),
    "key bytes": (
        ["{table}", "--constraints", RULE, "--epsilon", "1", "--by", "state", "--keys", "AL,\udcff"], 2, "is not text"),
    "key line": (
        ["{table}", "--constraints", RULE, "--epsilon", "1", "--by", "state", "--keys", "A\nL,AK"], 2, "line of CSV"),
    "constraint bytes": (["{table}", "--constraints", "not(t1.city='\udcff')", "--epsilon", "1"], 2, "is not text"),
    "by": (["{table}", "--constraints", RULE, "--epsilon", "1", "--by", "state"], 2, "go together"),
    "ledger": (["{table}", "--constraints", RULE, "--epsilon", "1", "--ledger", "x"], 2, "no ledger there"),
    "run id": (["{table}", "--constraints", RULE, "--epsilon", "1", "--run-id", "x"], 2, "needs a ledger"),
    "gate": (["{table}", "--constraints", RULE, "--epsilon", "1", "--fail-above", "repair"], 2, "MEASURE=NUMBER"),
    "gate measure": (
        ["{table}", "--constraints", RULE, "--epsilon", "1", "--measure", "repair", "--fail-above", "problematic=1"],
        2, "not released"),
    "confidence": (["{table}", "--constraints", RULE, "--epsilon", "1", "--confidence", "1"], 2, "confidence"),
    "rows per person": (["{table}", "--constraints", RULE, "--epsilon", "1", "--rows-per-person", "0"], 2, "least 1"),
    "memory": (["{table}", "--constraints", RULE, "--epsilon", "1", "--memory-limit", "lots"], 2, "1GB"),
    "temp": (["{table}", "--constraints", RULE, "--epsilon", "1", "--temp-directory", "/nope"], 2, "cannot be used"),
    "table": (["{table}", "--constraints", RULE, "--epsilon", "1", "--table", "t"], 2, "table name"),
    "schema": (["{table}", "--constraints", RULE, "--epsilon", "1", "--schema", "a INT"], 2, "CSV"),
}  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_line_and_the_right_code(
    case: str, hospital: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, code, says = BAD[case]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert main(["measure", *(a.format(table=hospital) for a in arguments)]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err
    assert "Traceback" not in err
    assert err.startswith("dpdb: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.heavy
@pytest.mark.parametrize("where", ["false", "NOT true", "zip_code = 1 AND zip_code = 2", "city = NULL"])
@pytest.mark.parametrize("command", [["count"], ["measure", "--constraints", RULE], ["explain", "--constraints", RULE]])
def test_a_predicate_that_selects_no_row_is_refused(
    command: list[str], where: str, hospital: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command[0], str(hospital), *command[1:], "--epsilon", "1", "--where", where]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"dpdb: where: {where!r} selects no row, whatever the table holds; {REMEDY}\n"


@pytest.mark.parametrize("command", [["count"], ["measure", "--constraints", RULE]])
def test_what_a_release_costs_is_never_a_default(
    command: list[str], hospital: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command[0], str(hospital), *command[1:]]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "give --epsilon, or --rho on a zcdp ledger" in err


def test_usage_errors_are_one_line_too(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["measure"])
    assert caught.value.code == 2
    assert capsys.readouterr().err == (
        "dpdb: the following arguments are required: SOURCE, --constraints; see `dpdb measure --help`\n"
    )


def _table(path: Path, rows: list[dict[str, object]]) -> str:
    schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    return str(path)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("rows", "rule", "exact"),
    [
        ([], "a -> b", (0, 0, 0, 0)),
        ([{"a": 1, "b": "x"}], "a -> b", (0, 0, 0, 0)),
        ([{"a": 1, "b": "x"}] * 4, "not(t1.a<t2.a)", (0, 0, 0, 0)),
        ([{"a": 1, "b": "x"}] * 4, "UNIQUE(a)", (6, 4, 3, 2)),
        ([{"a": k, "b": "x"} for k in range(5)], "not(t1.a!=t2.a)", (10, 5, 4, 2.5)),
        ([{"a": None, "b": None}] * 3, "UNIQUE(a, b)", (0, 0, 0, 0)),
    ],
    ids=["empty", "one row", "no pair", "every pair", "every pair without equality", "NULL"],
)
def test_extreme_tables_work(
    rows: list[dict[str, object]], rule: str, exact: tuple[float, ...], tmp_path: Path
) -> None:
    with Session(_table(tmp_path / "t.parquet", rows), constraints=rule) as session:
        # epsilon 1e5: the noise is 0 except with probability below exp(-1e4 / 5)
        values = [release.value for release in session.dp_inconsistency("all", 100_000)]
        values.append(session.dp_inconsistency("repair", 100_000, mechanism="fractional").value)
    assert values == list(exact)


def test_a_refused_budget_is_exit_code_4(hospital: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from dpdb.errors import BudgetExceededError

    with Session(hospital, constraints=RULE, budget=0.5) as session:
        with pytest.raises(
            BudgetExceededError, match=r"requested epsilon 0\.6, remaining 0\.5, short by 0\.1"
        ) as caught:
            session.dp_inconsistency("repair", 0.6)
        assert (caught.value.exit_code, session.spent(), session.remaining()) == (4, 0.0, 0.5)


def test_a_duckdb_file_open_for_writing_gives_advice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "w.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a, 'x' AS b")
        assert main(["measure", str(path), "--constraints", "a -> b", "--epsilon", "1"]) == 2
    assert "pass that connection instead" in capsys.readouterr().err
    assert main(["measure", str(path), "--constraints", "a -> b", "--epsilon", "1"]) == 0


def test_a_reason_in_the_owners_log_says_how_to_keep_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damaged = tmp_path / "t.csv.gz"
    damaged.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 50_000)[:-8])  # without its checksum
    words = ["count", str(damaged), "--epsilon", "1"]
    assert main(words) == 2
    assert "the reason is in the owner's log (--owner-log FILE)\n" in capsys.readouterr().err
    assert main([*words, "--owner-log", str(tmp_path / "owner.log")]) == 2
    assert "the reason is in the owner's log\n" in capsys.readouterr().err


def test_an_owner_log_that_others_may_read_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It may name private values, and a log that is there already keeps the mode that it has."""
    log = tmp_path / "owner.log"
    log.touch(0o644)
    arguments = ["schema", str(tmp_path / "nowhere.csv"), "--owner-log", str(log)]
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "others may read or change it; `chmod 600` it" in capsys.readouterr().err
    log.chmod(0o600)
    assert main(arguments) == 2
    assert "no such file" in capsys.readouterr().err
    assert main([*arguments[:-1], str(tmp_path / "new.log")]) == 2
    assert (tmp_path / "new.log").stat().st_mode & 0o777 == 0o600
    assert main([*arguments[:-1], "/dev/null"]) == 2
    assert "no such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda log: log.symlink_to("elsewhere"), "it is a symbolic link"),
        (os.mkfifo, "it is not a plain file"),
        (lambda log: (log.touch(0o600), os.link(log, f"{log}-too")), "it has 2 names (hard links); keep one"),
        pytest.param(
            lambda log: (log.touch(0o600), os.chown(log, 65_534, 65_534)),
            "it belongs to another user",
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another user"),
        ),
    ],
)
@pytest.mark.parametrize("is_read", [False, True])
def test_an_owner_log_is_opened_as_a_ledger_is(
    make: Callable[[Path], object], says: str, is_read: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who reads a pipe of his own reads private values; nobody who does would let the command wait."""
    log = tmp_path / "owner.log"
    make(log)
    reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK) if is_read and log.exists() else None
    with pytest.raises(SystemExit):
        main(["schema", str(tmp_path / "nowhere.csv"), "--owner-log", str(log)])
    assert says in capsys.readouterr().err
    assert not (tmp_path / "elsewhere").exists()
    if reader is not None:
        assert os.read(reader, 1) == b""
        os.close(reader)
