"""One regression test per side door of the privacy design: each leaked in an experiment once."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import math
import re
import signal
import stat
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from inside import table_of
from stub_noise import StubNoise

import dpdb
from dpdb.database.database import Database
from dpdb.engine.slice import LocalSlice
from dpdb.engine.table import LocalTable
from dpdb.errors import OWNER_LOG, DpdbError, EngineError, ParameterError, PredicateError
from dpdb.privacy.noise import replaced_noise

MEASURES = ("minimal_inconsistency", "problematic", "repair")
TABLE = pa.table(
    {"zip": ["1", "1", "1", "2", "2"], "city": ["alice", "bob", "bob", "carol", "dave"], "age": [1, 2, 3, 4, 5]}
)
FD = "zip -> city"


@pytest.fixture
def session() -> Iterator[dpdb.Session]:
    with dpdb.open(TABLE, constraints=FD, budget=10) as opened:
        yield opened


@pytest.fixture
def owner_log() -> Iterator[list[str]]:
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(logging.Formatter().format(record))  # type: ignore[method-assign]
    OWNER_LOG.addHandler(handler)
    yield lines
    OWNER_LOG.removeHandler(handler)


# -- the where grammar ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "where",
    [
        "age > (SELECT avg(age) FROM t)",
        "rowid = 1",
        "md5(zip) = '1'",
        "age::DOUBLE::VARCHAR = '1'",
        "agee = 1",
        "age = 'x'",
        "age =",
        "",
    ],
)
def test_where_is_checked_before_anything_is_spent_or_read(
    session: dpdb.Session, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*args: object, **kwargs: object) -> None:
        raise AssertionError("a refused predicate must not read the table")

    monkeypatch.setattr("dpdb.engine.table.LocalSlice", read)
    noise = StubNoise()
    with replaced_noise(noise), pytest.raises(DpdbError, match=r"^where: "):
        session.dp_inconsistency(where=where, epsilon=1)
    assert (session.spent(), session.remaining(), noise.draws) == (0, 10, 0)


def test_a_slice_is_the_induced_subgraph(session: dpdb.Session) -> None:
    with replaced_noise(StubNoise()):
        whole = session.dp_inconsistency("repair", epsilon=1)
        one_side = session.dp_inconsistency("repair", where="city = 'alice'", epsilon=1)  # its partners lie outside
        both = session.dp_inconsistency("repair", where="zip = '2'", epsilon=1)
    assert (whole.value, one_side.value, both.value) == (2, 0, 1)


# -- literals and conversions ---------------------------------------------------------------------------------


def test_literals_are_cast_at_compile_time_and_never_show_a_value() -> None:
    with (
        replaced_noise(StubNoise()),
        dpdb.open(TABLE, constraints="not(t1.city='5'&t2.city!='5'&t1.age<t2.age)") as session,
    ):
        assert session.dp_inconsistency("repair", epsilon=1).value == 0  # text is compared with the text '5'
    with pytest.raises(dpdb.DpdbError, match=r"'city' is text, and 5 is none .*CAST\(city AS DOUBLE\)"):
        dpdb.open(TABLE, constraints="not(t1.city=5&t2.city!=5&t1.age<t2.age)")
    with pytest.raises(dpdb.DpdbError) as caught:
        dpdb.open(TABLE, constraints="not(t1.age='five')")
    assert "alice" not in "".join(traceback.format_exception(caught.value))
    assert "'age'" in str(caught.value)


def test_columns_of_incomparable_types_are_an_error_before_any_row_is_read() -> None:
    with pytest.raises(DpdbError, match=r"cannot compare 'age' \(BIGINT\) with 'city' \(VARCHAR\)"):
        dpdb.open(TABLE, constraints="not(t1.age=t2.city)")


def broken(*args: object, **kwargs: object) -> None:
    raise ValueError("Could not convert string 'alice': 5 edges")


GRAPH = ("dpdb.engine.table.LocalSlice", "dpdb.engine.slice.LocalSlice._code")
COUNTED = "dpdb.engine.count_all.count_all"
ANSWERS = "dpdb.release.measure_part.MeasurePart.answers"


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("target", "measure", "mechanism"),
    [
        *((target, measure, None) for target in (*GRAPH, ANSWERS) for measure in (*MEASURES[:2], "all")),
        *((target, "repair", "fractional") for target in (*GRAPH, ANSWERS)),
        *((target, "repair", None) for target in (COUNTED, ANSWERS)),  # by default no graph is built for it
        (COUNTED, "all", None),
    ],
)
def test_a_failure_after_the_debit_says_one_constant_thing(
    session: dpdb.Session,
    target: str,
    measure: str,
    mechanism: str | None,
    monkeypatch: pytest.MonkeyPatch,
    owner_log: list[str],
) -> None:
    monkeypatch.setattr(target, broken)
    messages = []
    for spent in (1, 2):
        with pytest.raises(EngineError) as caught:
            session.dp_inconsistency(measure, mechanism=mechanism, epsilon=1)
        messages.append(str(caught.value))
        assert session.spent() == spent  # the debit stays
        shown = "".join(traceback.format_exception(caught.value))
        assert "alice" not in shown
        assert "5 edges" not in shown
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__
    assert len(set(messages)) == 1
    assert "owner's log" in messages[0]
    assert any("alice" in line for line in owner_log)


@pytest.mark.parametrize(
    ("mechanism", "read", "method"), [("fractional", LocalSlice, "_code"), (None, LocalTable, "count_all")]
)
def test_a_failure_of_the_database_after_the_debit_says_the_same(
    session: dpdb.Session,
    mechanism: str | None,
    read: type[LocalSlice | LocalTable],
    method: str,
    monkeypatch: pytest.MonkeyPatch,
    owner_log: list[str],
) -> None:
    def failing(self: LocalSlice | LocalTable, *args: object) -> None:
        self.database.execute("SELECT CAST(city AS INTEGER) FROM (SELECT 'alice' AS city)")

    monkeypatch.setattr(read, method, failing)
    with pytest.raises(EngineError) as caught:
        session.dp_inconsistency(mechanism=mechanism, epsilon=1)
    assert "alice" not in "".join(traceback.format_exception(caught.value))
    assert "after its budget was debited" in str(caught.value)
    assert session.spent() == 1
    assert any("alice" in line for line in owner_log)


# -- the schema is public -------------------------------------------------------------------------------------


def csv(folder: Path, *rows: str) -> Path:
    path = folder / "t.csv"
    path.write_text("\n".join(["k,v", *rows]) + "\n")
    return path


def repair(source: object, constraints: str, **options: object) -> float:
    with replaced_noise(StubNoise()):
        return dpdb.dp_inconsistency(source, constraints, "repair", **{"epsilon": 1, **options}).value  # type: ignore[union-attr]


def test_csv_columns_are_text_whatever_the_rows_hold(tmp_path: Path) -> None:
    # As numbers 1 and 01 are equal; as text they differ. No third row may decide which it is.
    rule = "UNIQUE(k)"
    alone = repair(csv(tmp_path, "1,a", "01,b"), rule)
    with_text = repair(csv(tmp_path, "1,a", "01,b", "n/a,c"), rule)
    assert alone == with_text == 0


def test_one_cell_that_is_no_number_changes_nothing_for_the_others(tmp_path: Path) -> None:
    rule, schema = "UNIQUE(k)", {"k": "INTEGER"}
    alone = repair(csv(tmp_path, "1,a", "01,b"), rule, csv_schema=schema)
    with_text = repair(csv(tmp_path, "1,a", "01,b", "n/a,c", ",d", "1e99,e"), rule, csv_schema=schema)
    assert alone == with_text == 1


def test_objects_of_pandas_are_text_whatever_the_rows_hold() -> None:
    numbers = pd.DataFrame({"k": pd.Series([1, 1.0, "1"], dtype=object)})
    mixed = pd.DataFrame({"k": pd.Series([1, 1.0, "1", "n/a", None], dtype=object)})
    assert repair(numbers, "UNIQUE(k)") == repair(mixed, "UNIQUE(k)") == 1  # '1' twice, '1.0' once


@pytest.mark.heavy(family="long")
def test_values_in_names_of_folders_are_text_and_never_shown(tmp_path: Path) -> None:
    """As numbers 1 and 01 are equal: no third folder may decide whether they are numbers."""
    for value in ("1", "01", "alice"):
        (tmp_path / f"secret={value}").mkdir()
        pq.write_table(TABLE, tmp_path / f"secret={value}" / "part.parquet")
        for source in (tmp_path, f"{tmp_path}/*/*.parquet"):
            with dpdb.open(source, constraints="secret -> city") as session:
                assert table_of(session).schema["secret"].declared_type == "VARCHAR"
            with pytest.raises(DpdbError, match="no column 'secrets'; nearest is 'secret'") as caught:
                dpdb.open(source, constraints="secrets -> city")
            assert not re.search("alice|01", str(caught.value).replace(str(tmp_path), ""))


# -- what a release shows -------------------------------------------------------------------------------------


def numbers_in(value: object) -> set[float]:
    if isinstance(value, dict):
        return set().union(*(numbers_in(item) for item in value.values())) if value else set()
    return {float(value)} if isinstance(value, (int, float)) and not isinstance(value, bool) else set()


@pytest.mark.heavy
@pytest.mark.parametrize("measure", MEASURES)
def test_a_release_carries_no_exact_value(measure: str) -> None:
    """Exact values here are 3989, 4110 and 2055 or so; the noise adds 200 000 to all that leaves."""
    rows = [(k % 1000, k) for k in range(5110)]
    table = pa.table({"k": [row[0] for row in rows], "v": [row[1] for row in rows]})

    class Far(StubNoise):
        def laplace(self, value: int, scale: float) -> int:
            exact.append(value)
            return value + 200_000

    exact: list[int] = []
    with replaced_noise(Far()), dpdb.open(table, constraints="k -> v") as session:
        release = session.dp_inconsistency(measure, epsilon=1)
        shown = repr(session)
    assert exact
    published = numbers_in(release.to_dict())
    private = {float(value) for value in exact} | {5110.0, 5.0, 6.0} | {value / 2 for value in exact}
    assert not {value for value in private if value > 2} & published
    for value in exact:
        assert str(value) not in shown
    assert {field.name for field in dataclasses.fields(release)} == set(release.to_dict())
    json.dumps(release.to_dict(), allow_nan=False)


def test_release_ids_are_random_hexadecimal(session: dpdb.Session) -> None:
    with replaced_noise(StubNoise()):
        ids = [session.dp_inconsistency(epsilon="0.1").release_id for _ in range(20)]
        ids += [release.release_id for release in session.dp_inconsistency("all", epsilon=1)]  # type: ignore[union-attr]
    assert len(set(ids)) == len(ids)
    assert all(len(name) == 32 and set(name) <= set("0123456789abcdef") for name in ids)


# Of a projected measure: the degree cap, a choice of theta, the answer; no rung is in reach of this small table.
@pytest.mark.parametrize(
    ("measure", "draws"), [("repair", 1), ("minimal_inconsistency", 3), ("problematic", 3), ("all", 6)]
)
def test_noise_is_drawn_once_however_often_a_release_is_shown(session: dpdb.Session, measure: str, draws: int) -> None:
    noise = StubNoise()
    with replaced_noise(noise):
        found = session.dp_inconsistency(measure, epsilon=1)
        drawn = noise.draws
        for release in found if isinstance(found, tuple) else (found,):
            first = (
                repr(release),
                str(release),
                json.dumps(release.to_dict()),
                release.value,
                dataclasses.astuple(release),
            )
            again = (
                repr(release),
                str(release),
                json.dumps(release.to_dict()),
                release.value,
                dataclasses.astuple(release),
            )
            assert first == again
            with pytest.raises(dataclasses.FrozenInstanceError):
                release.value = 0  # type: ignore[misc]
    assert noise.draws == drawn == draws


@pytest.mark.parametrize("measure", [*MEASURES, "all"])
def test_the_debit_comes_before_the_first_draw(session: dpdb.Session, measure: str) -> None:
    spent: list[float] = []
    noise = StubNoise(on_draw=lambda: spent.append(session.spent()))
    with replaced_noise(noise):
        session.dp_inconsistency(measure, epsilon="0.5")
    assert spent == [0.5] * noise.draws
    assert spent


def test_the_debit_comes_before_the_table_is_read(session: dpdb.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    spent: list[float] = []
    monkeypatch.setattr(session, "_progress", lambda step: spent.append(session.spent()))
    with replaced_noise(StubNoise()):
        session.dp_inconsistency(epsilon=2)
    assert spent
    assert set(spent) == {2}


def test_an_interrupt_after_the_debit_gives_nothing_back(session: dpdb.Session) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with replaced_noise(StubNoise(on_draw=interrupted)), pytest.raises(KeyboardInterrupt):
        session.dp_inconsistency(epsilon=3)
    assert session.spent() == 3


def test_progress_names_steps_and_never_numbers() -> None:
    steps: list[str] = []
    with replaced_noise(StubNoise()), dpdb.open(TABLE, constraints=FD, progress=steps.append) as session:
        session.dp_inconsistency("all", where="age > 1", epsilon=1)
    assert steps
    assert not any(character.isdigit() for step in steps for character in step)


# -- nothing depends on private size --------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.parametrize("rows", [0, 1, 2])
@pytest.mark.parametrize("measure", [*MEASURES, "all"])
def test_empty_and_tiny_tables_give_releases(rows: int, measure: str) -> None:
    with dpdb.open(
        TABLE.slice(0, rows), constraints=[FD, "not(t1.age<0)", "not(t1.age=t2.age&t1.zip<t2.city)"]
    ) as session:
        found = session.dp_inconsistency(measure, epsilon=1)
    for release in found if isinstance(found, tuple) else (found,):
        assert release.value >= 0
        assert release.lower >= 0


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("measure", "mechanism"),
    [
        ("repair", "greedy"), ("minimal_inconsistency", "optimized"), ("minimal_inconsistency", "em"),
        ("minimal_inconsistency", "hierarchical"), ("minimal_inconsistency", "baseline_max"),
        ("problematic", "optimized"), ("problematic", "em"), ("problematic", "hierarchical"),
        ("problematic", "baseline_max"),
    ],
)  # fmt: skip
def test_the_number_of_draws_does_not_depend_on_the_rows(measure: str, mechanism: str) -> None:
    counts = set()
    for table in (TABLE, TABLE.slice(0, 0)):
        noise = StubNoise()
        with replaced_noise(noise), dpdb.open(table, constraints=FD) as session:
            session.dp_inconsistency(measure, mechanism=mechanism, max_degree=4, epsilon=1)
        counts.add(noise.draws)
    assert len(counts) == 1


# -- logs -----------------------------------------------------------------------------------------------------


@pytest.mark.heavy(family="long")
def test_logging_at_the_default_level_prints_nothing() -> None:
    code = """if True:
        import logging, sys
        logging.basicConfig()
        import pyarrow as pa, dpdb
        from dpdb.engine.slice import LocalSlice
        table = pa.table({"a": ["alice", "alice"], "b": ["x", "y"]})
        with dpdb.open(table, constraints="a -> b") as session:
            session.dp_inconsistency("all", 1)
            LocalSlice._code = lambda self: self.database.execute("SELECT CAST('alice' AS INTEGER)")
            try:
                session.dp_inconsistency(where="a = 'alice'", epsilon=1)
            except dpdb.DpdbError:
                pass
    """
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# -- temporary files ------------------------------------------------------------------------------------------


def test_the_private_directory_has_mode_0700_and_goes_away(tmp_path: Path) -> None:
    with dpdb.open(TABLE, constraints=FD, temp_directory=tmp_path):
        (private,) = tmp_path.iterdir()
        assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_it_goes_away_after_an_exception(tmp_path: Path, error: type[BaseException]) -> None:
    with pytest.raises(error), dpdb.open(TABLE, constraints=FD, temp_directory=tmp_path):
        raise error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.heavy
@pytest.mark.parametrize("constraints", ["not a constraint(", "zip -> nothing", "not(t1.age=t2.city)", []])
def test_it_goes_away_when_the_session_does_not_start(tmp_path: Path, constraints: str) -> None:
    with pytest.raises(DpdbError):
        dpdb.open(TABLE, constraints=constraints, temp_directory=tmp_path)
    assert list(tmp_path.iterdir()) == []


WORKING = """if True:
    import signal, sys
    import dpdb
    import pyarrow as pa
    if "handler" in sys.argv:  # what the command line installs
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    def progress(step):
        if step == "opening the table":
            return
        print("working", flush=True)  # between the debit and the answer
        session._table.database.value("SELECT sum(hash(range) % 7) FROM range(1000000000000)")
    table = pa.table({"a": [1, 1], "b": [1, 2]})
    with dpdb.open(table, constraints="a -> b", temp_directory=sys.argv[1], progress=progress) as session:
        session.dp_inconsistency(epsilon=1)
    print("done", flush=True)
