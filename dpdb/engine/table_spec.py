"""`TableSpec`: what is opened and what is protected, as a value. The one place of its names, defaults and validation.

Every entry point derives from `SETTINGS`: the parameters of `dpdb.open`, `register` and dbt, keys of a job,
command-line options. A new setting is a field and its line in `TableSettings` here, and whatever uses it.

Settings come in groups: the protected change, public sizes, limits of the machine. Each says how entry points write it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from dpdb.constraints import UnitPath, unit_path
from dpdb.errors import ParameterError
from dpdb.names import nearest_words
from dpdb.options import Option, option, options_of

if TYPE_CHECKING:
    from dpdb.constraints import ConstraintsLike
    from dpdb.engine.parents.declared import DeclaredParent, ParentFiles, ParentsLike
    from dpdb.sources import SourceLike

# Whether conflicts are counted without being listed where that is faster, or always in the table `conflict_edge`.
EDGE_WAYS = ("auto", "table")
# Rows are numbered with 32 bits; more would not fit a ledger's line or a query, and say no more.
_MOST_ROWS = 2**32 - 1


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _count(name: str, value: int) -> None:
    if not _is_count(value):
        raise ParameterError(f"{name} must be a whole number of at least 1, got {value!r}")
    if value > _MOST_ROWS:
        raise ParameterError(f"{name} must be at most {_MOST_ROWS:,}")  # the number may be too long to print


@dataclass(frozen=True)
class ProtectedChange:
    """What neighbouring tables differ by: one row, the rows of one person, or all rows of one value of a column.

    Attributes
    ----------
    rows_per_person : int
        At most this many rows belong to one person; every mechanism then runs at epsilon / rows_per_person.
    unit, max_rows : str and int, optional
        A column whose values own the rows: of each value at most `max_rows` rows are used (of NULL none), and releases
        are epsilon-DP for adding or removing one value with all its rows; see `dpdb.release.privacy_unit`. Or keys that
        lead to a column of another table (``"order_id -> orders.id, customer_id"``); see
        `dpdb.engine.parents.reached`.
    max_children : int, optional
        Beside private parents a row of either table is the unit, and at most so many rows of each key that refers to
        them are used (all rows where it is NULL); see `dpdb.release.limited_children` for what that costs.

    Raises
    ------
    ParameterError
        If a number is not a whole number from 1 to 2^32 - 1, only one of `unit` and `max_rows` is given, or `unit`
        comes together with `rows_per_person` or `max_children`.
    """

    rows_per_person: int = option(1, "whole", "K", "at most K rows belong to one person (1)")
    unit: str | None = option(
        None,
        "text",
        "COLUMN",
        "protect each value of COLUMN with all its rows; or keys that lead there (order_id -> orders.id, customer_id)",
    )
    max_rows: int | None = option(None, "whole", "K", "rows used of each value of the --unit column")
    max_children: int | None = option(
        None,
        "whole",
        "K",
        "beside private parents protect single rows of either table, using K rows of each key that refers to them",
    )

    def __post_init__(self) -> None:
        _count("rows_per_person", self.rows_per_person)
        if self.max_children is not None:
            self._check_children(self.max_children)
        elif self.unit is not None or self.max_rows is not None:
            self._check_unit()

    @property
    def most(self) -> int:
        """How many rows of each value of the unit's column are used; 1 where there is none."""
        return 1 if self.max_rows is None else self.max_rows

    def of_table(self, table: str | None) -> ProtectedChange:
        """Return the same for a table, of whose columns the unit may be one where it is reached through keys."""
        path = None if self.unit is None else unit_path(self.unit)
        start = None if path is None else path.starting_at(table)
        return replace(self, unit=start) if isinstance(start, str) else self

    def _check_unit(self) -> None:
        if self.unit is None or self.max_rows is None:
            raise ParameterError("unit= and max_rows= go together: a column, and how many rows of each value are used")
        if not isinstance(self.unit, str) or not self.unit:
            raise ParameterError(f"unit must be the name of a column, got {self.unit!r}")
        if self.rows_per_person != 1:
            raise ParameterError(
                "unit= and rows_per_person= exclude each other: max_rows= says how many rows a unit has"
            )
        _count("max_rows", self.max_rows)

    def _check_children(self, most: int) -> None:
        _count("max_children", most)
        if self.unit is not None or self.max_rows is not None:
            raise ParameterError(
                "max_children= and unit= exclude each other: either a row is the unit, and at most max_children rows "
                "of each key are used, or a key is, with max_rows="
            )
        _count("rows_per_person times max_children", self.rows_per_person * most)


