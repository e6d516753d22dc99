"""What is told as PostgreSQL computes as PostgreSQL, or is refused: one corpus of statements, asked of both.

A statement of ours that PostgreSQL has not (its syntax, a function, an operator) is counted apart: `only here`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
import pyarrow.parquet as pq
import pytest
from case_share import twentieth
from helpers_postgres import Server as PostgresServer
from postgres_beside import compared, fill, in_one_process, write_files
from postgres_corpus import statements
from postgres_wide_corpus import answers, wide_statements
from private_rows import private_rows
from suite_door import door_with_suite

from dpdb.doors.sql import FrontEnd
from dpdb.ledger import Ledger


@pytest.fixture(scope="module")
def postgres(postgres_server: PostgresServer) -> Iterator[psycopg.Connection[Any]]:
    postgres_server.run("CREATE DATABASE beside LOCALE 'C.UTF-8' TEMPLATE template0")
    with psycopg.connect(postgres_server.address_of("owner", "beside"), autocommit=True) as connection:
        fill(connection)
        yield connection


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FrontEnd]:
    folder = tmp_path_factory.mktemp("beside")
    pq.write_table(private_rows(), folder / "visits.parquet")
    Ledger.create(folder / "visits.ledger", 50).close()
    with door_with_suite(folder, write_files(folder), ledger=folder / "visits.ledger") as opened:
        yield opened


def hold(texts: Sequence[str], postgres: psycopg.Connection[Any], door: FrontEnd) -> Counter[str]:
    found: Counter[str] = Counter()
    wrong = []
    for text in texts:
        outcome = compared(postgres, door, text)
        found[outcome.kind] += 1
        wrong += [f"{text}: {outcome.told}"] if outcome.kind == "different" else []
    print(f"\n{len(texts)} statements beside PostgreSQL: {dict(found)}")
    assert not wrong, "\n".join(wrong)
    return found


@pytest.mark.heavy(family="long")
def test_some_statements_beside_postgresql(postgres: psycopg.Connection[Any], door: FrontEnd) -> None:
    found = hold(twentieth([*statements()]), postgres, door)
    assert found["equal"] > 0.6 * found.total()


@pytest.mark.slow
def test_all_statements_beside_postgresql(postgres: psycopg.Connection[Any], door: FrontEnd) -> None:
    found = hold([*statements()], postgres, door)
    assert found.total() > 1_300
    assert found["equal"] > 1_000


@pytest.mark.heavy(family="long")
def test_some_more_statements_beside_postgresql(postgres: psycopg.Connection[Any], door: FrontEnd) -> None:
    with in_one_process(door):
        found = hold(twentieth([*wide_statements()])[::8], postgres, door)
    assert found["equal"] > 0.4 * found.total()


@pytest.mark.slow
def test_all_more_statements_beside_postgresql(postgres: psycopg.Connection[Any], door: FrontEnd) -> None:
    with in_one_process(door):
        found = hold([*wide_statements()], postgres, door)
    assert found.total() > 9_000
    assert found["equal"] > 5_000


@pytest.mark.heavy(family="long")
def test_answers_beside_postgresql(postgres: psycopg.Connection[Any], door: FrontEnd) -> None:
    """A release that was made once is the same rows at both sides; its statements are computed as PostgreSQL does."""
    release = "dp_count('visits', 0.5, by := 'state', keys := ['CA', 'NY', 'TX'], run_id := 'beside')"
    rows = door.run(f"SELECT * FROM {release} AS whole", "postgres").table.to_pylist()
    named = ("where", "value", "lower", "upper", "epsilon", "measure")
    postgres.execute(
        'CREATE TEMP TABLE answers ("where" text, value float8, lower float8, upper float8, epsilon float8, '
        "measure text)"
    )
    with postgres.cursor() as cursor:
        values = [[row[name] for name in named] for row in rows]
        cursor.executemany("INSERT INTO answers VALUES (%s, %s, %s, %s, %s, %s)", values)
    outcomes = {
        text: compared(postgres, door, text, ours)
        for text, ours in zip(answers("answers"), answers(release), strict=True)
    }
    assert not [(text, one.told) for text, one in outcomes.items() if one.kind == "different"]
    equal = sum(one.kind == "equal" for one in outcomes.values())
    print(f"\n{len(outcomes)} statements about an answer beside PostgreSQL: {equal} equal")
    assert equal > 0.9 * len(outcomes), [one for one in outcomes.items() if one[1].kind != "equal"]


@pytest.mark.heavy(family="long")
def test_a_statement_that_grows_by_its_macros_is_refused(door: FrontEnd) -> None:
    text = "x"
    for _ in range(40):
        text = f"round({text} + 1.5)"
    with pytest.raises(Exception, match="nested too deeply"):
        door.run(f"SELECT {text} FROM goods", "postgres")
    long = " + ".join(["x"] * 300)
    assert door.run(f"SELECT {long} FROM goods", "postgres").table.num_rows == 7
