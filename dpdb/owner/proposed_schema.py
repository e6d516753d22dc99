"""Types proposed for columns that are text because no type was given. For the owner only: it reads rows.

Nothing else uses a proposal. A release takes types from the owner, never from rows: one row could change them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Unpack

from sqlglot import exp

from dpdb.engine import LocalTable, TableSettings, cells_without_value, count_cells
from dpdb.errors import EngineError, SourceError
from dpdb.opening import open_local_table
from dpdb.sources import ALL_CELLS, Faults, SourceLike, column_definition, likely_writing, member_names, split_writing

# Words for a missing cell. In a column that gets another type than text they become NULL, because the type has no such
# value (`dpdb.engine` reads NaN as NULL, too); in a column of text they stay words.
MISSING = ("n/a", "na", "#n/a", "nan", "-nan", "+nan", "null", "none", "nil", "-", "--", "?", "unknown", "missing")
_WHOLE = "[+-]?(0|[1-9][0-9]*)"
_NUMBER = r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?inf(inity)?"
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?"


def _grouped(groups: str, point: str) -> str:
    """Return how numbers look that are written with signs between groups of digits and before the fraction."""
    whole = f"(0|[1-9][0-9]*|[1-9][0-9]{{0,2}}({groups}[0-9]{{3}})+)"
    return f"[+-]?{whole}" + (f"({point}[0-9]*)?" if point else "")


# (type, pattern of its cells, format): the first type whose pattern all cells match, and to which all convert, is
# proposed. The patterns refuse cells that a conversion would change: 007 is a code, not 7.
CANDIDATES: tuple[tuple[str, str, str | None], ...] = (
    ("INTEGER", _WHOLE, None),
    ("BIGINT", _WHOLE, None),
    ("HUGEINT", _WHOLE, None),
    ("DOUBLE", _NUMBER, None),
    ("BOOLEAN", "true|false", None),
    ("DATE", _DAY, None),
    ("TIMESTAMP", f"{_DAY}[ T]{_CLOCK}", None),
    ("TIMESTAMPTZ", f"{_DAY}[ T]{_CLOCK} ?(z|[+-][0-9]{{2}}(:?[0-9]{{2}})?)", None),
    ("TIME", _CLOCK, None),
    ("DOUBLE", _grouped(r"\.", ","), "1.234,5"),
    ("DOUBLE", _grouped(",", r"\."), "1,234.5"),
    ("DOUBLE", _grouped("[ ]", ","), "1 234,5"),
    ("DOUBLE", _grouped("'", r"\."), "1'234.5"),
    *(
        (kind, ".*", day + clock)
        for day in ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%d.%m.%y", "%d/%m/%y",
                    "%m/%d/%y", "%d %b %Y", "%d-%b-%Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y")
        for kind, clock in (("DATE", ""), *(("TIMESTAMP", hours) for hours in (" %H:%M", " %H:%M:%S", " %I:%M %p")))
    ),
    *(
        ("BOOLEAN", words.replace("/", "|"), words)
        for words in ("ja/nein", "wahr/falsch", "yes/no", "oui/non", "vrai/faux")
    ),
)  # fmt: skip
_CODE = "[+-]?0[0-9]+"
_SAMPLE = 1_000
_EXAMPLES, _LONGEST_EXAMPLE = 3, 40
_TOML_KEY = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class ProposedColumn:
    """A proposal for one untyped column, from the patterns of its cells. Exact, for the owner only.

    Attributes
    ----------
    type : str
        A SQL type to which all cells except the `missing` ones convert, with a format where it needs one; VARCHAR if
        there is none.
    cells : int
        Cells that are not empty.
    missing : int
        Of these, words such as ``n/a``, which become NULL; always 0 for columns of text, which keep them.
    lost : tuple of str
        Some of the cells that are NULL if this type is declared, or the other one that the note names.
    """

    name: str
    type: str
    cells: int
    missing: int
    note: str | None
    lost: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProposedSchema:
    """Types for the owner to confirm: no type is used before the owner gives it as a schema option.

    Attributes
    ----------
    faults : Faults or None
        What was not read with the declarations of `cells`.
    cells : dict of str to str
        What is said of all cells (``*``), and the names of columns where no line of the file names them.
    """

    source: str
    columns: tuple[ProposedColumn, ...]
    faults: Faults | None
    cells: dict[str, str] = field(default_factory=dict)

    @property
    def option(self) -> str:
        """The proposal as the text of ``--schema``; texts are left out, so that nobody compares them by accident."""
        return ", ".join(column_definition(name, kind) for name, kind in self._pairs())

    @property
    def toml(self) -> str:
        """The proposal as the table of a job file."""
        return "\n".join(["[schema]", *(f"{_toml_key(name)} = {_toml_text(kind)}" for name, kind in self._pairs())])

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and both spellings, ready for JSON."""
        fields = asdict(replace(self, faults=None))
        if self.faults is not None:
            fields["faults"] = {"files": self.faults.to_dict()["files"]}
        fields["cells"] = self.cells.get(ALL_CELLS)
        return {"non_private": True} | fields | {"schema": self.option, "toml": self.toml}

    def _pairs(self) -> list[tuple[str, str]]:
        # Where the schema names the columns, all of them are in it, and in their order.
        named = [column for column in self.columns if column.type != "VARCHAR" or column.name in self.cells]
        said = [(ALL_CELLS, self.cells[ALL_CELLS])] if ALL_CELLS in self.cells else []
        return [*said, *((column.name, column.type) for column in named)]


