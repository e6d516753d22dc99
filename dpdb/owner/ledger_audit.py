"""`audit`: what the releases of a ledger would be charged by the rules of this version. Reads no row, spends nothing.

A ledger keeps what a release was charged when it was made. Where an older version read a predicate otherwise than it
was evaluated, the recorded charge is too small, and only the owner can decide what that means for later releases.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dpdb.engine import SourceLike, Table, TableSchema, TypeOrigin, declared_table, empty_table
from dpdb.errors import DpdbError, ParameterError
from dpdb.ledger import EntryLine, Ledger
from dpdb.predicates import Region, region_from_text, region_to_text
from dpdb.privacy import ZCDP, Notion, parse_epsilon, parse_rho
from dpdb.release import parse_slices, pure_units, table_text

__all__ = ["Audit", "AuditedLine", "audit"]

_EVERY_ROW = Region()


@dataclass(frozen=True)
class AuditedLine:
    """One debit: the charge and the rows (in words) as recorded, and by the rules of this version.

    Attributes
    ----------
    refused : str or None
        Why this version would refuse the request; what was released then is counted as a release of every row.
    unknown : bool
        Whether the request names no release that this version can read; it is counted as recorded.
    changed : bool
        Whether charge or rows differ from what was recorded.
    """

    number: int
    epoch: int
    run_id: str | None
    charge: float
    rows: str
    charge_now: float
    rows_now: str
    refused: str | None
    unknown: bool
    changed: bool


@dataclass(frozen=True)
class Audit:
    """All debits of a ledger, and what they cost together: as recorded, and by the rules of this version.

    Attributes
    ----------
    parameter : str
        Of the ledger's notion: epsilon, rho or mu.
    """

    parameter: str
    budget: float
    spent: float
    spent_now: float
    lines: tuple[AuditedLine, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as plain values, ready for JSON."""
        return asdict(self)


def audit(
    ledger: str | Path,
    source: SourceLike | None,
    *,
    table: str | None = None,
    schema: Mapping[str, str] | None = None,
    delimiter: str | None = None,
) -> Audit:
    """Recompute the charges of a ledger from the recorded requests and the schema of its table.

    Parameters
    ----------
    ledger
        Its file.
    source : as `dpdb.open`, or None
        Only its column names and types are read, never a row. None: `schema` has them.
    table : str, optional
        Table or view of a DuckDB file or connection.
    schema : mapping of column to SQL type, optional
        Without a source: all columns. With a CSV file: types of its columns.
    delimiter : str, optional
        Of a CSV file.

    Raises
    ------
    LedgerError
        The ledger cannot be used, or is of a table with other columns or types, or that is cut at another delimiter.
    ParameterError
        Neither source nor schema is given.
    SourceError
        The source cannot be read.
    """
    known, read_as = _table(source, table, schema, delimiter)
    with Ledger.open(ledger) as opened, declared_table(known) as columns:
        opened.check_columns(table_text(columns.schema), read_as)
        recorded = opened.lines()
        read: dict[str, Region | str] = {}
        found = [_by_present_rules(columns, opened.notion, line, read) for line in recorded]
        pairs = list(zip(recorded, found, strict=True))
        changed = {line.number: (now.rows, now.charge) for line, now in pairs if now.differs_from(line)}
        notion, summary = opened.notion, opened.summary()
        spent_now = notion.value(opened.recharged_units(changed)) if changed else summary.spent
        lines = tuple(_in_words(notion, line, now) for line, now in pairs)
        return Audit(summary.parameter, summary.budget, summary.spent, spent_now, lines)


@dataclass(frozen=True)
class _Charge:
    """Rows and units of a line by the rules of this version."""

    rows: Region
    charge: int
    refused: str | None = None
    unknown: bool = False

    def differs_from(self, line: EntryLine) -> bool:
        """Return whether the line was charged otherwise."""
        return (region_to_text(self.rows), self.charge) != (line.predicate, line.charge)


def _table(
    source: SourceLike | None, table: str | None, schema: Mapping[str, str] | None, delimiter: str | None
) -> tuple[TableSchema | Mapping[str, str], str]:
    """Return the columns of a table, and what of the way in which its text is cut they do not tell."""
    if source is not None:
        with empty_table(source, table=table, csv_schema=schema, delimiter=delimiter) as found:
            # Text that nobody had declared was compared as text, and so it is read here.
            columns = (replace(column, origin=TypeOrigin.SOURCE) for column in found.schema.columns)
            return TableSchema(tuple(columns)), found.read_as
    if not schema:
        raise ParameterError("an audit needs a source, for its column names and types, or a schema in its place")
    return schema, ""


def _by_present_rules(columns: Table, notion: Notion, line: EntryLine, read: dict[str, Region | str]) -> _Charge:
    """Read the recorded request as if it were made now; `read` remembers slices, which many requests have in common."""
    recorded = _Charge(region_from_text(line.predicate), line.charge)
    asked: Any = json.loads(line.request)
    if not isinstance(asked, dict) or not {"epsilon", "rho"} & asked.keys():
        return replace(recorded, unknown=True)
    try:
        charge = _charge(notion, asked)
    except (DpdbError, ArithmeticError):
        return replace(recorded, unknown=True)
    slices = [asked.get(name) for name in ("where", "by", "keys")]
    text = json.dumps(slices)
    if text not in read:
        read[text] = _rows(columns, *slices)
    rows = read[text]
    return _Charge(_EVERY_ROW, charge, refused=rows) if isinstance(rows, str) else _Charge(rows, charge)


def _rows(columns: Table, where: Any, by: Any, keys: Any) -> Region | str:
    """The rows that are charged for slices, or why they would be refused."""
    try:
        return parse_slices(columns, where, by, keys).charged
    except DpdbError as error:
        return str(error)


def _charge(notion: Notion, asked: Mapping[str, Any]) -> int:
    if "rho" in asked:
        if notion is not ZCDP:
            raise ParameterError("only a zcdp ledger counts rho")
        return parse_rho(asked["rho"])
    parts = asked.get("parts") or {asked["epsilon"]: 1}
    costs = [cost for text, times in parts.items() for cost in [parse_epsilon(text)] * times]
    return pure_units(notion, costs, int(asked.get("rows_per_person", 1)))


def _in_words(notion: Notion, line: EntryLine, now: _Charge) -> AuditedLine:
    return AuditedLine(
        number=line.number,
        epoch=line.epoch,
        run_id=line.run_id,
        charge=notion.value(line.charge),
        rows=region_from_text(line.predicate).describe(),
        charge_now=notion.value(now.charge),
        rows_now=now.rows.describe(),
        refused=now.refused,
        unknown=now.unknown,
        changed=now.differs_from(line),
    )
