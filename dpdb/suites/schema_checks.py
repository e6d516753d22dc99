"""Checks of a table's columns: which there are, of which types, in which order.

Names and types of columns are public, so these verdicts are exact: nothing is drawn, debited or recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from sqlglot import exp
from sqlglot.errors import SqlglotError

from dpdb.constraints import SCHEMA, SchemaLine
from dpdb.errors import ParameterError
from dpdb.schema import Column, TableSchema
from dpdb.suites.mechanism.plan import Severity
from dpdb.suites.result import CheckResult


@dataclass(frozen=True)
class SchemaCheck:
    """One line of a suite about the columns.

    Attributes
    ----------
    name : str
        As the file names it, else its text.
    text : str
        The line without name and limit.
    number : int
        Of the line in its file or text, from 1.
    """

    name: str
    line: SchemaLine
    severity: Severity
    text: str = field(compare=False)
    number: int = field(compare=False)

    def judged(self, schema: TableSchema) -> CheckResult:
        """Return the verdict, with what differs. Reads no row.

        Raises
        ------
        ParameterError
            If a type of it is none of DuckDB's.
        """
        columns = [column for column in schema.columns if type(column) is Column]  # none that rules compute
        problems = list(_problems(self.line, columns))
        return CheckResult(
            name=self.name,
            rule=self.text,
            verdict="fail" if problems else "pass",
            severity=self.severity,
            limit=0,
            direction="above",
            unit="rows",
            statistic=SCHEMA,
            lower=len(problems),
            upper=len(problems),
            level=0,
            differs="; ".join(problems) or None,
        )


def judged_schema(checks: Iterable[SchemaCheck], schema: TableSchema) -> tuple[CheckResult, ...]:
    """Return the verdicts of checks of the columns, in the order of the file. Errors as `SchemaCheck.judged`."""
    return tuple(check.judged(schema) for check in checks)


def _problems(line: SchemaLine, columns: Sequence[Column]) -> Iterator[str]:
    found = {name: _found(name, columns) for name, _ in line.columns}
    if line.kind == "has no":
        yield from (f"{columns[place].name} is there" for place in found.values() if place is not None)
        return
    for name, kind in line.columns:
        place = found[name]
        if place is None:
            yield f"no column {name}"
        elif kind is not None and _type(columns[place].declared_type) != _type(kind):
            yield f"{columns[place].name} is {columns[place].declared_type}, not {kind}"
    if line.kind == "is":
        known = set(found.values())
        yield from (f"{column.name} is there, too" for place, column in enumerate(columns) if place not in known)
    if line.in_order:
        places = [place for place in found.values() if place is not None]
        names = [columns[place].name for place in places]
        if places != sorted(places):
            yield f"{', '.join(columns[place].name for place in sorted(places))} is the order, not {', '.join(names)}"


def _found(name: str, columns: Sequence[Column]) -> int | None:
    """Return the place of a column: an exact match, else the only one up to case."""
    exact = [place for place, column in enumerate(columns) if column.name == name]
    alike = [place for place, column in enumerate(columns) if column.name.casefold() == name.casefold()]
    return exact[0] if exact else alike[0] if len(alike) == 1 else None


@cache
def _type(written: str) -> str:
    """Return one spelling of a type; refuse what is none."""
    try:
        return exp.DataType.build(written, dialect="duckdb").sql("duckdb").casefold()
    except SqlglotError:
        raise ParameterError(f"{written} is no type of DuckDB's") from None
