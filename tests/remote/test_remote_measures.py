"""Decision bits, verdicts and rows that share keys, of the bundled table in other engines, by aggregates alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from helpers_postgres import Server

import dpdb
from dpdb.owner import exact_measures

HOSPITAL = Path(__file__).parents[2] / "examples" / "data" / "hospital.parquet"
CERTAIN = 1_000_000  # the noise is a few millionths of a bit, and no row, except with probability below exp(-1,000)
COLUMNS = ["city", "zip_code", "state", "county_name", "provider_number"]
NOT_NULL = [f"NOT NULL({name})" for name in COLUMNS]
RULES: dict[str, tuple[list[str], list[str]]] = {  # and the measures that they have
    "dependency": (["city -> zip_code"], ["maximal_consistency", "drastic"]),
    "condition on one row": (
        ["not(t1.city = t2.city & t1.zip_code != t2.zip_code & t1.state = 'AL')"],
        ["maximal_consistency", "drastic"],
    ),
    "left sides one in another": (
        [*NOT_NULL, "state -> county_name", "state, city -> zip_code"],
        ["maximal_consistency", "drastic"],
    ),
    "keys": (["UNIQUE(provider_number)", "UNIQUE(zip_code, city)"], ["problematic", "drastic"]),
    "one key": (["UNIQUE(provider_number)"], ["maximal_consistency", "problematic", "drastic"]),
}


def truths(rules: Sequence[str], measures: Sequence[str]) -> dict[str, float]:
    """What an owner reads from the whole conflict graph, another way than the one that is released."""
    rows = pq.read_table(HOSPITAL, columns=COLUMNS)
    exact = exact_measures(rows, list(rules), non_private=True, measures=list(measures))
    known = {"maximal_consistency": exact.consistency_bits, "problematic": exact.problematic, "drastic": exact.drastic}
    return {name: known[name] for name in measures}


def agrees(source: Any, table: str | None, rules: Sequence[str], measures: Sequence[str]) -> None:
    """Without `gather_rows`, so that no row may come."""
    with dpdb.open(source, table=table, constraints=list(rules)) as session:
        for name, truth in truths(rules, measures).items():
            found = session.dp_inconsistency(name, CERTAIN)  # type: ignore[call-overload]
            assert math.isclose(found.value, truth, rel_tol=2e-6, abs_tol=1e-5), name
            assert found.mechanism in ("decision_bits", "fewest_deletions", "sharing_rows")


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("name", RULES)
def test_postgresql_says_what_the_owner_reads_here(name: str, postgres: Server) -> None:
    rules, measures = RULES[name]
    if name == "keys":
        measures = measures[:1]  # two keys are a matching, which no aggregate finds
    agrees(postgres.address, postgres.holding(pq.read_table(HOSPITAL, columns=COLUMNS)), rules, measures)


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("name", RULES)
def test_spark_says_what_the_owner_reads_here(name: str, spark: Any) -> None:
    rules, measures = RULES[name]
    measures = measures[:1] if name == "keys" else measures
    agrees(spark.read.parquet(str(HOSPITAL)).select(*COLUMNS), None, rules, measures)


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("name", RULES)
def test_our_own_engine_says_what_the_owner_reads_here(name: str) -> None:
    agrees(pq.read_table(HOSPITAL, columns=COLUMNS), None, *RULES[name])