def _toml_key(name: str) -> str:
    return name if _TOML_KEY.fullmatch(name) else _toml_text(name)


def _toml_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def propose_schema(
    source: SourceLike, *, table: str | None = None, **settings: Unpack[TableSettings]
) -> ProposedSchema:
    """Propose a type for each column of a source without a given type. Owner only: the result is not private.

    How all cells are written is told by the beginning of CSV text, unless it is given.

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
    """
    members = member_names(source)
    given = settings.get("csv_schema") or {}
    columns, writing = split_writing(given)
    cells = {}
    if writing is not None:
        named = {} if writing.header else dict.fromkeys(columns, "VARCHAR")
        cells = {ALL_CELLS: given[ALL_CELLS], **named}
    elif not members:
        cells = likely_writing(source, settings.get("delimiter"))
    settings["csv_schema"] = cells | dict.fromkeys(members, "VARCHAR")
    with open_local_table(source, table=table, **settings) as opened:
        chosen = {*members, *cells}
        names = [column.name for column in opened.schema.columns if column.is_untyped or column.name in chosen]
        try:
            proposed = tuple(_proposed(opened, name) for name in names)
        except EngineError:
            raise SourceError(f"{opened.description}: its cells could not be counted; see the owner's log") from None
        return ProposedSchema(opened.description, proposed, opened.faults, cells)


def _proposed(table: LocalTable, name: str) -> ProposedColumn:
    # All cells are tested against those patterns only that at least half of the first cells match.
    some = _counts(table, name, range(len(CANDIDATES)), first=_SAMPLE)
    counts = _counts(table, name, [at for at, fit in some.fitting.items() if 2 * fit > some.known or not some.known])
    fitting = [at for at, count in counts.fitting.items() if counts.known and count == counts.known]
    others = [_type_of(at) for at in fitting[1:] if _is_other(CANDIDATES[fitting[0]], CANDIDATES[at])]
    if fitting and not others:
        lost = counts.cells - counts.values[fitting[0]]
        examples = _examples(table, name, fitting[0]) if lost else ()
        return ProposedColumn(name, _type_of(fitting[0]), counts.cells, lost, None, examples)
    if fitting:
        note = f"all cells are {_type_of(fitting[0])}, and {' and '.join(others)}, too: say which"
        return ProposedColumn(name, "VARCHAR", counts.cells, 0, note)
    nearest = counts.nearest()
    examples = () if nearest is None else _examples(table, name, nearest)
    return ProposedColumn(name, "VARCHAR", counts.cells, 0, counts.note(), examples)


def _is_other(one: tuple[str, str, str | None], two: tuple[str, str, str | None]) -> bool:
    """Say whether cells that fit both are other values by the second one, such as another order of day and month."""
    if two[2] is None or one[0] in ("INTEGER", "BIGINT", "HUGEINT"):
        return False
    if two[0] == "DOUBLE":  # 1,234: which sign stands before the fraction
        return (one[2] or "0.5")[-2] != two[2][-2]
    return one[2] is not None


def _type_of(at: int) -> str:
    kind, _, written = CANDIDATES[at]
    return kind if written is None else f"{kind} {exp.Literal.string(written).sql('duckdb')}"


def _examples(table: LocalTable, name: str, at: int) -> tuple[str, ...]:
    kind, _, written = CANDIDATES[at]
    found = cells_without_value(table, name, kind, written, _EXAMPLES)
    return tuple(cell if len(cell) <= _LONGEST_EXAMPLE else f"{cell[:_LONGEST_EXAMPLE]}..." for cell in found)


@dataclass(frozen=True)
class _Counts:
    """Counts of cells: all, those that are not `MISSING`, of these those that fit each candidate type, and codes.

    `values` has for each candidate type the number of cells that are not NULL if that type is declared.
    """

    cells: int
    known: int
    fitting: dict[int, int]
    values: dict[int, int]
    codes: int

    def nearest(self) -> int | None:
        """Return the candidate type of most of the cells, if it has more than half of them and they are no codes."""
        at = max(self.fitting, key=lambda each: self.fitting[each], default=None)
        return at if at is not None and not self.codes and 2 * self.fitting[at] > self.known else None

    def note(self) -> str | None:
        """Explain why a column that nearly has another type is proposed as text."""
        if not self.known:
            return "no cell to judge by"
        if self.codes:
            return f"{self.codes:,} of {self.known:,} cells are digits that begin with 0, as codes do"
        at = self.nearest()
        if at is None:
            words = self.cells - self.known
            return (
                f"{words:,} of {self.cells:,} cells are words such as NA: as text they are values, not NULL"
                ", unless it is declared as VARCHAR NULLS 'NA', or * (nulls ...) names them"
                if words
                else None
            )
        most, lost = self.fitting[at], self.cells - self.values[at]
        return (
            f"all but {self.known - most:,} of {self.known:,} cells are {_type_of(at)}; declared so, {lost:,} are NULL"
        )


def _counts(table: LocalTable, name: str, candidates: Iterable[int], *, first: int | None = None) -> _Counts:
    asked = [*candidates]
    found = count_cells(table, name, [CANDIDATES[at] for at in asked], missing=MISSING, like=_CODE, first=first)
    fitting, values = (dict(zip(asked, counts, strict=True)) for counts in (found.fitting, found.values))
    return _Counts(found.cells, found.known, fitting, values, found.like)