"""


def killed(folder: Path, number: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", WORKING, str(folder), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "working\n"
    time.sleep(0.3)  # inside the query, which takes an hour
    assert len(list(folder.iterdir())) == 1
    out = err = None
    for _ in range(5):  # DuckDB loses a signal that arrives just as a query starts: press again
        process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            out, err = process.communicate(timeout=5)
            break
    else:
        process.kill()
        out, err = process.communicate()
        pytest.fail("five signals did not end the process")
    return subprocess.CompletedProcess([], process.returncode, out, err)


@pytest.mark.heavy(family="long")
def test_it_goes_away_when_control_c_is_pressed_while_working(tmp_path: Path) -> None:
    """And Ctrl-C stays Ctrl-C, not the constant message of a failure: it must be able to stop a loop of releases."""
    done = killed(tmp_path, signal.SIGINT)
    assert "KeyboardInterrupt" in done.stderr
    assert done.returncode != 0
    assert "done" not in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.heavy(family="long")
def test_it_goes_away_when_terminated_while_working_under_a_handler_that_exits(tmp_path: Path) -> None:
    done = killed(tmp_path, signal.SIGTERM, "handler")
    assert done.returncode != 0
    assert "done" not in done.stdout
    assert list(tmp_path.iterdir()) == []


# -- parameters and budget ------------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.parametrize(
    "epsilon", [0, -1, math.nan, math.inf, -math.inf, "x", "", None, True, [], "1e-10", 1e300, "0"]
)
def test_bad_epsilons_are_refused_and_cost_nothing(session: dpdb.Session, epsilon: object) -> None:
    with pytest.raises(ParameterError, match=r"^epsilon " if epsilon is not None else "give epsilon"):
        session.dp_inconsistency(epsilon=epsilon)  # type: ignore[call-overload]
    with pytest.raises(ParameterError, match=r"^budget "):
        dpdb.open(TABLE, constraints=FD, budget=epsilon if epsilon is not None else "none")  # type: ignore[arg-type]
    assert session.spent() == 0


@pytest.mark.heavy
@pytest.mark.parametrize(
    "options",
    [
        {"measure": "drastic", "rate": True}, {"measure": "repairs"}, {"measure": None},
        {"measure": 3}, {"mechanism": "bound"}, {"mechanism": "nothing"}, {"mechanism": 3},
        {"measure": "all", "mechanism": "greedy"}, {"measure": "problematic", "mechanism": "em"},
        {"measure": "problematic", "mechanism": "em", "max_degree": 0}, {"max_degree": 1.5}, {"max_degree": True},
        {"max_degree": "9"}, {"confidence": 1}, {"confidence": 0.4}, {"confidence": math.nan}, {"confidence": "0.9"},
        {"confidence": None}, {"by": "zip"}, {"keys": ["1"]}, {"by": "zip", "keys": ["1", "1"]}, {"where": 5},
    ],
)  # fmt: skip
def test_bad_parameters_are_refused_and_cost_nothing(session: dpdb.Session, options: dict[str, object]) -> None:
    noise = StubNoise()
    with replaced_noise(noise), pytest.raises((ParameterError, PredicateError)) as caught:
        session.dp_inconsistency(**{"epsilon": 1, **options})  # type: ignore[call-overload]
    assert "\n" not in str(caught.value)
    assert (session.spent(), noise.draws) == (0, 0)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ledger": "x.ledger"}, "no ledger there"),
        ({"rows_per_person": 0}, "rows_per_person must be"),
        ({"rows_per_person": 1.5}, "rows_per_person must be"),
        ({"rows_per_person": True}, "rows_per_person must be"),
        ({"memory_limit": "lots"}, "memory_limit 'lots'"),
        ({"temp_directory": "no/such/place"}, "cannot be used"),
        ({"table": "t"}, "table name applies"),
        ({"csv_schema": {"a": "INT"}}, "a schema applies to columns without a type"),
        ({"constraints": []}, "no constraints"),
        ({"constraints": 5}, "constraints must be"),
        ({"constraints": "missing.dcs.txt"}, "not found"),
        ({"constraints": "zip -> town"}, "no column 'town'"),
    ],
)
def test_bad_sessions(options: dict[str, object], message: str) -> None:
    with pytest.raises(DpdbError, match=message):
        dpdb.open(TABLE, **{"constraints": FD, **options})  # type: ignore[arg-type]


def test_a_refused_budget_says_requested_remaining_and_difference() -> None:
    with replaced_noise(StubNoise()), dpdb.open(TABLE, constraints=FD, budget="1.5") as session:
        session.dp_inconsistency(epsilon=1)
        with pytest.raises(dpdb.BudgetExceededError) as caught:
            session.dp_inconsistency(epsilon="0.75")
        assert "requested epsilon 0.75, remaining 0.5, short by 0.25" in str(caught.value)
        assert caught.value.exit_code == 4
        assert (session.spent(), session.remaining()) == (1, 0.5)
        assert session.dp_inconsistency(epsilon="0.5").epsilon == 0.5
        assert session.remaining() == 0


def test_tenths_add_up_exactly() -> None:
    with replaced_noise(StubNoise()), dpdb.open(TABLE, constraints=FD, budget=1) as session:
        for _ in range(10):
            session.dp_inconsistency(epsilon=0.1)
        assert session.remaining() == 0
        with pytest.raises(dpdb.BudgetExceededError):
            session.dp_inconsistency(epsilon="0.00001")


def test_an_unlimited_budget_says_so() -> None:
    with replaced_noise(StubNoise()), dpdb.open(TABLE, constraints=FD) as session:
        session.dp_inconsistency(epsilon=100)
        assert "UNLIMITED" in repr(session)
        assert (session.spent(), session.remaining()) == (100, None)
    with dpdb.open(TABLE, constraints=FD, budget=2) as limited:
        assert "UNLIMITED" not in repr(limited)


@pytest.mark.parametrize("people", [1, 4])
def test_rows_per_person_divides_what_the_mechanism_spends(people: int) -> None:
    with dpdb.open(TABLE, constraints=FD, rows_per_person=people) as session:
        release = session.dp_inconsistency("repair", epsilon=2)
    assert release.noise_scale == pytest.approx(people / 2)
    assert (release.epsilon, session.spent()) == (2, 2)
    assert ("4 rows of one person" in release.guarantee) == (people == 4)


def test_the_costs_of_all_add_up(session: dpdb.Session) -> None:
    with replaced_noise(StubNoise()):
        releases = session.dp_inconsistency("all", epsilon="0.7")
    assert math.isclose(sum(release.epsilon for release in releases), 0.7, abs_tol=1e-12)  # type: ignore[union-attr]
    assert [release.measure for release in releases] == list(MEASURES)  # type: ignore[union-attr]
    assert session.spent() == 0.7


def test_a_closed_session_spends_nothing(session: dpdb.Session) -> None:
    session.close()
    session.close()
    with pytest.raises(DpdbError):
        session.dp_inconsistency(epsilon=1)
    assert session.spent() == 0


@pytest.mark.heavy(family="long")
def test_slices_are_forgotten_and_built_again(session: dpdb.Session) -> None:
    """More slices than are kept: each release is right, and the private database does not grow."""
    with replaced_noise(StubNoise()):
        values = [
            session.dp_inconsistency(epsilon="0.01", where=f"age > {k}").value for _ in range(2) for k in range(6)
        ]
    assert values == [2, 1, 1, 1, 0, 0] * 2
    database: Database = table_of(session).database
    assert len(database.rows("SELECT 1 FROM duckdb_schemas() WHERE schema_name LIKE 'slice%'")) <= 4
