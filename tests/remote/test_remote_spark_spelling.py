"""Predicates and terms have the same value for every row in Spark and in our own database, or are refused."""

from __future__ import annotations

import random
from typing import Any

import pytest
from helpers_spelling import check_predicates, rows

from dpdb.errors import PredicateError
from dpdb.opening import open_table

pytestmark = pytest.mark.filterwarnings("ignore")  # of PySpark, pandas and py4j, which are not ours to mend


def check(spark: Any, seed: int, predicates: int) -> None:
    table = rows(random.Random(seed), 400)
    check_predicates(spark.createDataFrame(table), "Spark", seed, predicates, table)


def test_predicates_have_the_same_value_for_every_row(spark: Any) -> None:
    check(spark, 1, 120)


@pytest.mark.slow
def test_three_thousand_predicates(spark: Any) -> None:
    for seed in range(2, 22):
        check(spark, seed, 150)


def test_what_is_refused_is_named(spark: Any) -> None:
    table = rows(random.Random(0), 1)
    with open_table(spark.createDataFrame(table)) as there:
        for text in (
            "lower(s) = 'a'",
            "upper(s) = 'A'",
            "x + 1 > 2",
            "c + h > DATE '2020-01-01'",
            "d * 2 > 1",
            "i / 2 > 1",
        ):
            with pytest.raises(PredicateError, match="Spark"):
                there.where(text)
