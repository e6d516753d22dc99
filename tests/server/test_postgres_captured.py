"""Statements that clients send, captured from their public sources: each is answered, with PostgreSQL's columns.

`captured/catalog_statements.sql` names product, source, version and day above each statement.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
from helpers_postgres import Server as PostgresServer
from private_rows import shows_private
from server_site import Server, make_site

FILE = Path(__file__).parent / "captured" / "catalog_statements.sql"
# Types that nobody reads but by their text: rights, and expressions as PostgreSQL keeps them; and char[].
AS_TEXT = {194: 25, 1034: 1009, 1002: 1009, 2277: 25}
LACKING = {"attmissingval"}  # a column that the catalog here has not
EXPRESSIONS = {"typname": 25, "dependsonextensions": 1009, "ontable": 25}  # of names, which are told as text


class Captured(NamedTuple):
    product: str
    source: str
    version: str
    day: str
    text: str


def captured() -> list[Captured]:
    parts = re.split(r"^--: ", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    heads = [part.partition("\n") for part in parts]
    return [Captured(*head.split(" | "), text) for head, _, text in heads]


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(make_site(tmp_path_factory.mktemp("captured"), postgres=True)) as running:
        yield running
        assert running.site.spent() == 0


@pytest.fixture(scope="module")
def client(wire: Server) -> Iterator[psycopg.Connection[Any]]:
    place = f"host=127.0.0.1 port={wire.postgres_port} user=ann password={wire.site.tokens['ann']} dbname=served"
    with psycopg.connect(f"{place} sslmode=disable", autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def postgres(postgres_server: PostgresServer) -> Iterator[psycopg.Connection[Any]]:
    postgres_server.use_new_database()
    with psycopg.connect(postgres_server.address, autocommit=True) as connection:
        connection.execute("CREATE TABLE states (state text, people bigint)")
        connection.execute("CREATE TABLE visits (zip text, city text, age bigint, note text)")
        yield connection


def asked(connection: psycopg.Connection[Any], text: str) -> tuple[str, list[tuple[str, int]], list[list[Any]]]:
    found = connection.pgconn.exec_(text.encode())
    columns = [((found.fname(one) or b"").decode(), found.ftype(one)) for one in range(found.nfields)]
    rows = [[found.get_value(row, one) for one in range(found.nfields)] for row in range(found.ntuples)]
    return found.error_message.decode(), columns, rows


@pytest.mark.heavy(family="long")
def test_captured_statements_are_answered(client: psycopg.Connection[Any]) -> None:
    tried, answered, wrong = Counter[str](), Counter[str](), []
    for one in captured():
        error, _, rows = asked(client, one.text)
        tried[one.product] += 1
        answered[one.product] += not error
        wrong += [f"{one.product} {one.source}: {error}"] if error else []
        assert not shows_private(rows)
    print("\ncaptured: " + ", ".join(f"{name} {answered[name]} of {count}" for name, count in tried.items()))
    assert not wrong, "\n".join(wrong)
    assert tried.keys() == {"Npgsql", "Grafana", "Redash", "Metabase", "DBeaver", "pgAdmin 4", "psql"}


@pytest.mark.heavy(family="long")
def test_their_columns_are_those_of_postgresql(
    client: psycopg.Connection[Any], postgres: psycopg.Connection[Any]
) -> None:
    wrong = []
    for one in captured():
        (_, ours, _), (error, theirs, _) = asked(client, one.text), asked(postgres, one.text)
        assert not error, (one.product, error)
        expected = [(name, AS_TEXT.get(kind, kind)) for name, kind in theirs if name not in LACKING]
        pairs = [
            (mine, other) for mine, other in zip(ours, expected, strict=False)
            if mine != other and mine != (other[0], EXPRESSIONS.get(other[0]))
        ]  # fmt: skip
        if pairs or len(ours) != len(expected):
            wrong.append(f"{one.product} {one.source}: {pairs[:4]}, {len(ours)} and {len(expected)} columns")
    assert not wrong, "\n".join(wrong)


def test_npgsql_finds_its_types(client: psycopg.Connection[Any]) -> None:
    """Npgsql reads a column by the type that this statement tells of."""
    text = next(one.text for one in captured() if one.product == "Npgsql" and "elemtypoid" in one.text)
    rows = {row[2]: row for row in client.execute(text).fetchall()}  # type: ignore[arg-type]
    assert {"int8", "text", "float8", "numeric", "timestamp", "bool", "date"} <= rows.keys()
    assert rows["_int8"][3] == "a"
    assert rows["_int8"][5] == rows["int8"][1] == 20


@pytest.mark.heavy(family="long")
def test_grafana_lists_tables_and_columns(client: psycopg.Connection[Any]) -> None:
    texts = [one.text for one in captured() if one.product == "Grafana"]
    found = [client.execute(text).fetchall() for text in texts]  # type: ignore[arg-type]
    assert found[0] == [(1500,)]
    assert found[2] == [("public",)]
    assert found[3] == found[4] == [("states",), ("visits",)]
    assert found[5] == found[6] == [("state", "text"), ("people", "bigint")]
