"""One suite that every engine passes, or of which it refuses parts by name; `dpdb conformance` runs it for owners.

By default a fifth of the kinds of rules is asked of each engine, of one random table, and some predicates; `slow` all
of them, of many. A table is printed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from case_share import fifth, twentieth
from helpers_clickhouse import ClickHouse
from helpers_scratch import ENGINES

import dpdb
from dpdb.doors.cli.main import main
from dpdb.errors import PredicateError, SourceError, UnansweredError
from dpdb.ledger import Ledger
from dpdb.opening import open_table
from dpdb.owner.conformance.kinds import KINDS, Kind
from dpdb.owner.conformance.made_tables import POOLS, random_table
from dpdb.owner.conformance.predicates import extreme_rows
from dpdb.owner.conformance.suite import LEAST, Conformance, run, run_conformance
from dpdb.remote import record
from dpdb.remote.tried import refuse_untried

pytestmark = pytest.mark.filterwarnings("ignore")  # of PySpark and pandas, which are not ours to mend


def asked(
    engine: str, request: pytest.FixtureRequest, seeds: Sequence[int], kinds: Sequence[Kind], parts: int, **more: Any
) -> Conformance:
    """Ask an engine, and print its row of the table."""
    with closing(ENGINES[engine](request)) as scratch:
        found = run(scratch, seeds, kinds, parts, **more)
    print(
        f"{engine} ({found.server}): tried {found.tried}, equal {found.equal}, different {len(found.different)}, ",
        end="",
    )
    print(f"refused {sorted(found.refused)}")
    return found


def without_nan(engine: str, seeds: Sequence[int], parts: int) -> list[int]:
    """Leave out, for Sail, tables with NaN: MAX of a group passes over it in Sail 0.7; in Spark it is the largest."""
    return [seed for seed in seeds if engine != "sail" or not has_nan(random_table(seed, parts).rows)]


def has_nan(rows: pa.Table) -> bool:
    return any(isinstance(value, float) and value != value for row in rows.to_pylist() for value in row.values())


@pytest.mark.heavy
@pytest.mark.parametrize(
    "engine", ["local", "postgres", "clickhouse", "sail", "duckdb by adbc", "snowflake", "bigquery"]
)
def test_engines_say_what_a_self_join_says(engine: str, request: pytest.FixtureRequest) -> None:
    seeds = [seed for seed in without_nan(engine, range(24), 2) if "BLOB" not in random_table(seed, 2).kinds]
    found = asked(engine, request, twentieth(seeds)[:1], fifth(KINDS), 2)
    assert not found.different, found.different[0]
    assert found.equal >= max(12, 60 - 12 * len(found.refused))


@pytest.mark.heavy(family="spark")
def test_spark_says_what_a_self_join_says(request: pytest.FixtureRequest) -> None:
    found = asked("spark", request, [2], fifth(KINDS)[:2], 1)
    assert not found.different, found.different[0]
    assert found.equal >= 12


@pytest.mark.parametrize(
    "engine", ["postgres", "clickhouse", pytest.param("spark", marks=pytest.mark.heavy(family="spark"))]
)
def test_predicates_have_the_same_value_for_every_row(engine: str, request: pytest.FixtureRequest) -> None:
    found = asked(engine, request, [], [], 1, predicates=100)
    assert not found.different, found.different[0]
    assert found.equal == 100
    assert found.refused == {"predicates that could differ"}


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_engines_say_what_a_self_join_says_a_thousand_times(engine: str, request: pytest.FixtureRequest) -> None:
    predicates = 0 if engine == "local" else 150
    found = asked(engine, request, without_nan(engine, range(2 * len(POOLS)), 1), KINDS, 1, predicates=predicates)
    assert not found.different, found.different[0]
    assert found.equal >= LEAST
    assert found.passed


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["postgres", "clickhouse", "spark"])
def test_three_thousand_predicates(engine: str, request: pytest.FixtureRequest) -> None:
    for number in range(20):
        found = asked(engine, request, [], [], 1, predicates=140 + number)
        assert not found.different, found.different[0]


# -- who has not passed ----------------------------------------------------------------------------------------------


@pytest.mark.heavy(family="long")
def test_an_engine_that_counts_otherwise_does_not_pass(request: pytest.FixtureRequest) -> None:
    """Sail passes over NaN where Spark has it as the largest: the suite finds that, and says where."""
    kinds = [kind for kind in KINDS if kind.name == "A <-> B"]
    assert has_nan(random_table(19, 3).rows)
    found = asked("sail", request, [19], kinds, 3)
    assert any("FLOAT" in each for each in found.different)
    assert not found.passed


def test_what_nobody_has_tried_releases_nothing_until_its_owner_has(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any debit; the record counts for that server and that version of dpdb, if nobody else may write it."""
    frame = request.getfixturevalue("sail").createDataFrame(pa.table({"zip": [1, 1], "city": ["a", "b"]}))
    passed, ledger = tmp_path / "passed.jsonl", tmp_path / "t.ledger"
    Ledger.create(ledger, epsilon=9).close()

    def asks() -> None:
        with dpdb.open(frame, constraints="zip -> city", ledger=ledger, gather_rows=9) as session:
            for ask in (
                lambda: session.dp_inconsistency("repair", 1),
                lambda: session.dp_count(epsilon=1),
                lambda: session.check("zip -> city  fail above 0", epsilon=1),
                lambda: session.discover(epsilon=1),
            ):
                before = session.spent()
                with pytest.raises(SourceError, match=r"nobody has tried whether Spark Connect server .*conformance"):
                    ask()
                assert session.spent() == before == 0

    asks()
    record(passed, "Spark Connect server 0.1")
    monkeypatch.setenv("DPDB_CONFORMANCE", str(passed))
    asks()
    record(passed, server := f"Spark Connect server {frame.sparkSession.sql('SELECT version()').toArrow()[0][0]}")
    assert [json.loads(line)["passed"] for line in passed.read_text().splitlines()][1] == server
    with dpdb.open(frame, constraints="zip -> city", ledger=ledger, gather_rows=9) as session:
        session.dp_inconsistency("repair", 1)
        assert session.spent() == 1
    passed.chmod(0o666)
    with (
        dpdb.open(frame, constraints="zip -> city", ledger=ledger, gather_rows=9) as session,
        pytest.raises(SourceError, match="the record of conformance cannot be read"),
    ):
        session.dp_count(epsilon=1)
    monkeypatch.setattr("dpdb.remote.tried.__version__", "0.0.0")
    passed.chmod(0o600)
    with (
        dpdb.open(frame, constraints="zip -> city", ledger=ledger, gather_rows=9) as session,
        pytest.raises(SourceError, match="nobody has tried"),
    ):
        session.dp_count(epsilon=1)