EVERY_ROW = ProtectedChange()


@dataclass(frozen=True)
class PublicSizes:
    """The owner's public words on sizes. None of them is compared with rows.

    Attributes
    ----------
    row_bound : int, optional
        Public bound of the number of rows. Admits constraints that can only be checked row against row.
    max_group : int, optional
        No group of rows with a common left-hand side has more rows (without an equality: the table has not). Mechanism
        `two_sided` then spends nothing on a bound; a wrong one costs the upper end, never privacy.
    gather_rows : int, optional
        Of a table in another engine (Spark, PostgreSQL): a guess of the rows in conflict, which come to this machine
        for every measure. It sizes disk space.
    """

    row_bound: int | None = option(None, "whole", "N", "public bound of the number of rows")
    max_group: int | None = option(
        None, "whole", "N", "public bound of the rows that share a left-hand side; never checked"
    )
    gather_rows: int | None = option(
        None, "whole", "N", "public guess of the rows in conflict that come from another engine; never checked"
    )

    def __post_init__(self) -> None:
        for name in ("row_bound", "gather_rows"):
            value = getattr(self, name)
            if value is not None and not _is_count(value):
                raise ParameterError(f"{name} must be a whole number of at least 1, got {value!r}")
        if self.max_group is not None and not (_is_count(self.max_group) and self.max_group <= _MOST_ROWS):
            raise ParameterError(f"max_group must be a whole number from 1 to {_MOST_ROWS:,}, got {self.max_group!r}")


NO_SIZES = PublicSizes()


@dataclass(frozen=True)
class MachineLimits:
    """Limits of the private database, which checks them; see `Database`."""

    memory_limit: str | None = option(None, "text", "SIZE", "such as 1GB; more spills to disk")
    temp_directory: str | Path | None = option(
        None, "folder", "DIR", "where a private directory for spilled data is made"
    )
    threads: int | None = option(None, "whole", "N", "of the database")


NO_LIMITS = MachineLimits()


Verb = TypeVar("Verb", bound=Callable[..., Any])


