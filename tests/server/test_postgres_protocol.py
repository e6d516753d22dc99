"""PostgreSQL's protocol message by message: logins, cancellation, portions of rows, failures and what they cost."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import sqlite3
import struct
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from server_site import Server, count, in_one_of_three, make_site
from wire_client import EndedError, Wire, bind, describe, error_of, execute, packed, parse, startup

from dpdb.doors.server.postgres.conversation import Portal
from dpdb.doors.server.postgres.statements import Outcome, Prepared

PAID = count(0.01)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    analysts = {"ann": {}, "bob": {"quota": 0.5}, "carl": {"role": "checker"}, "olga": {"role": "owner"}}
    settings = {"failed_logins_per_minute": 1000, "request_seconds": 5}
    with Server(make_site(tmp_path_factory.mktemp("wire"), epsilon=50, analysts=analysts, settings=settings,
                          postgres=True)) as running:  # fmt: skip
        yield running


def rows(power: int, column: str) -> str:
    """A statement over 3 ** power rows."""
    return f"SELECT {column} FROM {', '.join(f'states s{one}' for one in range(power))}"


def client(server: Server, user: str = "ann", **more: str) -> Wire:
    made = Wire(server.postgres_port)
    assert made.log_in(user, server.site.tokens[user], **more)[-1] == (b"Z", b"I")
    return made


def kinds(found: list[tuple[bytes, bytes]]) -> bytes:
    return b"".join(kind for kind, _ in found)


def codes(found: list[tuple[bytes, bytes]]) -> list[str]:
    return [error_of(one)["C"] for one in found if one[0] == b"E"]


@pytest.mark.heavy(family="privacy")
def test_nobody_learns_who_is_an_analyst(served: Server) -> None:
    """A name that nobody has gets the same messages, and always the same salt, as one with a wrong token."""
    seen: dict[str, set[tuple[object, ...]]] = {}
    salts: dict[str, set[str]] = {}
    for name in ("ann", "nobody", "ann", "nobody", "", "ANN", "x" * 200):
        with Wire(served.postgres_port) as wire:
            found = wire.log_in(name, "wrong")
            seen.setdefault(name, set()).add(
                (kinds(found), *(len(body) for _, body in found), tuple(error_of(found[-1]).items()))
            )
            salts.setdefault(name, set()).add(wire.salt)
            with pytest.raises(EndedError):
                wire.message()
    assert len(set().union(*seen.values())) == 1, seen
    assert all(len(found) == 1 for found in salts.values())
    assert len(set().union(*salts.values())) == len(salts)


@pytest.mark.heavy(family="privacy")
def test_old_and_void_tokens(tmp_path: Path) -> None:
    """A new token ends the sessions of the old one and shows no other salt; one of earlier versions is HTTP's only."""
    from dpdb.doors.server.analysts import token_digest
    from dpdb.ledger import Ledger

    site = make_site(tmp_path, postgres=True)
    with Ledger.open(site.ledger) as ledger:
        ledger.rights.grant("old", token_digest("token"))
    with Server(site) as server:
        assert server.said[0].rstrip().endswith("earlier versions: `dpdb analyst add` anew for old")
        with Wire(server.postgres_port) as wire:
            assert codes(wire.log_in("old", "token")) == ["28P01"]
        with server.client(token="token") as http:
            assert http.get("/v1/account").status_code == 200
        with client(server) as wire:
            assert codes(wire.query(PAID)) == []
            token, before = site.add("ann"), site.spent()
            server.wait_for_access(token, 200)
            wire.send(packed(b"Q", f"{PAID}\0".encode()))
            assert error_of(wire.message())["C"] == "28000"
            with pytest.raises(EndedError):
                wire.message()
        with Wire(server.postgres_port) as again:
            assert codes(again.log_in("ann", site.tokens["ann"])) == ["28P01"]
            assert again.salt == wire.salt
        assert site.spent() == before


