"""Random predicates through the real parser, charge and engine: what is read and what is charged must be one thing.

For every table: predicates and groups are bound, the engine says which rows each selects (many predicates in one query,
in the shape in which releases count), and the accountant says which rows each is charged for. `Findings.wrong` lists
what contradicts the boundary rules of the accountant:

- a row that a predicate selects lies outside the rows that it is charged for;
- two predicates that share a row are charged as disjoint (as the ledger stores them);
- a predicate that is charged for no row answers about a row, or is not refused;
- two keys of one call select the same row.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from random_predicates import KINDS, MOMENTS, NUMBERS, TEXTS, Predicates, RandomColumn, quoted
from sqlglot import exp
from text_reader import parse_where as read_as_text

from dpdb.database.database import Database
from dpdb.engine import LocalTable, TableSpec
from dpdb.engine.sql import comparison, where as engine_where
from dpdb.engine.sql.input_rows import read_columns
from dpdb.engine.sql.where import WherePredicate, parse_where
from dpdb.errors import ParameterError, PredicateError
from dpdb.names import folded
from dpdb.predicates import Region
from dpdb.predicates.region import region_from_text, region_to_text
from dpdb.predicates.value_sets import place
from dpdb.release import parts as session_slices
from dpdb.release.parts import parse_slices
from dpdb.schema import Column, TableSchema
from dpdb.sources.source import Source

_MOST_ROWS = 90
_FLAT = exp.to_table("flat")


@dataclass
class Findings:
    """What a run has seen."""

    seen: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def pairs(self) -> int:
        """Pairs of predicates with a row in common."""
        return self.seen["pairs that share a row"]


@dataclass(frozen=True)
class Asked:
    """A predicate or the groups of a call: SQL of its parts, and the rows charged for all of them."""

    words: str
    parts: tuple[WherePredicate, ...]
    charged: Region
    text: str | None


class Table:
    """A random table in a database, read as a session reads it."""

    def __init__(self, database: Database, rng: Random, kinds: Sequence[str]) -> None:
        self.database, self.rng = database, rng
        self.columns = [RandomColumn(f"c{place}", kind) for place, kind in enumerate(kinds)]
        self.drawn = Predicates(rng, self.columns)
        for name in ("raw", "flat"):
            database.execute(f"DROP TABLE IF EXISTS {name}")
        rows = [[self.drawn.cell(column.kind) for column in self.columns] for _ in range(_MOST_ROWS)]
        listed = ", ".join(f"({', '.join('NULL' if text is None else quoted(text) for text in row)})" for row in rows)
        casts = ", ".join(f"TRY_CAST({c.name} AS {c.kind}) AS {c.name}" for c in self.columns)
        names = ", ".join(c.name for c in self.columns)
        database.execute(f"CREATE TABLE raw AS SELECT {casts} FROM (VALUES {listed}) AS texts({names})")
        self.schema = TableSchema(tuple(Column(*described) for described in database.describe("SELECT * FROM raw")))
        self.source = Source("fuzz", self.schema, exp.to_table("raw"))
        self.opened = LocalTable(database, self.source, TableSpec(None))
        read_columns(database, self.source, set(self.schema.names), _FLAT, position="place")
        self.types = {column.name: column.type or "" for column in self.schema.columns}
        self.rows = self._as_keys()

    def _as_keys(self) -> list[dict[str, Any]]:
        """The rows as the accountant's order sees them; values without a modelled order are all the same."""
        shown = [comparison.shown_as(kind, exp.column(name)) for name, kind in self.types.items()]
        found = self.database.rows(exp.select(*shown).from_(_FLAT.copy()).order_by("place"))
        return [
            {
                folded(name): None if value is None else _key(kind, value)
                for (name, kind), value in zip(self.types.items(), row, strict=True)
            }
            for row in found
        ]

    def selected(self, conditions: Sequence[exp.Expr]) -> list[int]:
        """Per condition the rows for which it is true, as bits."""
        lists = [
            exp.Filter(
                this=exp.Anonymous(this="list", expressions=[exp.column("place")]),
                expression=exp.Where(this=condition),
            )
            for condition in conditions
        ]
        found = self.database.rows(exp.select(*lists).from_(_FLAT.copy()))[0]
        return [sum(1 << row for row in places or ()) for places in found]

    def selected_alone(self, condition: exp.Expr) -> int:
        """The same for one condition as the WHERE of a query, as conflict graphs read their slice."""
        found = self.database.rows(exp.select("place").from_(_FLAT.copy()).where(exp.paren(condition)))
        return sum(1 << row for (row,) in found)


def _key(kind: str, value: Any) -> Any:
    key = place(kind, value)
    return 0 if key is None else key


def fuzz(
    seed: int, tables: int, predicates: int, kinds: Sequence[str] = KINDS, *, until: str | None = None
) -> Findings:
    """Check so many random tables, each with so many predicates; everything is decided by the seed.

    Parameters
    ----------
    until
        Stop after the first table with a finding that has these words.
    """
    findings = Findings()
    with Database(threads=1) as database, _remembered_literals():
        for number in range(tables):
            rng = Random(f"{seed}/{number}")
            kind = kinds[number % len(kinds)]
            table = Table(database, rng, [kind, *([_partner(rng, kind)] if rng.random() < 0.4 else [])])
            _check_table(table, predicates, findings, f"seed {seed}, table {number}")
            findings.seen["tables"] += 1
            if until is not None and any(until in words for words in findings.wrong):
                break
    return findings