@dataclass(frozen=True, eq=False, repr=False)
class TableSpec:
    """What is opened and what is protected, checked as far as that needs no source; one that exists has passed.

    Attributes
    ----------
    source : path, connection, relation or Arrow object, or None
        See `dpdb.sources.open.open_source`. Only read, never written. None is for a table of a schema alone.
    constraints : path, text, list of texts or of `DenialConstraint`, optional
        Public. Duplicates (also after exchanging the tuples) count once. None is for counts of rows only.
    csv_schema : mapping of column to SQL type, optional
        Types of columns that have none: of CSV files, and keys in names of folders (the others are text); of parents'
        columns as ``"customers.id"``.
    delimiter : str, optional
        The character at which CSV text is cut, or ``"tab"``; a file of any name is CSV then, unless its first bytes
        say otherwise. It holds for parents, too, whose header line has it. None: as name and header line tell.
    public_parents, private_parents : mapping of name to source, or list of names, optional
        Other tables that constraints look into (``customer_id IN customers.id``): every one is declared public or
        private. A name alone, or with None, is a table of the same DuckDB file or connection. The rows of private ones
        are protected, too, and need `unit` (see `dpdb.release.privacy_unit`) or `max_children`.
    edges : str
        How the conflict graph is held. ``"auto"``: blocks of rows where the rules have them, no edge is listed then.
        ``"table"``: self-joins list every conflict in the table `conflict_edge` of our own database, and its ordered
        scan feeds all statistics of the graph. Both give the same integers; what reads no edges reads none either way.
    assumes_parents : bool
        Take every parent for a table without rows, for what looks at none. No setting of the owner's.
    parent_files : ParentFiles, optional
        What other tables of a set share of parents. No setting of the owner's.
    is_compared : bool
        Whether a unit has its rows of another table, too, with which this one is compared. No setting of the owner's.

    Raises
    ------
    ParameterError
        As `ProtectedChange` and `PublicSizes`; if `edges` is neither ``"auto"`` nor ``"table"``, a parent is declared
        twice, or `max_children` is given without private parents.
    """

    source: SourceLike | None
    constraints: ConstraintsLike | None = option(
        None, "constraints", "FILE_OR_TEXT", "may be repeated", is_harmless=True
    )
    table: str | None = option(None, "text", "T", "table or view of a database", is_harmless=True)
    csv_schema: Mapping[str, str] | None = option(
        None,
        "types",
        "COLS",
        "CSV column types, such as 'age INTEGER, day DATE', or FILE.toml",
        key="schema",
        is_harmless=True,
    )
    delimiter: str | None = option(
        None, "character", "C", "of CSV text, such as ';' or tab (told by name and header line)", is_harmless=True
    )
    public_parents: ParentsLike | None = option(
        None,
        "parents",
        "NAME[=FILE]",
        "a table that constraints look into (a IN NAME.b), whose rows everybody may know; "
        "without FILE a table of the DuckDB file; may be repeated",
    )
    private_parents: ParentsLike | None = option(
        None,
        "parents",
        "NAME[=FILE]",
        "a table that constraints look into (a IN NAME.b), whose rows are protected, too; "
        "needs --unit or --max-children; without FILE a table of the DuckDB file; may be repeated",
    )
    edges: str = option(
        "auto", "text", "WAY", "auto, or table: list all conflicts in an edge table; the same numbers (auto)"
    )
    change: ProtectedChange = EVERY_ROW
    sizes: PublicSizes = NO_SIZES
    limits: MachineLimits = NO_LIMITS
    assumes_parents: bool = False
    parent_files: ParentFiles | None = None
    is_compared: bool = False

    @classmethod
    def of(
        cls,
        source: SourceLike | TableSpec | None,
        settings: Mapping[str, Any] | TableSettings,
        *,
        constraints: ConstraintsLike | None = None,
        table: str | None = None,
    ) -> TableSpec:
        """Return what settings by name say of a source; what they leave out has its default.

        Parameters
        ----------
        source
            Where the rows are, or a spec, which must then come alone; None for settings without a source.
        settings
            Values by the names of `SETTINGS`.
        constraints, table
            Two of the settings, as callers have them in their signatures. Default: as in `settings`.

        Raises
        ------
        ParameterError
            If a name is unknown (the message has the nearest known one), if the source has its settings already, and
            as for `TableSpec`.
        """
        given: dict[str, Any] = {**settings}
        given |= {key: own for key, own in (("constraints", constraints), ("table", table)) if own is not None}
        if isinstance(source, TableSpec):
            if given:
                raise ParameterError(f"a TableSpec has its settings already: leave out {', '.join(given)}")
            return source
        for name in given:
            if name not in SETTINGS:
                raise ParameterError(f"there is no setting {name!r}{nearest_words(name, SETTINGS)}")
        groups = {name: kind(**_taken(kind, given)) for name, kind in _GROUPS.items()}
        return cls(source, **_taken(cls, given), **groups)

    def __post_init__(self) -> None:
        own = self.change.of_table(self.table)
        object.__setattr__(self, "change", own)  # a path that ends here is a column of the table
        _ = self.parents
        if self.edges not in EDGE_WAYS:
            raise ParameterError(f"edges must be {' or '.join(map(repr, EDGE_WAYS))}, got {self.edges!r}")
        if self.change.max_children is not None and not self.private_parents:
            raise ParameterError(
                "max_children= limits the rows that refer to one key of a private parent, and none is declared "
                "(--private-parent, private_parents=)"
            )

    @cached_property
    def parents(self) -> tuple[DeclaredParent, ...]:
        """The tables that constraints look into, each declared public or private."""
        reached = () if self.unit_path is None else self.unit_path.tables
        if not reached and self.public_parents in (None, {}) and self.private_parents in (None, {}):
            return ()  # as most tables
        from dpdb.engine.parents.declared import DeclaredParent, declared_parents

        declared = declared_parents(self.public_parents, self.private_parents)
        known = {parent.name.casefold() for parent in declared}
        beside = (DeclaredParent(name, None, is_public=False) for name in reached if name.casefold() not in known)
        return (*declared, *beside)

    @cached_property
    def unit_path(self) -> UnitPath | None:
        """The keys that lead from the table's rows to their units; None where the units are values of a column."""
        path = None if self.change.unit is None else unit_path(self.change.unit)
        if path is None:
            return None
        start = path.starting_at(self.table)
        assert isinstance(start, UnitPath), "else the unit is a column of the table"
        return start

    def of_other(self, source: SourceLike, table: str | None, name: str) -> TableSpec:
        """Return what is opened of another table that this one's answers look into, each row of it a unit.

        Parameters
        ----------
        source, table
            Where it is.
        name
            As this table's owner calls it: types of its columns stand behind that.
        """
        types = {key: kind for key, kind in (self.csv_schema or {}).items() if key.partition(".")[0] == name}
        own = {key.partition(".")[2]: kind for key, kind in types.items()}
        change = ProtectedChange(rows_per_person=self.change.rows_per_person)
        sizes = PublicSizes(gather_rows=self.sizes.gather_rows)
        return TableSpec(
            source, None, table, own or None, self.delimiter, change=change, sizes=sizes, limits=self.limits
        )

    def with_assumed_parents(self) -> TableSpec:
        """Return it for what looks at no row of any parent, declared or not, nor at units beyond them."""
        change = self.change
        if self.unit_path is not None:
            change = ProtectedChange(change.most)
        return replace(self, assumes_parents=True, change=change)

    def __repr__(self) -> str:
        """Name a file and the settings that are given; rows that are held in memory are never shown."""
        source = str(self.source) if isinstance(self.source, (str, Path)) else type(self.source).__name__
        given = {name: value for group in (self, self.change, self.sizes, self.limits) for name, value in _given(group)}
        return f"<dpdb.TableSpec {', '.join([source, *(f'{name}={value!r}' for name, value in given.items())])}>"