def test_newer_protocols_are_answered_by_the_older(served: Server) -> None:
    with Wire(served.postgres_port) as wire:
        found = wire.log_in("ann", served.site.tokens["ann"], 196_610, **{"_pq_.command_tag_format": "x"})
        assert found[0] == (b"v", struct.pack("!ii", 196_608, 1) + b"_pq_.command_tag_format\0")
        assert found[-1] == (b"Z", b"I")
    for code in (131_072, 262_144, 12345, 0):
        with Wire(served.postgres_port) as wire:
            wire.send(startup("ann", code))
            assert error_of(wire.message())["C"] == "0A000"
            with pytest.raises(EndedError):
                wire.message()


@pytest.mark.heavy(family="spending")
def test_describing_and_explaining_cost_nothing(served: Server) -> None:
    before = served.site.spent()
    with client(served) as wire:
        for text in (PAID, "SELECT value FROM dp_count('visits', $1)", f"EXPLAIN {PAID}", f"DESCRIBE {PAID}",
                     "CALL dp_count('visits', 0.25)", "SELECT * FROM dp_check($1)"):  # fmt: skip
            found = wire.extended(parse(text), describe("S"))
            assert kinds(found) == b"1tTZ", (text, found)
        assert kinds(wire.extended(parse(f"EXPLAIN {PAID}"), bind(), describe("P"), execute()))[:3] == b"12T"
        assert kinds(wire.extended(parse("SET a.b = 1"), describe("S"))) == b"1tnZ"
        assert kinds(wire.extended(parse(" -- nothing\n ;"), describe("S"), bind(), execute())) == b"1tn2IZ"
        assert codes(wire.extended(parse("SELECT * FROM visits"), describe("S"))) == ["42501"]
        assert codes(wire.extended(parse("SELECT city FROM visits WHERE $1"), describe("S"))) == ["42501"]
        assert codes(wire.extended(parse("SELEC $1"), describe("S"))) == ["42601"]
    assert served.site.spent() == before


@pytest.mark.heavy(family="spending")
def test_each_execution_costs_once_and_each_portion_nothing(served: Server) -> None:
    site = served.site
    with client(served) as wire:
        before = site.spent()
        text = "SELECT value, s FROM dp_count('visits', $1), unnest([1, 2, 3, 4, 5]) AS u(s)"
        wire.query("BEGIN")
        found = wire.extended(parse(text, "one"), bind(b"0.01", name="one", portal="rows"), execute("rows", 2))
        assert kinds(found) == b"12DDsZ"
        assert kinds(wire.extended(execute("rows", 2))) == b"DDsZ"
        found = wire.extended(execute("rows", 2), execute("rows", 2))
        assert kinds(found) == b"DNCCZ"
        assert [body for kind, body in found if kind == b"C"] == [b"SELECT 1\0", b"SELECT 0\0"]
        assert site.spent() - before == pytest.approx(0.01)
        wire.extended(bind(b"0.01", name="one"), execute(), bind(b"0.02", name="one"), execute())
        assert site.spent() - before == pytest.approx(0.04)
        assert kinds(wire.query("COMMIT")) == b"CZ"
        assert codes(wire.extended(execute("rows"))) == ["34000"]


@pytest.mark.heavy(family="spending")
def test_formats_that_do_not_fit_cost_nothing(served: Server) -> None:
    """Also where the client has asked for no description, so that only the statement itself tells its columns."""
    before = served.site.spent()
    three = packed(b"B", b"\0\0" + struct.pack("!hhh3h", 0, 0, 3, 0, 0, 0))
    with client(served) as wire:
        for bound in (three, bind(wanted=7), bind(wanted=-1)):
            assert codes(wire.extended(parse(PAID), bound, execute())) == ["08P01"]
            assert codes(wire.extended(parse(PAID), describe("S"), bound, execute())) == ["08P01"]
        assert served.site.spent() == before
        two = packed(b"B", b"\0\0" + struct.pack("!hhh2h", 0, 0, 2, 1, 0))
        found = wire.extended(parse("SELECT 1::BIGINT AS a, 2 AS b"), two, execute())
        assert found[2] == (b"D", struct.pack("!hiqi", 2, 8, 1, 1) + b"2")