@pytest.mark.parametrize("text", ["a private key\n", '{"passed": "x"}\n', "[]\n", "1\n"])
def test_no_other_file_becomes_a_record(text: str, tmp_path: Path) -> None:
    """Before the suite runs for long, and whatever else is in the file stays."""
    other, link = tmp_path / "other", tmp_path / "link"
    other.write_text(text)
    other.chmod(0o600)
    link.symlink_to(tmp_path / "new")
    for path, said in ((other, "is no record of conformance"), (link, "symbolic link"), (tmp_path / "no/f", "No such")):
        with pytest.raises(SourceError, match=said):
            run_conformance("clickhouse://127.0.0.1:1/x", out=path)
    assert other.read_text() == text
    assert not (tmp_path / "new").exists()
    with pytest.raises(SourceError, match="no connection"):
        run_conformance("clickhouse://127.0.0.1:1/x", out=tmp_path / "new")


SERVERS = {
    "Spark 4.0.1": True, "Spark 3.5.1": False, "Databricks 17.3.x": False, "Spark Connect server 0.7.2": False,
    "PostgreSQL 14": True, "PostgreSQL 18": True, "PostgreSQL 13": False, "ClickHouse 26.9.2.1": True,
    "ClickHouse 25.8.1.1": False, "Trino 480": False, "DuckDB 2.0.1 by ADBC": True, "DuckDB 1.5.1 by ADBC": False,
    "Snowflake 9.33.0 by ADBC": False, "BigQuery without a version by ADBC": False,
}  # fmt: skip