class TableSettings(TypedDict, total=False):
    """The settings of a table but `constraints` and `table`, for type checkers; `TableSpec` says what each is."""

    csv_schema: Mapping[str, str] | None
    delimiter: str | None
    public_parents: ParentsLike | None
    private_parents: ParentsLike | None
    edges: str
    rows_per_person: int
    unit: str | None
    max_rows: int | None
    max_children: int | None
    row_bound: int | None
    max_group: int | None
    gather_rows: int | None
    memory_limit: str | None
    temp_directory: str | Path | None
    threads: int | None


_GROUPS: Mapping[str, Any] = {"change": ProtectedChange, "sizes": PublicSizes, "limits": MachineLimits}
_OF_GROUP: Mapping[Any, Mapping[str, Option]] = {group: options_of(group) for group in (TableSpec, *_GROUPS.values())}
LIMITS: Mapping[str, Option] = _OF_GROUP[MachineLimits]

# Every setting by its name in Python.
SETTINGS: Mapping[str, Option] = {name: one for own in _OF_GROUP.values() for name, one in own.items()}


def with_settings(verb: Verb) -> Verb:
    """Show the settings that a function takes as ``**settings`` one by one in its signature, with their defaults."""
    signature = inspect.signature(verb)
    named = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    every = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=setting.default)
        for name, setting in SETTINGS.items()
        if name in TableSettings.__annotations__
    ]
    verb.__signature__ = signature.replace(parameters=[*named, *every])  # type: ignore[attr-defined]  # `inspect` reads it
    return verb


def _taken(group: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in _OF_GROUP[group] if name in given}


def _given(group: Any) -> list[tuple[str, Any]]:
    """Return the settings of a group that are texts or numbers and not left out."""
    values = ((name, setting, getattr(group, name)) for name, setting in _OF_GROUP[type(group)].items())
    return [
        (name, value) for name, setting, value in values
        if value != setting.default and isinstance(value, (str, int, Path)) and setting.kind != "constraints"
    ]  # fmt: skip