@pytest.mark.heavy(family="long")
def test_a_diagnosis_takes_parameters(served: Server) -> None:
    text = "SELECT epsilon FROM dp_diagnose({}, by := 'state', keys := ['CA', 'NY'], epsilon := {})"
    before = served.site.spent()
    with client(served) as wire:
        for call, values in (
            (text.format("'visits'", "$1"), (b"0.01",)),
            (text.format("$1", "$2"), (b"visits", b"0.01")),
        ):
            assert kinds(wire.extended(parse(call), describe("S"))) == b"1tTZ"
            assert served.site.spent() == before
            assert codes(wire.extended(parse(call), describe("S"), bind(*values), execute())) == []
            assert served.site.spent() - before == pytest.approx(0.01)
            before = served.site.spent()


@pytest.mark.heavy(family="long")
def test_a_diagnosis_is_described_whatever_its_columns_and_keys(served: Server) -> None:
    """Before a value is there, and for nothing; then it is answered with the columns that were told."""
    text = "SELECT * FROM dp_diagnose('visits', by := $1, keys := $2, top := $3, epsilon := $4) AS d"
    values, before = (b"state", b"{CA,NY}", b"1", b"0.01"), served.site.spent()
    with client(served) as wire:
        described = wire.extended(parse(text, "a"), describe("S", "a"))
        assert kinds(described) == b"1tTZ"
        assert described[1][1] == struct.pack("!HIIII", 4, 25, 1009, 20, 701)
        for explained in (f"EXPLAIN {text}", f"DESCRIBE {text}"):
            assert kinds(wire.extended(parse(explained), describe("S"))) == b"1tTZ"
            assert kinds(wire.extended(parse(explained), bind(*values), execute()))[:3] == b"12D"
        assert served.site.spent() == before
        found = wire.extended(bind(*values, name="a"), describe("P"), execute())
        assert kinds(found) == b"2TDNCZ"
        assert found[1] == described[2]
        assert served.site.spent() - before == pytest.approx(0.01)
        several = "SELECT * FROM dp_diagnose('visits', by := $1, keys := $2, epsilon := 0.01) JOIN states ON true"
        assert kinds(wire.extended(parse(several), describe("S"))) == b"1tTZ"


def test_null_for_epsilon_is_refused_where_it_arrives_and_not_where_a_client_asks_for_columns(served: Server) -> None:
    calls = {
        "SELECT value FROM dp_count('visits', $1)": True,
        "SELECT value FROM dp_inconsistency('visits', 'repair', epsilon := $1)": True,
        "SELECT (dp_count('visits', rho := $1)).value": True,
        "SELECT run_id FROM dp_diagnose('visits', by := 'state', keys := ['CA', 'NY'], epsilon := $1)": True,
        "EXPLAIN SELECT value FROM dp_count('visits', $1)": True,
        "SELECT value FROM dp_inconsistency('visits', $1, 0.01)": True,
        "SELECT value FROM dp_count('visits', 0.01, where_clause := $1)": False,
        "SELECT value FROM dp_count('visits', 0.01, confidence := $1)": False,
    }
    before, paid = served.site.spent(), 0
    with client(served) as wire:
        for text, is_refused in calls.items():
            assert kinds(wire.extended(parse(text), describe("S"))) == b"1tTZ", text
            assert served.site.spent() - before == pytest.approx(paid * 0.01)
            for found in (wire.extended(parse(text), bind(None), execute()), wire.query(text.replace("$1", "NULL"))):
                assert ["is NULL" in error_of(one)["M"] for one in found if one[0] == b"E"] == [True] * is_refused, text
                paid += not is_refused
    assert served.site.spent() - before == pytest.approx(paid * 0.01)


def test_types_of_parameters_have_no_sign(served: Server) -> None:
    with client(served) as wire:
        found = wire.extended(parse("SELECT value FROM dp_count('visits', $1)", "", -1), describe("S"))
        assert kinds(found) == b"1tTZ"
        assert found[1][1] == struct.pack("!HI", 1, 2**32 - 1)


def test_a_portal_that_has_sent_its_rows_keeps_none() -> None:
    table = pa.table({"a": ["x" * 1_000] * 1_000})
    portal = Portal(Prepared("SELECT", "desk"), "SELECT", [], outcome=Outcome("SELECT 1000", table), sent=1_000)
    portal.finish()
    assert portal.outcome is not None
    assert portal.outcome.table is not None
    assert portal.outcome.table.schema == table.schema
    assert portal.outcome.table.get_total_buffer_size() < 100