@pytest.mark.parametrize("server", SERVERS)
def test_which_servers_have_been_tried(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Named:
        description = "there"

        def server(self) -> str:
            return server

    monkeypatch.delenv("DPDB_CONFORMANCE", raising=False)
    if SERVERS[server]:
        refuse_untried(Named())  # type: ignore[arg-type]
    else:
        with pytest.raises(SourceError, match="nobody has tried"):
            refuse_untried(Named())  # type: ignore[arg-type]


def test_a_server_that_lacks_something_answers_or_costs_nothing(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sail 0.7 has no DISTRIBUTE BY, with which keys are counted in Spark."""
    monkeypatch.setattr("dpdb.remote.opened.refuse_untried", lambda _: None)
    Ledger.create(tmp_path / "t.ledger", epsilon=9).close()
    rows = pa.table({"k": [1, 1, 2], "city": ["a", "b", "c"]})
    frame, paid = request.getfixturevalue("sail").createDataFrame(rows), 0
    refused: list[str] = []
    with dpdb.open(frame, constraints=["UNIQUE(k)", "k -> city"], ledger=tmp_path / "t.ledger") as session:
        for rules in ("UNIQUE(k)", "k -> city"):
            try:
                session.with_constraints(rules).dp_inconsistency("repair", 1)
                paid += 1
            except UnansweredError:
                refused.append(rules)
            assert session.spent() == paid
    assert refused in ([], ["UNIQUE(k)"])


# -- what is refused, and the command --------------------------------------------------------------------------------

REFUSED = ["lower(s) = 'a'", "upper(s) = 'A'", "x + 1 > 2", "c + h > DATE '2020-01-01'", "d * 2 > 1"]
REFUSED_BY = {
    "postgres": ["s ~ 'a'", "has_format(s, 'luhn')", "s = 'a\0b'", "s LIKE 'a\0%'"],
    "clickhouse": ["s ~ 'a'", "i / 2 > 1", "c + 1 > DATE '2020-01-01'", "s LIKE 'a\\%'", "make_date(i, 2, 29) > c"],
    "spark": ["i / 2 > 1"],
}


@pytest.mark.parametrize(
    "engine", ["postgres", "clickhouse", pytest.param("spark", marks=pytest.mark.heavy(family="spark"))]
)
def test_what_is_refused_is_named(engine: str, request: pytest.FixtureRequest) -> None:
    names = {"postgres": "PostgreSQL", "clickhouse": "ClickHouse", "spark": "Spark"}
    with closing(ENGINES[engine](request)) as scratch:
        source, table = scratch.hold(extreme_rows(0, scratch.lacks, 1))
        with open_table(source, table=table) as there:
            for text in (*REFUSED, *REFUSED_BY[engine]):
                with pytest.raises(PredicateError, match=names[engine] if "\0" not in text else ""):
                    there.where(text)


@pytest.mark.heavy(family="long")
def test_the_command_prints_what_came_of_it(
    clickhouse: ClickHouse, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpdb.owner.conformance.suite.TABLES", 2)
    monkeypatch.setattr("dpdb.owner.conformance.suite.KINDS", KINDS[:3])
    command = ["conformance", clickhouse.address, "--quiet", "--out", str(tmp_path / "passed.jsonl")]
    assert main(command) == 1  # fewer comparisons than a suite has
    shown = capsys.readouterr().out
    assert re.search(r"^ClickHouse \S+: tried 1\d\d, equal (1\d\d), different 0\n", shown)
    assert "not passed" in shown
    assert not (tmp_path / "passed.jsonl").exists()
    monkeypatch.setattr("dpdb.owner.conformance.suite.LEAST", 100)
    assert main(command) == 0
    assert "passed, as" in capsys.readouterr().out
    assert json.loads((tmp_path / "passed.jsonl").read_text())["passed"].startswith("ClickHouse ")
    assert main([*command[:2], "--quiet", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["different"] == []
    assert clickhouse.run("SELECT count() FROM system.tables WHERE database = 'site' AND name LIKE 'dpdb_%'") == b"0\n"
    monkeypatch.setattr("dpdb.owner.conformance.suite.key_of", lambda *_: [{**RIGHT}])
    assert main(command) == 1
    shown = capsys.readouterr().out
    assert "different: key, types" in shown
    assert "not passed: nothing should be released of it" in shown


RIGHT: dict[str, Any] = dict.fromkeys(
    ("repair", "check", "minimal_inconsistency", "problematic", "row_count", "is exact"), -1
)


@pytest.mark.parametrize(
    "source", ["visits.parquet", "https://example.org/a.parquet", "postgresql://", "clickhouse://"]
)
def test_what_is_no_other_engine_is_one_line(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", source, "--quiet"]) in (2, 3)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
