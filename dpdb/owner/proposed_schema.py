"""Types proposed for columns that are text because no type was given. For the owner only: it reads rows.

Nothing else uses a proposal. A release takes types from the owner, never from rows: one row could change them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Unpack

from dpdb.engine import LocalTable, TableSettings, count_cells
from dpdb.errors import EngineError, SourceError
from dpdb.opening import open_local_table
from dpdb.sources import Faults, SourceLike, column_definition, member_names

# Words for a missing cell. In a column that gets another type than text they become NULL, because the type has no such
# value (`dpdb.engine` reads NaN as NULL, too); in a column of text they stay words.
_MISSING = ("n/a", "na", "#n/a", "nan", "-nan", "+nan", "null", "none", "nil", "-", "--", "?", "unknown", "missing")
_WHOLE = "[+-]?(0|[1-9][0-9]*)"
_NUMBER = r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?inf(inity)?"
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?"
# (type, pattern of its cells): the first type whose pattern all cells match, and to which all convert, is proposed. The
# patterns refuse cells that a conversion would change: 007 is a code, not 7.
_CANDIDATES = (
    ("INTEGER", _WHOLE),
    ("BIGINT", _WHOLE),
    ("HUGEINT", _WHOLE),
    ("DOUBLE", _NUMBER),
    ("BOOLEAN", "true|false"),
    ("DATE", _DAY),
    ("TIMESTAMP", f"{_DAY}[ T]{_CLOCK}"),
    ("TIMESTAMPTZ", f"{_DAY}[ T]{_CLOCK} ?(z|[+-][0-9]{{2}}(:?[0-9]{{2}})?)"),
    ("TIME", _CLOCK),
)
_CODE = "[+-]?0[0-9]+"
_SAMPLE = 1_000
_TOML_KEY = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class ProposedColumn:
    """A proposal for one untyped column, from the patterns of its cells. Exact, for the owner only.

    Attributes
    ----------
    type : str
        A SQL type to which all cells except the `missing` ones convert; VARCHAR if there is none.
    cells : int
        Cells that are not empty.
    missing : int
        Of these, words such as ``n/a``, which become NULL; always 0 for columns of text, which keep them.
    note : str or None
        The reason against another type.
    """

    name: str
    type: str
    cells: int
    missing: int
    note: str | None


@dataclass(frozen=True)
class ProposedSchema:
    """Types for the owner to confirm: no type is used before the owner gives it as a schema option."""

    source: str
    columns: tuple[ProposedColumn, ...]
    faults: Faults | None

    @property
    def option(self) -> str:
        """The proposal as the text of ``--schema``; texts are left out, so that nobody compares them by accident."""
        return ", ".join(column_definition(name, kind) for name, kind in self._pairs())

    @property
    def toml(self) -> str:
        """The proposal as the table of a job file."""
        return "\n".join(["[schema]", *(f'{_toml_key(name)} = "{kind}"' for name, kind in self._pairs())])

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and both spellings, ready for JSON."""
        fields = asdict(replace(self, faults=None))
        if self.faults is not None:
            fields["faults"] = {"files": self.faults.to_dict()["files"]}
        return {"non_private": True} | fields | {"schema": self.option, "toml": self.toml}

    def _pairs(self) -> list[tuple[str, str]]:
        return [(column.name, column.type) for column in self.columns if column.type != "VARCHAR"]


def _toml_key(name: str) -> str:
    return name if _TOML_KEY.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def propose_schema(
    source: SourceLike, *, table: str | None = None, **settings: Unpack[TableSettings]
) -> ProposedSchema:
    """Propose a type for each column of a source without a given type. Owner only: the result is not private.

    Every row is read. A type is proposed if every cell that is not empty, or a word for a missing one, looks like a
    value of it and converts to it; else VARCHAR.

    Parameters
    ----------
    source
        As `dpdb.open` takes it.
    table
        Table or view of a DuckDB file or connection.
    **settings
        As `dpdb.open`; of a `csv_schema` only what it says of all cells (``*``) counts, so that no column has a type.

    Raises
    ------
    SourceError
        As `dpdb.opening.open_table`.
    """
    members = member_names(source)
    given = {name: said for name, said in (settings.get("csv_schema") or {}).items() if name == "*"}
    settings["csv_schema"] = given | dict.fromkeys(members, "VARCHAR")
    with open_local_table(source, table=table, **settings) as opened:
        names = [column.name for column in opened.schema.columns if column.is_untyped or column.name in members]
        try:
            columns = tuple(_proposed(opened, name) for name in names)
        except EngineError:
            raise SourceError(f"{opened.description}: its cells could not be counted; see the owner's log") from None
        return ProposedSchema(opened.description, columns, opened.faults)


def _proposed(table: LocalTable, name: str) -> ProposedColumn:
    # All cells are tested against those patterns only that at least half of the first cells match.
    some = _counts(table, name, range(len(_CANDIDATES)), first=_SAMPLE)
    counts = _counts(table, name, [at for at, fit in some.fitting.items() if 2 * fit > some.known or not some.known])
    fitting = [at for at, count in counts.fitting.items() if counts.known and count == counts.known]
    if fitting:
        return ProposedColumn(
            name, _CANDIDATES[fitting[0]][0], counts.cells, counts.cells - counts.values[fitting[0]], None
        )
    return ProposedColumn(name, "VARCHAR", counts.cells, 0, counts.note())


@dataclass(frozen=True)
class _Counts:
    """Counts of cells: all, those that are not `_MISSING`, of these those that fit each candidate type, and codes.

    `values` has for each candidate type the number of cells that are not NULL if that type is declared.
    """

    cells: int
    known: int
    fitting: dict[int, int]
    values: dict[int, int]
    codes: int

    def note(self) -> str | None:
        """Explain why a column that nearly has another type is proposed as text."""
        if not self.known:
            return "no cell to judge by"
        if self.codes:
            return f"{self.codes:,} of {self.known:,} cells are digits that begin with 0, as codes do"
        most = max(self.fitting.values(), default=0)
        if 2 * most <= self.known:
            words = self.cells - self.known
            return (
                f"{words:,} of {self.cells:,} cells are words such as NA: as text they are values, not NULL"
                if words
                else None
            )
        at = next(at for at, count in self.fitting.items() if count == most)
        kind, lost = _CANDIDATES[at][0], self.cells - self.values[at]
        return f"all but {self.known - most:,} of {self.known:,} cells are {kind}; declared so, {lost:,} are NULL"


def _counts(table: LocalTable, name: str, candidates: Iterable[int], *, first: int | None = None) -> _Counts:
    asked = [*candidates]
    found = count_cells(table, name, [_CANDIDATES[at] for at in asked], missing=_MISSING, like=_CODE, first=first)
    fitting, values = (dict(zip(asked, counts, strict=True)) for counts in (found.fitting, found.values))
    return _Counts(found.cells, found.known, fitting, values, found.like)
