"""PostgreSQL gives the values of our own engine, and refuses when it is opened or bound what it might read differently."""

from __future__ import annotations

import random

import pytest
from helpers_postgres import Server
from helpers_remote import compare, random_question


def check(postgres: Server, seeds: range) -> None:
    seen = {"edges": 0, "self-conflicts": 0, "tables": 0}
    for seed in seeds:
        rows, constraints, where = random_question(random.Random(seed))
        found = compare(rows, postgres.address, constraints, where, remote_table=postgres.holding(rows))
        seen["edges"] += found["degrees"][0]
        seen["self-conflicts"] += found["self-conflicts"]
        seen["tables"] += 1
    print("equal on", seen)
    assert all(seen.values()), seen


def test_random_tables(postgres: Server) -> None:
    check(postgres, range(10))


@pytest.mark.slow
def test_two_hundred_random_tables(postgres: Server) -> None:
    check(postgres, range(200, 400))
