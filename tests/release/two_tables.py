"""Small databases of a child and a parent, and their statistics by the real code: rows kept, orphans, graph."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from sqlglot import exp

from dpdb.database.database import Database
from dpdb.engine.parents.opened import ParentTable, resolved
from dpdb.engine.table import LocalTable
from dpdb.engine.table_spec import ProtectedChange, TableSpec
from dpdb.release.statistics import SliceStatistics
from dpdb.schema import Column, TableSchema
from dpdb.sources.source import Source

Child = tuple[int | None, int, int]  # key, a, b
RULES = ("key IN p.id", "a -> b")
LOOK_UPS = ("CHECK (b <= p.c) BY key = p.id", "key IN p.id WHERE p.c = 0", "a -> b")
WITH_MEMBERS = (
    "CHECK (b <= p.c OR a NOT IN (SELECT x FROM v)) BY key = p.id",
    "CHECK (b <= p.c) BY key = p.id WHERE a IN (SELECT x FROM v)",
    "not(t1.a = t2.a & t1.b != t2.b & t1.b IN (SELECT x FROM v))",
)  # v is public and has the value 0
BESIDE = (*RULES, "b = 1: (key, a) IN p(id, c)", "not(t1.a < t2.a & t1.b > t2.b)")
CHILDREN = [(key, a, b) for key in (1, 2, None) for a, b in ((0, 0), (0, 1), (1, 0))]
PARENTS: list[tuple[int | None, int]] = [(1, 0), (1, 1), (2, 0), (None, 0)]
LOOKED_UP: list[tuple[int | None, int | None]] = [(1, 0), (1, 1), (2, 0), (2, None), (None, 0)]
THETAS = (1, 2)


@dataclass(frozen=True)
class Instance:
    """A child and a parent, whose columns are ``id, c``."""

    child: tuple[Child, ...]
    parent: tuple[tuple[int | None, int | None], ...]

    def without(self, unit: int, *, of_child: int = 0, of_parent: int = 0) -> Instance:
        """Remove a value of columns (by place) from both tables."""
        return Instance(
            tuple(row for row in self.child if row[of_child] != unit),
            tuple(row for row in self.parent if row[of_parent] != unit),
        )


@dataclass(frozen=True)
class Parents:
    """Gives the parent as it stands in the tested database: a table, or the measured one itself."""

    table: str = "tested_p"

    def found(self, database: Database, constraints: Sequence[Any], schema: TableSchema) -> Any:
        del schema
        columns = TableSchema(tuple(Column(name, kind) for name, kind in database.describe(f"FROM {self.table}")))
        rows = exp.to_table(self.table)
        parent = ParentTable("p", False, self.table == "tested", rows, Source("p", columns, rows))
        words = TableSchema((Column("x", "BIGINT"),))
        no_words = exp.select("0::BIGINT AS x").subquery()
        public = ParentTable("v", True, False, no_words, Source("v", words, no_words))
        known = {"p": ("p", columns), "v": ("v", words)}
        return tuple(resolved(dc, known) for dc in constraints), {"p": parent, "v": public}


def arrow(rows: Sequence[Sequence[Any]], names: str) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(names.split())
    return pa.table([pa.array(list(column), pa.int64()) for column in columns], names=names.split())


@contextmanager
def opened(
    database: Database, child: pa.Table, parent: pa.Table | None, rules: Sequence[str], **change: Any
) -> Iterator[LocalTable]:
    """Open a child beside its parent; without one beside itself. What is read stays a table of the database."""
    with (
        database.arrow_table("tested", child),
        database.arrow_table("tested_p", child if parent is None else parent),
    ):
        schema = TableSchema(tuple(Column(*each) for each in database.describe("FROM tested")))
        source = Source("tested", schema, exp.to_table("tested"))
        parents = Parents("tested" if parent is None else "tested_p")
        try:
            spec = TableSpec(None, list(rules), private_parents="p", change=ProtectedChange(**change))
            yield LocalTable(database, source, spec, parents=parents)
        finally:
            for made in ("unit_input", "unit_row"):
                database.execute(f"DROP TABLE IF EXISTS {made}")


def statistics(
    database: Database, instance: Instance, rules: Sequence[str], unit: str | None = None, most: int = 1, **change: Any
) -> dict[str, int]:
    change |= {} if unit is None else {"unit": unit, "max_rows": most}
    child, parent = arrow(instance.child, "key a b"), arrow(instance.parent, "id c")
    with opened(database, child, parent, rules, **change) as table:
        part = table.slice()
        try:
            own, orphans = SliceStatistics(part), part.self_conflicts
            found = {"rows": part.row_count, "orphans": orphans, "degree bound": own.degree_bound()}
            found["cover"] = own.twice_fractional_cover().value + 2 * orphans
            for theta in THETAS:
                found[f"edges {theta}"] = own.projected_edges([theta])[0] + orphans
                found[f"witness {theta}"] = own.witnesses([theta])[0] + orphans
            return found
        finally:
            part.close()


# One row of the measured table changes each of them by at most this; all of them are monotone in rows.
CLAIMED = {"rows": 1, "orphans": 1, "cover": 2} | {
    f"{name} {theta}": theta + (name == "witness") for name in ("edges", "witness") for theta in THETAS
}


def broken(larger: dict[str, int], smaller: dict[str, int], most: int, terms: int) -> list[str]:
    """Statistics that change by more than `most` rows may change them, or the other way."""
    claimed = CLAIMED | {"degree bound": terms}
    return [name for name, each in claimed.items() if not 0 <= larger[name] - smaller[name] <= most * each]


def instances(largest: int, parents: int, values: Sequence[tuple[int | None, int | None]] = PARENTS) -> list[Instance]:
    bags = [bag for size in range(largest + 1) for bag in itertools.combinations_with_replacement(CHILDREN, size)]
    beside = [bag for size in range(parents + 1) for bag in itertools.combinations_with_replacement(values, size)]
    return [Instance(child, parent) for child in bags for parent in beside]
