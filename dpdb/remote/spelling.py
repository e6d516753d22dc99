"""Spellings: trees of our own DuckDB's SQL in the SQL of another engine, with the same value for every row.

What a spelling does not know to be the same is refused when a constraint or predicate is bound, before anything is
spent: default deny.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

from sqlglot import exp

from dpdb.database import Database
from dpdb.predicates import Node, Term
from dpdb.remote.postgres_spelling import PostgresSpelling
from dpdb.remote.spark_spelling import SparkSpelling

__all__ = ["SPELLINGS", "DuckDBSpelling", "Spelling"]


class Spelling(Protocol):
    """The SQL of one engine.

    Attributes
    ----------
    hashes_keys : bool
        Whether the rows of a key are sooner counted by their hashes than by their values, as measured. `row_hash` then
        gives all values that GROUP BY puts together one hash.
    """

    hashes_keys: ClassVar[bool]

    def why_not_compared(self, kind: str, wanted: str) -> str | None:
        """Say why columns of a type cannot be compared in another; None if they can, with the same outcome."""
        ...

    def why_not(self, part: Node | Term) -> str | None:
        """Say why a predicate or term has not the same value there; None if it has."""
        ...

    def spelled(self, database: Database, tree: exp.Expr) -> exp.Expr:
        """Spell a tree; `database` is our own, which says what literals mean."""
        ...

    def row_hash(self, columns: Sequence[exp.Expr]) -> exp.Expr:
        """Hash values into a whole number of 64 bits that is the same on every day."""
        ...

    def hash_sum(self, row_hash: exp.Expr) -> exp.Expr:
        """Add up hashes of rows without overflow."""
        ...

    def spread(self, query: exp.Select, column: exp.Column) -> exp.Select:
        """Let a query bring equal values of a column to one place, if few are equal and it is to be grouped by them."""
        ...


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


SPELLINGS: dict[str, Spelling] = {"duckdb": DuckDBSpelling(), "postgres": PostgresSpelling(), "spark": SparkSpelling()}
