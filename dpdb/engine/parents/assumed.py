"""Parents that nobody has declared, for what looks at no row of them: plans, and dirty copies of the measured table."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dpdb.constraints import DenialConstraint
from dpdb.database import Database
from dpdb.engine.parents.opened import ParentTable
from dpdb.errors import UnknownColumnError
from dpdb.schema import Column, TableSchema
from dpdb.sources import Source, without_rows

__all__ = ["AssumedParents"]


class AssumedParents:
    """Stands in for `Parents`: each parent has the columns that rules name, in the types of the measured table."""

    def found(
        self, database: Database, constraints: Sequence[DenialConstraint], schema: TableSchema
    ) -> tuple[tuple[DenialConstraint, ...], dict[str, ParentTable]]:
        """Return the constraints as they are, and for each parent a table without rows.

        Parameters
        ----------
        database, constraints, schema
            As of `ParentsOfTable.found`.
        """
        columns: dict[str, dict[str, Column]] = {}
        for dc in constraints:
            for rule in dc.inclusions:
                own = columns.setdefault(rule.parent, {})
                for name, wanted in zip(rule.columns, rule.parent_columns, strict=True):
                    own.setdefault(wanted, Column(wanted, _declared_type(dc, name, schema)))
        tables = {}
        for number, (parent, own) in enumerate(columns.items()):
            keys = f"assumed_parent_{number}"
            known = TableSchema(tuple(own.values()))
            database.execute(without_rows(known).this.ctas(keys, dialect="duckdb"))
            source = Source(parent, known, exp.to_table(keys))
            tables[parent] = ParentTable(
                parent,
                is_public=True,
                is_measured=False,
                schema=known,
                keys=exp.to_table(keys),
                source=source,
                opened="",
            )
        return tuple(constraints), tables


def _declared_type(dc: DenialConstraint, name: str, schema: TableSchema) -> str:
    if name not in schema.names:
        raise UnknownColumnError(f"{dc.label}: the table has no column {name!r}")
    return schema[name].declared_type