@pytest.mark.heavy(family="long")
def test_after_an_error_messages_are_skipped_until_sync(served: Server) -> None:
    before = served.site.spent()
    with client(served) as wire:
        found = wire.extended(parse("SELECT * FROM visits"), bind(), execute(), parse(PAID), bind(), execute())
        assert kinds(found) == b"12EZ"
        query = packed(b"Q", PAID.encode() + b"\0")
        wire.send(parse("SELECT * FROM visits") + bind() + execute() + query + packed(b"S"))
        assert kinds(wire.until(b"Z")) == b"12EZ"
        wire.query("BEGIN")
        assert wire.query("SELECT * FROM visits")[-1] == (b"Z", b"E")
        assert codes(wire.query(PAID)) == ["25P02"]
        assert codes(wire.extended(parse(PAID))) == ["25P02"]
        assert (b"C", b"ROLLBACK\0") in wire.query("COMMIT")
        assert codes(wire.query(f"SELECT 1; SELECT * FROM visits; {PAID}")) == ["42501"]
    assert served.site.spent() == before


@pytest.mark.heavy(family="long")
def test_codes(served: Server) -> None:
    before = served.site.spent()
    told = {
        "SELECT * FROM visits": "42501", "COPY states TO STDOUT": "0A000", "MOVE 1 IN c": "34000",
        "PREPARE a AS SELECT 1": "0A000", "SET client_encoding = 'LATIN1'": "22023", "SET no_such = 1": "42704",
        "SET dpdb.runid = 'x'": "42704", "SHOW no_such": "42704", "SET": "42601", count(1000): "53400",
        "INSERT INTO states VALUES (1)": "25006", count(-1): "22023", count("NULL"): "22023", "SELEC 1": "42601",
        "SELECT (1": "42601", "SELECT 'a": "42601", "SELECT * FROM state": "42P01", "SELECT nope FROM states": "42703",
        "SELECT s.nope FROM states s": "42703", "SELECT nope(1)": "42883", "SELECT sum(state) FROM states": "42883",
        "SELECT read_text('x')": "42883", "SELECT value FROM dp_count('nowhere', 1)": "42P01",
        "SELECT value FROM dp_count('visits', 1, epsilonn := 1)": "22023", "SELECT * FROM dp_check('no')": "22023",
        "SELECT value FROM dp_count('visits', 1, 'nope = 1')": "42703", "SELECT * FROM 'a.csv'": "42501",
        "SELECT value FROM dp_count('visits', 1, 'zip IN (SELECT 1)')": "22023",
        "SELECT * FROM other.states": "42501", "SELECT 1 / (people - 39) FROM states": "22012",

        f"SELECT {'(' * 3000}1": "54000", "ATTACH 'x'": "42501", "SELECT value FROM dp_count('visits', state)": "22023",
        "SELECT value FROM dp_count('visits')": "22023", "SELECT value FROM dp_inconsistency('visits')": "22023",
    }  # fmt: skip
    with client(served) as wire:
        for text, code in told.items():
            assert codes(wire.query(text)) == [code], text
            assert codes(wire.extended(parse(text), bind(), execute())) == [code], text
        assert codes(wire.extended(parse("SELECT 1; SELECT 2"))) == ["42601"]
        assert codes(wire.extended(parse("SELECT $1::int"), bind(b"x"), execute())) == ["22P02"]
        assert codes(wire.extended(parse("SELECT $1"), bind(b"\xff"), execute())) == ["22021"]
        assert codes(wire.extended(parse("SELECT $1"), bind(), execute())) == ["08P01"]
        assert codes(wire.extended(bind(name="nothing"))) == ["26000"]
        wire.send(packed(b"F", b"anything"))
        assert codes(wire.until(b"Z")) == ["0A000"]
    for user, code in (("bob", "53400"), ("carl", "42501"), ("olga", "42501")):
        with client(served, user) as wire:
            assert codes(wire.query(count(1))) == [code]
    assert served.site.spent() == before


