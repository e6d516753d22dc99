"""Spellings: trees of our own DuckDB's SQL in the SQL of another engine, with the same value for every row.

What a spelling does not know to be the same is refused when a constraint or predicate is bound, before anything is
spent: default deny.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeAlias

from sqlglot import exp

from dpdb.database import Database
from dpdb.predicates import Node, Term
from dpdb.remote.foreign_spelling import ForeignSpelling
from dpdb.remote.postgres_spelling import PostgresSpelling
from dpdb.remote.spark_spelling import SparkSpelling

__all__ = ["SPELLINGS", "DuckDBSpelling", "Spelling"]


class DuckDBSpelling:
    """Our own SQL."""

    hashes_keys: ClassVar[bool] = True

    def why_not_compared(self, kind: str, wanted: str) -> str | None:
        """Return None: it is where comparisons come from."""
        del kind, wanted
        return None

    def why_not(self, part: Node | Term) -> str | None:
        """Return None."""
        del part
        return None

    def spelled(self, database: Database, tree: exp.Expr) -> exp.Expr:
        """Return the tree."""
        del database
        return tree

    def row_hash(self, columns: Sequence[exp.Expr]) -> exp.Expr:
        """Hash as the canonical order does."""
        return exp.Anonymous(this="hash", expressions=list(columns))

    def hash_sum(self, row_hash: exp.Expr) -> exp.Expr:
        """Add up in 128 bits."""
        return exp.Sum(this=exp.cast(row_hash, "HUGEINT", dialect="duckdb"))

    def spread(self, query: exp.Select, column: exp.Column) -> exp.Select:
        """Return the query: all rows are in one place."""
        del column
        return query


Spelling: TypeAlias = DuckDBSpelling | ForeignSpelling
"""The SQL of one engine; `ForeignSpelling` says what each method is for."""

SPELLINGS: dict[str, Spelling] = {"duckdb": DuckDBSpelling(), "postgres": PostgresSpelling(), "spark": SparkSpelling()}