def _partner(rng: Random, kind: str) -> str:
    """The type of a second column: mostly one that can be compared with the first."""
    family = next((family for family in (NUMBERS, MOMENTS, TEXTS) if kind in family), [kind])
    return rng.choice(family) if rng.random() < 0.7 else rng.choice(KINDS)


def _check_table(table: Table, predicates: int, findings: Findings, where: str) -> None:
    asked: list[Asked] = []
    for number in range(predicates):
        made = _groups(table, findings) if number % 5 == 4 else _single(table, findings, where)
        if made is None:
            findings.seen["refused by the grammar"] += 1
        else:
            asked.append(made)
            if made.charged.is_contradiction:
                findings.wrong.append(f"{where}: {made.words}: charged for no row and not refused")
    flat = [(number, part) for number, one in enumerate(asked) for part in one.parts]
    found = table.selected([part.condition for _, part in flat])
    masks = [0] * len(asked)
    for (number, part), mask in zip(flat, found, strict=True):
        if masks[number] & mask:
            findings.wrong.append(f"{where}: two keys select the same row: {asked[number].words}")
        masks[number] |= mask
        if table.rng.random() < 0.03 and mask != table.selected_alone(part.condition):
            findings.wrong.append(f"{where}: {part.text}: WHERE and FILTER select different rows")
    for one, mask in zip(asked, masks, strict=True):
        _check_rows(table, one, mask, findings, where)
    _check_pairs(asked, masks, findings, where)


def _check_rows(table: Table, one: Asked, mask: int, findings: Findings, where: str) -> None:
    """Every row selected is charged for; the oracle `text_reader` must cover it, too."""
    findings.seen["predicates"] += 1
    computes = any("is computed from" in note for note in one.charged.notes)
    findings.seen["predicates that compute"] += computes
    findings.seen["charged for every row"] += one.charged.covers_everything and not computes
    rows = [row for place, row in enumerate(table.rows) if mask >> place & 1]
    findings.seen["rows selected"] += len(rows)
    readers = [one.charged]
    if one.text is not None and table.rng.random() < 0.2:
        readers.append(read_as_text(one.text, table.types))
    for reader in readers:
        outside = next((row for row in rows if not reader.covers(row)), None)
        if outside is not None:
            how = "charged" if reader is one.charged else "read as text"
            findings.wrong.append(f"{where}: {table.types}: {one.words}: selects {outside}, {how} {reader.describe()}")


def _check_pairs(asked: Sequence[Asked], masks: Sequence[int], findings: Findings, where: str) -> None:
    """No two that share a row are taken as disjoint, in the form in which a ledger keeps them."""
    stored = [region_from_text(region_to_text(one.charged)) for one in asked]
    for one, two in itertools.combinations(range(len(asked)), 2):
        if masks[one] & masks[two]:
            findings.seen["pairs that share a row"] += 1
            if not stored[one].overlaps(stored[two]):
                findings.wrong.append(f"{where}: charged as disjoint: {asked[one].words} AND {asked[two].words}")


def _single(table: Table, findings: Findings, where: str) -> Asked | None:
    text = table.drawn.predicate()
    try:
        slices = parse_slices(table.opened, text, None, None)
    except PredicateError as error:
        if "selects no row" in str(error):
            findings.seen["refused for selecting no row"] += 1
            refused = parse_where(table.database, text, table.schema)
            if table.selected([refused.condition]) != [0]:
                findings.wrong.append(f"{where}: {text}: charged for no row and answers about one")
        return None
    return Asked(text, tuple(filter(None, slices.predicates)), slices.charged, slices.words)


def _groups(table: Table, findings: Findings) -> Asked | None:
    column = table.rng.choice(table.columns)
    keys = table.drawn.keys(column)
    base = table.drawn.predicate() if table.rng.random() < 0.5 else None
    try:
        slices = parse_slices(table.opened, base, column.name, keys)
    except (PredicateError, ParameterError) as error:
        findings.seen["keys refused as the same value"] += "the same value" in str(error)
        return None
    findings.seen["calls with keys"] += 1
    words = f"{base} by {column.name}: {keys!r}"
    return Asked(words, tuple(filter(None, slices.predicates)), slices.charged, None)


class _remembered_literals:  # noqa: N801 - a context manager
    """Ask the engine once for each literal: what a cast makes of a text does not change."""

    def __enter__(self) -> None:
        self._real = comparison.bind_literals
        known: dict[tuple[str, type, Any], Any] = {}

        def remembered(database: Database, values: Sequence[Any], column_type: str) -> list[Any]:
            keys = [(column_type, type(value), repr(value)) for value in values]
            new = {key: value for key, value in zip(keys, values, strict=True) if key not in known}
            known.update(zip(new, self._real(database, list(new.values()), column_type), strict=True))
            return [known[key] for key in keys]

        engine_where.bind_literals = session_slices.bind_literals = remembered

    def __exit__(self, *_: object) -> None:
        engine_where.bind_literals = session_slices.bind_literals = self._real
