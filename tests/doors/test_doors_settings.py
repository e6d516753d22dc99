"""Every door that opens a table knows every setting of `TableSpec`, one that releases every option of `Ask`."""

from __future__ import annotations

import inspect
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp

import dpdb
from dpdb.doors.cli.main import build_parser
from dpdb.doors.cli.options import option_of
from dpdb.doors.jobs.job_file import JOB_KEYS, RELEASE_KEYS
from dpdb.doors.sql import FrontEnd
from dpdb.doors.sql.call import RELEASES, read_call
from dpdb.engine import SETTINGS, TableSpec
from dpdb.errors import ParameterError, StatementRefusedError
from dpdb.ledger import Ledger
from dpdb.release import COUNT_OPTIONS, MEASURE_OPTIONS, OPTIONS, SHARE, Ask


@pytest.mark.parametrize("command", ["measure", "count", "sql", "explain", "exact", "plan"])
def test_commands_have_an_option_for_each(command: str) -> None:
    parser = build_parser().below[command]
    assert {option_of(setting) for setting in SETTINGS.values()} <= parser.options.keys()


def test_jobs_and_signatures_name_each() -> None:
    assert {setting.key for setting in SETTINGS.values()} <= {*JOB_KEYS}
    assert SETTINGS.keys() <= inspect.signature(dpdb.open).parameters.keys()
    assert SETTINGS.keys() - {"table"} <= inspect.signature(dpdb.register).parameters.keys()


FUNCTIONS = {"dp_inconsistency": MEASURE_OPTIONS, "dp_count": COUNT_OPTIONS}
# A literal of each kind, for the SQL doors.
LITERALS = {"text": "'a'", "amount": "0.5", "keys": "['a']", "whole": "2", "number": "0.9", "flag": "true"}
SPELLED = {"where": "where_clause", "by": "by_column", "keys": "group_keys"}


def test_functions_share_the_options_of_an_ask() -> None:
    assert {*MEASURE_OPTIONS, *COUNT_OPTIONS} == {field.name for field in fields(Ask)}
    for function, options in FUNCTIONS.items():
        assert {*options, "who"} <= inspect.signature(getattr(dpdb.Session, function)).parameters.keys()
    assert {*MEASURE_OPTIONS, "who"} <= inspect.signature(dpdb.dp_inconsistency).parameters.keys()


# An explanation goes to no ledger, so it has neither run nor label.
@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("measure", {*MEASURE_OPTIONS, "who"}),
        ("count", {*COUNT_OPTIONS, "who", "keys_from"} - {"sparse"}),  # a file of keys says that most are empty
        ("explain", {*MEASURE_OPTIONS} - {"run_id", "label"}),
    ],
)
def test_commands_have_every_option_of_a_release(command: str, options: set[str]) -> None:
    parser = build_parser().below[command]
    assert {f"--{name.replace('_', '-')}" for name in options} <= parser.options.keys()


def test_jobs_have_every_option_of_a_release() -> None:
    # The run id comes with the run, and jobs pay in epsilon.
    assert {*OPTIONS} - {"run_id", "rho"} <= {*RELEASE_KEYS}


@pytest.mark.parametrize(("function", "option"), [(name, option) for name in FUNCTIONS for option in FUNCTIONS[name]])
def test_statements_have_every_option_of_a_release(function: str, option: str) -> None:
    literal = LITERALS[OPTIONS[option].kind]
    cost = [] if option in {"epsilon", "rho"} else [parameter("epsilon", "1")]
    node = exp.Anonymous(this=function, expressions=[exp.Literal.string("t"), parameter(option, literal), *cost])
    if option in {
        "measure",
        "by",
        "keys",
        "mechanism",
        "sparse",
    }:  # the ask refuses: 'a' is no measure, keys need a column
        with pytest.raises(ParameterError, match=f"{option}=|unknown {option}"):
            read_call(node, "t")
    elif (function, option) == ("dp_inconsistency", "rho"):  # of repair, the default
        with pytest.raises(ParameterError, match="rho= is for counts of rows and maximal_consistency"):
            read_call(node, "t")
    else:
        assert getattr(read_call(node, "t"), option) != OPTIONS[option].default


def test_a_registered_connection_has_every_option_of_a_release() -> None:
    with duckdb.connect() as connection, dpdb.register(connection, constraints="a -> b"):
        for function, options in FUNCTIONS.items():
            (found,) = connection.sql(
                f"SELECT DISTINCT parameters FROM duckdb_functions() WHERE function_name = '{function}'"
            ).fetchall()
            assert [SPELLED.get(name, name) for name in options if SPELLED.get(name, name) not in found[0]] == []


def parameter(option: str, literal: str) -> exp.Expr:
    return exp.PropertyEQ(this=exp.column(option), expression=sqlglot.parse_one(literal, dialect="duckdb"))