def test_tables_of_another_database_are_none(served: Server) -> None:
    """As PostgreSQL says it, of statements that are sent at once, prepared, of a cursor or explained."""
    others = ["x.public.states", '"Visits".public.states', 'VISITS2."public"."states"', "x.pg_catalog.pg_class"]
    with client(served) as wire:
        for table in others:
            for head in ("", "EXPLAIN ", "DECLARE c CURSOR WITH HOLD FOR "):
                assert codes(wire.query(f"{head}SELECT * FROM {table}")) == ["0A000"], (head, table)
            for text in (f"SELECT * FROM {table} LIMIT $1", f"SELECT $1,$2 FROM {table}"):
                wire.send(parse(text) + packed(b"S"))
                assert codes(wire.until(b"Z")) == ["0A000"], text
        found = wire.query("SELECT x.public.states.people FROM public.states")
        assert error_of(found[0])["M"] == 'cross-database references are not implemented: "x.public.states.people"'
        for table in ("visits.public.states", "VISITS.public.states", '"visits"."public"."states"'):
            assert not codes(wire.query(f"SELECT * FROM {table}")), table


@pytest.mark.heavy(family="spending")
def test_a_cursor_is_paid_once_and_hands_out_its_rows_in_order(served: Server) -> None:
    text = "SELECT value, s FROM dp_count('visits', 0.01), unnest([1, 2, 3, 4, 5]) AS u(s)"
    declare = f"DECLARE c NO SCROLL CURSOR FOR\n{text}"
    before = served.site.spent()
    with client(served) as wire:
        assert codes(wire.query(declare)) == ["25P01"]
        assert codes(wire.extended(parse(declare), bind(), execute())) == ["25P01"]
        for query, code in {
            "DECLARE c CURSOR FOR SELECT 1; FETCH -1 FROM c": "55000",
            "DECLARE c CURSOR FOR SELECT 1; FETCH c; FETCH 0 c": "55000",
            "DECLARE c SCROLL CURSOR SELECT 1": "0A000",
            "DECLARE c CURSOR FOR COMMIT": "42601", "DECLARE c CURSOR FOR DECLARE d CURSOR FOR SELECT 1": "42601",
            "DECLARE c CURSOR FOR SELECT * FROM visits": "42501", "FETCH c": "34000", "CLOSE c": "34000",
            "DECLARE c CURSOR FOR SELECT 1; DECLARE c CURSOR FOR SELECT 2": "42P03", "FETCH -1 FROM c": "34000",
            "DECLARE c CURSOR FOR SELECT 1; DECLARE d CURSOR FOR SELECT 2; DECLARE e CURSOR FOR SELECT 3": "54000",
        }.items():  # fmt: skip
            wire.query("BEGIN")
            assert codes(wire.query(query)) == [code], query
            assert codes(wire.query(declare)) == ["25P02"]
            wire.query("ROLLBACK")
        assert served.site.spent() == before
        wire.query("BEGIN")
        assert kinds(wire.query(declare)) == b"NCZ"
        assert served.site.spent() - before == pytest.approx(0.01)
        told = []
        for fetch, count_of in (
            ("FETCH FORWARD 2 FROM c", 2), ("fetch C", 1), ("FETCH NEXT FROM c", 1),
            ('FETCH ALL IN "c"', 1), ("FETCH 9 c", 0),
        ):  # fmt: skip
            found = wire.query(fetch)
            assert kinds(found) == b"T" + b"D" * count_of + b"CZ"
            assert found[-2] == (b"C", f"FETCH {count_of}\0".encode())
            told += [body for kind, body in found if kind == b"D"]
        assert len({*told}) == 5
        assert kinds(wire.query("CLOSE c; COMMIT")) == b"CCZ"
        wire.query("BEGIN; DECLARE c CURSOR FOR SELECT 1; COMMIT; BEGIN")
        assert codes(wire.query("FETCH c")) == ["34000"]
    assert served.site.spent() - before == pytest.approx(0.01)