@pytest.mark.heavy(family="alone")
def test_statements_and_connections_take_flags_and_rho(tmp_path: Path) -> None:
    rows = pa.table({"zip": ["1", "1", "2"], "city": ["a", "b", "c"]})
    Ledger.create(tmp_path / "rho.ledger", 1, notion="zcdp").close()
    opened = {"constraints": "zip -> city", "ledger": tmp_path / "rho.ledger"}
    rates = "dp_inconsistency('t', 'all', 0.5, rate := true, each_constraint := true)"
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        connection.execute("CREATE TABLE t AS FROM rows")
        with dpdb.register(connection, **opened) as registration:
            found = registration.execute(f"SELECT quantity FROM {rates}")
            assert found["quantity"].to_pylist() == 2 * [SHARE]
            (count,) = registration.execute("SELECT (dp_count('t', rho := 0.1)) AS c").column("c").to_pylist()
            assert (count["epsilon"], count["rho"]) == (None, 0.1)
            bits = "dp_inconsistency('t', 'maximal_consistency', rho := 0.1)"
            (of_bits,) = registration.execute(f"SELECT ({bits}) AS bits").column("bits").to_pylist()
            assert (of_bits["epsilon"], of_bits["rho"], of_bits["quantity"]) == (None, 0.1, "bits")
            with pytest.raises(ParameterError, match=r"either epsilon= .* or rho="):
                registration.execute("FROM dp_count('t', rho := 0.1, epsilon := 0.5)")
            with pytest.raises(ParameterError, match="epsilon is NULL"):
                registration.execute("FROM dp_count('t', epsilon := NULL)")
    (tmp_path / "rho.ledger").unlink()
    Ledger.create(tmp_path / "rho.ledger", 1, notion="zcdp").close()
    with dpdb.open(rows, **opened) as session, FrontEnd(session, "t") as front_end:
        assert [release.quantity for release in front_end.run(f"FROM {rates}").releases] == 2 * [SHARE]
        (count,) = front_end.run("FROM dp_count('t', rho := 0.1)").releases
        assert (count.epsilon, count.rho) == (None, 0.1)
        (of_bits,) = front_end.run("FROM dp_inconsistency('t', 'maximal_consistency', rho := 0.1)").releases
        assert (of_bits.epsilon, of_bits.rho, of_bits.quantity) == (None, 0.1, "bits")
        cost = front_end.run("EXPLAIN SELECT (dp_count('t', rho := 0.1)).value").table["explain_value"][0].as_py()
        assert cost == "rho 0.1 by 1 release"
        with pytest.raises(StatementRefusedError, match="cannot be rate: write true or false"):
            front_end.run("FROM dp_inconsistency('t', rate := 1, epsilon := 1)")


NEVER_NULL = ("epsilon", "rho", "measure")


@pytest.mark.parametrize("function", RELEASES)
def test_null_leaves_an_argument_out_but_never_what_is_spent(function: str) -> None:
    """By name and by place, of every parameter of every function."""
    needed = {"dp_check": ["'nightly'"], "dp_diagnose": ["'t'", "rules := true"]}.get(function, ["'t'"])

    def read(*arguments: str) -> Any:
        return read_call(sqlglot.parse_one(f"{function}({', '.join(arguments)})", dialect="duckdb"), "t", ["nightly"])

    paid = ["epsilon := 1"]
    for place, name in enumerate(RELEASES[function][1:], 1):
        cost = [] if name == "epsilon" else paid
        ways = [] if name == "rules" else [[*needed, f"{name} := {null}", *cost] for null in ("NULL", "(NULL)")]
        if function != "dp_diagnose" and not {*RELEASES[function][:place]} & {*NEVER_NULL}:
            ways.append([*needed, *["NULL"] * place, *cost])
        for arguments in ways:
            if name in NEVER_NULL:
                with pytest.raises(ParameterError, match=f"{name} is NULL: .*give a value"):
                    read(*arguments)
            else:
                assert read(*arguments) == read(*needed, *paid)


UNPRICED = "what a release costs is never a default: give epsilon, or rho on a zcdp ledger"
CALLS = {
    "dp_inconsistency": "dp_inconsistency('t', 'problematic')",
    "dp_count": "dp_count('t', where_clause := 'zip = ''1''')",
    "dp_diagnose": "dp_diagnose('t', 'zip', ['1', '2'])",
}


@pytest.mark.heavy
@pytest.mark.parametrize("function", CALLS)
def test_no_door_takes_a_cost_that_nobody_named(function: str) -> None:
    """On the command line `tests/cli`, in jobs `tests/jobs`; HTTP, MCP and PostgreSQL ask the front end."""
    call, rows = CALLS[function], pa.table({"zip": ["1", "1", "2"], "city": ["a", "b", "c"]})
    verb, given = {
        "dp_inconsistency": ("dp_inconsistency", {"measure": "problematic"}),
        "dp_count": ("dp_count", {"where": "zip = '1'"}),
        "dp_diagnose": ("diagnose", {"by": "zip", "keys": ["1", "2"]}),
    }[function]
    with dpdb.open(rows, constraints="zip -> city") as session, FrontEnd(session, "t") as front_end:
        for refused in (
            lambda: getattr(session, verb)(**given),
            lambda: getattr(dpdb, verb)(rows, constraints="zip -> city", **given),
            *(partial(front_end.run, f"{words} {call}") for words in ("FROM", "EXPLAIN SELECT * FROM")),
        ):
            with pytest.raises(ParameterError, match=UNPRICED):
                refused()
        assert session.spent() == 0
    with duckdb.connect() as connection, dpdb.register(connection, constraints="zip -> city") as registration:
        connection.register("rows", rows)
        connection.execute("CREATE TABLE t AS FROM rows")
        for form in ("FROM {}", *(["SELECT {}"] if function != "dp_diagnose" else [])):
            with pytest.raises(ParameterError, match=UNPRICED):
                registration.execute(form.format(call))
        assert registration.spent("t") == 0


def test_a_spec_shows_no_rows_and_refuses_unknown_names() -> None:
    spec = TableSpec.of(pa.table({"a": ["secret"]}), {"unit": "a", "max_rows": 2})
    assert repr(spec) == "<dpdb.TableSpec Table, unit='a', max_rows=2>"
    with pytest.raises(ParameterError, match=r"max_row.*max_rows"):
        TableSpec.of(None, {"max_row": 2})
    with pytest.raises(ParameterError, match="settings already"):
        TableSpec.of(spec, {"unit": "b"})