@pytest.mark.heavy(family="long")
def test_session_statements_are_harmless(served: Server) -> None:
    tags = {
        "BEGIN": "BEGIN", "START TRANSACTION READ ONLY": "START TRANSACTION", "SAVEPOINT a": "SAVEPOINT",
        "ROLLBACK TO SAVEPOINT a": "ROLLBACK", "RELEASE a": "RELEASE", "END": "COMMIT", "ABORT": "ROLLBACK",
        "SET extra_float_digits = 3": "SET", "set search_path to public, a": "SET", "SET TIME ZONE 'UTC'": "SET",
        "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE": "SET", "SET NAMES 'utf-8'": "SET",
        "SET application_name TO 'a; b'": "SET", "RESET ALL": "RESET", "DISCARD ALL": "DISCARD ALL",
        "DEALLOCATE ALL": "DEALLOCATE ALL", "CLOSE ALL": "CLOSE CURSOR",
        "/* a */ -- b\n BEGIN;": "BEGIN", "ROLLBACK": "ROLLBACK",
    }  # fmt: skip
    with client(served) as wire:
        for text, tag in tags.items():
            assert (b"C", tag.encode() + b"\0") in wire.query(text), text
        for text in (f"SET a = {'a,' * 500}'", f"SET a = {'a' * 60_000}'", f"SET a TO {' ' * 60_000}'", "/*" * 30_000):
            began = time.monotonic()
            wire.query(text)
            assert time.monotonic() - began < 5  # no text takes more than one way to be read
        for text in ("SHOW server_version", "SHOW TRANSACTION ISOLATION LEVEL", "show timezone", "SHOW ALL"):
            assert kinds(wire.query(text)).startswith(b"TD"), text


@pytest.mark.heavy(family="spending")
def test_a_run_id_is_paid_once(served: Server) -> None:
    site, told, costs = served.site, [], []
    before = site.spent()
    for _ in range(2):
        with client(served) as wire:
            wire.query("SET dpdb.run_id = 'monday'")
            found = wire.query(count(0.125))
            told += [body for kind, body in found if kind == b"D"]
            costs += [error_of(one)["M"] for one in found if one[0] == b"N"]
            assert codes(wire.query(count(0.25))) == ["22023"]
            assert codes(wire.query("SELECT set_config('dpdb.run_id', 'friday', false)")) == ["0A000"]
            assert codes(wire.query("SELECT set_config('jit', 'off', false)")) == []
    with client(served, options="-c dpdb.run_id=monday") as wire:
        told += [body for kind, body in wire.query(count(0.125)) if kind == b"D"]
        wire.query("SET dpdb.run_id = ''")
        wire.query(count(0.125))
    assert len(told) == 3
    assert len({*told}) == 1
    assert costs == ["epsilon 0.125 by 1 release", "nothing; epsilon 0.125 by 1 release was debited before"]
    assert site.spent() - before == pytest.approx(0.25)


@pytest.mark.heavy(family="spending")
def test_what_is_said_to_be_spent_is_what_was_debited_now(served: Server) -> None:
    """Of releases, suites and diagnoses; the audit has the ids of all."""
    kinds_of_runs = {
        "FROM dp_count('visits', 0.01)": ("epsilon 0.01 by 1 release", "release"),
        "FROM dp_check('nightly', 0.01)": ("at most epsilon 0.01 by suite 'nightly'", "run"),
        "FROM dp_diagnose('visits', by := 'state', keys := ['CA', 'NY'], epsilon := 0.01)":
            ("epsilon 0.01 by 1 release", "run"),
    }  # fmt: skip
    told: list[tuple[str, str]] = []
    before, first = served.site.spent(), audited_epsilon(served)
    with client(served) as wire:
        for text, (cost, what) in kinds_of_runs.items():
            wire.query(f"SET dpdb.run_id = '{text[5:13]}'")
            for words in (cost, f"nothing; {cost} was debited before"):
                [notice] = [error_of(one) for one in wire.query(text) if one[0] == b"N"]
                assert notice["M"] == words
                told.append((text, notice["D"].removeprefix(f"{what} ")))
        [plan] = [body for kind, body in wire.query(f"EXPLAIN {count('1.234567891')}") if b"privacy_cost" in body]
        assert plan.endswith(b"epsilon 1.234567891 by 1 release")
        both = "SELECT * FROM dp_count('visits', 0.01) AS a, dp_count('visits', 0.02) AS b"
        wire.query("SET dpdb.run_id = 'dp_count'")
        [notice] = [error_of(one) for one in wire.query(both) if one[0] == b"N"]
        assert notice["M"] == "epsilon 0.02 by 1 release; epsilon 0.01 by 1 release was debited before"
        wire.query("SET dpdb.run_id = ''")
        text = f"{list(kinds_of_runs)[2]} WHERE true"
        found = [next(error_of(one) for one in wire.query(text) if one[0] == b"N") for _ in range(2)]
        assert [one["M"] for one in found] == ["epsilon 0.01 by 1 release"] * 2
        assert found[0]["D"] != found[1]["D"]  # without a run id each is a run of its own, which has a name
        told += [(text, one["D"].removeprefix("run ")) for one in found]
    with contextlib.closing(sqlite3.connect(served.site.folder / "audit.sqlite")) as audit:
        rows = audit.execute("SELECT text, releases FROM statement WHERE outcome = 'answered'").fetchall()
    listed = [(text, json.loads(ids)[0]) for text, ids in rows if ids and text in {one for one, _ in told}]
    assert sorted(listed) == sorted(told)
    assert audited_epsilon(served) - first == pytest.approx(served.site.spent() - before, abs=1e-9)


def audited_epsilon(server: Server) -> float:
    """All that the audit says to have been debited."""
    with contextlib.closing(sqlite3.connect(server.site.folder / "audit.sqlite")) as audit:
        return sum(float(epsilon) for (epsilon,) in audit.execute("SELECT epsilon FROM statement") if epsilon)


@pytest.mark.heavy(family="spending")
def test_cancelled_and_stopped_statements_keep_their_debits(tmp_path: Path) -> None:
    site = make_site(tmp_path, postgres=True, settings={"release_seconds": 1})
    with Server(site) as server, client(server) as wire:
        wire.query("SET dpdb.run_id = 'tuesday'")
        for key in ((wire.key[0], wire.key[1] ^ 1), wire.key):
            threading.Timer(0.4, cancelled, (server, key)).start()
            began = time.monotonic()
            assert codes(wire.query(count(0.25))) == (["57014"] if key == wire.key else [])
            assert (time.monotonic() - began < 0.9) == (key == wire.key)
        assert codes(wire.query(count(0.25))) == []  # the same run, which has gone on
        assert site.spent() == 0.25
        wire.query("SET dpdb.run_id = ''")
        threading.Timer(0.4, cancelled, (server, wire.key)).start()
        assert codes(wire.query(count(0.5))) == ["57014"]
        with client(server) as asking:
            asking.send(packed(b"Q", count(0.125).encode() + b"\0"))
            time.sleep(0.4)
            server.process.terminate()
            assert error_of(wire.message())["C"] == "57P01"
            assert codes(asking.until(b"Z")) == []
            assert error_of(asking.message())["C"] == "57P01"
            assert server.process.wait(20) == 0
    assert site.spent() == 0.875


def cancelled(server: Server, key: tuple[int, int]) -> None:
    with Wire(server.postgres_port) as other:
        other.send(struct.pack("!iiII", 16, 80877102, *key))
        with pytest.raises(EndedError):
            other.message()


@pytest.mark.heavy(family="spending")
@pytest.mark.parametrize("seconds", [0.3, pytest.param(0.05, marks=pytest.mark.slow),
                                     pytest.param(0.6, marks=pytest.mark.slow)])  # fmt: skip
def test_a_server_that_was_killed_answers_the_same_run(seconds: float, tmp_path: Path) -> None:
    site = make_site(tmp_path, postgres=True, settings={"release_seconds": 1})
    with Server(site) as server, client(server) as wire:
        wire.query("SET dpdb.run_id = 'killed'")
        wire.send(packed(b"Q", count(0.25).encode() + b"\0"))
        time.sleep(seconds)
        server.kill()
        with pytest.raises(EndedError):
            wire.until(b"Z")
    with Server(site) as server, client(server) as wire:
        wire.query("SET dpdb.run_id = 'killed'")
        found = [wire.query(count(0.25)) for _ in range(2)]
        assert codes(found[0]) == []
        assert [one for one in found[0] if one[0] == b"D"] == [one for one in found[1] if one[0] == b"D"]
    assert site.spent() == 0.25


@pytest.mark.heavy(family="privacy")
def test_silent_connections_keep_nobody_out(served: Server) -> None:
    """Of 300 that say nothing the oldest end for newcomers; who has logged in stays."""
    silent = []
    with client(served) as known:
        began = time.monotonic()
        with client(served):
            alone = time.monotonic() - began

        def among_silent_ones() -> float:
            for place in range(300):
                silent.append(Wire(served.postgres_port, address=f"127.0.0.{1 + place % 2}"))
                if place % 3:
                    silent[-1].send((b"\0\0\0", startup("ann"))[place % 3 - 1])
            began = time.monotonic()
            with client(served):
                return time.monotonic() - began

        try:
            assert in_one_of_three(among_silent_ones, 3 * alone + 1)
            assert codes(known.query("SELECT 1")) == []
        finally:
            for one in silent:
                one.socket.close()


@pytest.mark.heavy(family="long")
def test_deadlines(tmp_path: Path) -> None:
    """Of logins, of messages that have begun, and of answers that nobody reads."""
    site = make_site(tmp_path, postgres=True, settings={"request_seconds": 1})
    with Server(site) as server, client(server) as unread, contextlib.ExitStack() as opened:
        unread.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        unread.send(packed(b"Q", rows(9, f"'{'x' * 1000}' || s0.state").encode() + b"\0"))
        began = time.monotonic()
        half = opened.enter_context(client(server))
        half.send(packed(b"Q", b"SELECT 1\0")[:-3])
        late = [half]
        for first in (b"", startup("ann")[:20], startup("ann"), struct.pack("!ii", 8, 80877103)):
            late.append(opened.enter_context(Wire(server.postgres_port)))
            late[-1].send(first)
        for wire in late:
            with pytest.raises(EndedError):
                wire.until(b"Z")
        assert 0.5 < time.monotonic() - began < 9
        unread.exactly(5)  # the answer has begun
        time.sleep(4)
        with pytest.raises(EndedError):
            unread.until(b"Z")
        assert codes(opened.enter_context(client(server)).query("SELECT 1")) == []


@pytest.mark.heavy(family="long")
def test_only_so_much_is_read_and_kept(served: Server) -> None:
    with client(served) as wire:
        big = b"SELECT '" + b"x" * 70_000 + b"'\0"
        assert codes(wire.query(big[:-1].decode())) == ["54000"]
        wire.send(b"Q" + struct.pack("!i", 200_000_000) + b"x" * 1000)
        assert error_of(wire.message())["C"] == "54000"
    with client(served) as wire:
        found = wire.extended(*(parse("SELECT 1", str(one)) for one in range(300)))
        assert codes(found) == ["54000"]
    with client(served) as wire:
        wire.query("BEGIN")
        ten = rows(3, "s0.state")
        found = wire.extended(*(packed for one in "abc" for packed in (parse(ten), bind(portal=one), execute(one, 1))))
        assert codes(found) == ["54000"]


@pytest.mark.heavy(family="privacy")
def test_statements_of_an_analyst_wait_for_one_another(served: Server) -> None:
    """Two at once: a third waits for one of them, also where it comes over another door, and is then answered."""
    site = served.site
    with client(served) as one, client(served) as two, client(served) as three:
        before, slow = site.spent(), rows(19, "count(*)")
        for wire in (one, two):
            wire.send(packed(b"Q", f"{slow}\0".encode()))
        time.sleep(0.3)
        with ThreadPoolExecutor(2) as pool:
            waiting = [pool.submit(three.query, PAID), pool.submit(server_status, served)]
            time.sleep(0.3)
            assert not any(each.done() for each in waiting)
            assert site.spent() == before
            for wire in (one, two):
                wire.until(b"Z")
            assert codes(waiting[0].result()) == []
            assert waiting[1].result() == 200
        assert site.spent() == pytest.approx(before + 2 * 0.01)


def server_status(server: Server) -> int:
    return server.ask("ann", PAID).status_code


@pytest.mark.heavy(family="privacy")
def test_the_audit_names_the_door(served: Server) -> None:
    import sqlite3

    text = f"{PAID} -- {re.sub(r'[^a-z]', '', 'for the audit')}"
    with client(served) as wire:
        wire.query(text)
    with contextlib.closing(sqlite3.connect(served.site.folder / "audit.sqlite")) as audit:
        [row] = audit.execute("SELECT who, door, address, outcome, epsilon FROM statement WHERE text = ?", [text])
    assert row == ("ann", "postgres", "127.0.0.1", "answered", "0.01")
