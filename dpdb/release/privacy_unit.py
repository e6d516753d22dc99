"""The unit that neighbouring tables differ by: one row, the rows of one person, or all rows of one value of a column.

Beside private parents it is a value of their key in both tables (see *Private parents* below), or one row of either
table (`dpdb.release.limited_children`).

Every mechanism runs at epsilon / k, k being the rows by which one unit can change what is read (group privacy).

With `unit` and `max_rows`, a session reads a table T(D) that has at most k rows of each unit, chosen by values of the
unit's own rows (`dpdb.engine.unit_rows`). Let D' be D without one unit and all its rows: T(D') is T(D) without at most
k rows, so epsilon / k for each row is epsilon for the unit. That is the neighbouring relation of the guarantee.

Two changes that it does not name: adding, removing or rewriting one row of a unit that stays lets at most one row out
of T and one in, which costs at most 2 epsilon / k (2 epsilon when k is 1); replacing all rows of a unit that stays is
one unit removed and one added, 2 epsilon.

**Private parents**: when a rule across tables protects the rows of both, and at what cost.

With the row as the unit one row of a private parent may orphan any number of rows of the measured table, so no noise
is enough for all of these. It is sound where **the unit is the key**: let `u` be the unit column of the measured table
D. Every rule on a private parent P compares `u`, among other columns perhaps, with one column `p` of P, the same for
all rules on P. The unit with value v is then all rows of D that have v in `u`, and all rows of each such P that have v
in its `p`.

Theorem. Let T(D, P, ...) be the rows that a session reads: at most k of each unit (`dpdb.engine.unit_rows`), each
with one more value per rule, whether it is an orphan (`dpdb.engine.sql.input_rows`). Let (D', P', ...) be (D, P,
...) without one unit v. Then T(D', P', ...) is T(D, P, ...) without at most k rows.

Proof. (1) The rows kept of a unit are chosen by values of the unit's own rows in D, and none without a unit is kept;
so the rows kept of D' are those kept of D without the at most k rows of v. (2) Take one of the rows r that stay, of a
unit w other than v. By a rule on P it is an orphan iff all its key values are known and no row of P equals them, so
only rows of P with w in `p` matter. P' is P without rows that have v in `p`, and no value equals both v and w,
because the comparison is exact (see below). So r is an orphan in P' iff it is one in P: its values are the same. What
P had of v decides over rows of v alone, and these are gone. (3) Public parents are the same before and after.

So every statistic changes as it does when at most k rows leave a table of the same schema: mechanisms run at epsilon
/ k per row as for every unit, monotone statistics stay monotone, slices and degrees are those of rows, and what is
released for several slices is charged by `pure_units` of the rows of D alone. Rows of P have no charge of their own:
a unit with no row in D changes nothing.

**The ledger.** A ledger that sums releases of both tables would charge overlap(parent) + overlap(child), because a
unit has rows in both. Releases of a session are functions of T, so their overlap in P is none, and the sum is the
overlap in D. The ledger is bound to the unit with `p` of every private parent and k: under another mapping another
set of rows of P would leave with a unit, and the sum of both guarantees would hold for neither. What P holds is part
of the state of the rows: a changed parent is asked about as a changed table is (`dpdb budget epoch`), because it
changes which rows are orphans without any row of D having changed.

What the guarantee does not name: one row of P that comes or goes while its unit stays. It makes up to k rows of T
change a value, which is k rows removed and k added: at most 2 epsilon.

**Exact comparison.** Units are told apart by grouping on `u`, and the rule compares in the common type of both
columns. If two units were equal there (2^53 and 2^53 + 1 as DOUBLE), removing one would orphan the other's rows. So
the types must be equal, enumerations and text (which are equal by text), or whole and decimal numbers with an exact
common type; FLOAT, DOUBLE, INTERVAL and TIME WITH TIME ZONE, in which different values compare as equal, are refused.

**The measured table as its own parent** (`employees.manager_id IN employees.id`). A row is then a row of D by `u` and
a row of P by `p`. If these are different columns it belongs to two units: with its manager's value it would leave as
a row of D, and with its own as a row of P, where it orphans its team, which belongs to others. If they are the same
column (`(company, manager_id) IN employees(company, id)` with company as the unit), D and P lose the same rows and
the theorem holds. A public table is no private one, so it cannot be its own public parent.

**Units reached through keys** (`dpdb.engine.parents.reached`): u is a column of a view of D, c of the last table of the
path. The proof there and the one here are of one change, if it takes the same rows of a table that both name: so a rule
may look into the last table where its `p` is c, and into none of those before it. Of tables that only one of them names
the other says nothing.

**A row as the unit** is the other way: then at most k children of each key are used, and one row of P decides over no
more (`dpdb.release.limited_children`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpdb.constraints import DenialConstraint
from dpdb.engine import ProtectedChange, unit_column
from dpdb.errors import ParameterError
from dpdb.predicates import equality_type, type_words
from dpdb.schema import TableSchema

if TYPE_CHECKING:
    from dpdb.constraints import UnitPath
    from dpdb.engine import BoundInclusion, KeyPair, Table
    from dpdb.release.limited_children import LimitedChildren


@dataclass(frozen=True)
class PrivacyUnit:
    """A unit of privacy.

    Attributes
    ----------
    rows : int
        By how many rows one unit changes what is read, at most.
    column : str or None
        The column whose values are the units; None if units are rows, or `rows` rows of one person.
    parents : tuple of (str, str)
        Private parents, each with its column that has the same values: a unit has all such rows, too. See
        *Private parents* above.
    children : LimitedChildren or None
        The limit of children where a row stays the unit beside private parents; then `rows` is for any release.
    path : UnitPath or None
        The keys that lead to the column, where it is one of another table (`dpdb.engine.parents.reached`).
    """

    rows: int = 1
    column: str | None = None
    parents: tuple[tuple[str, str], ...] = ()
    children: LimitedChildren | None = None
    path: UnitPath | None = None

    @property
    def max_children(self) -> int | None:
        """How many children of each key are used; None if all are, or if units are values of a column."""
        return None if self.children is None else self.children.most

    def divisor(self, constraints: Sequence[DenialConstraint] = ()) -> int:
        """Return the divisor of epsilon for each row of a release that measures some constraints (none: of a count)."""
        return self.rows if self.children is None else self.children.divisor(constraints)

    @property
    def words(self) -> str:
        """The unit in words: what is added or removed between neighbouring tables."""
        if self.path is not None:
            beside = "".join(f", and with all rows of {parent} that have it in {name}" for parent, name in self.parents)
            return (
                f"one value of {self.column} with all its rows in {self.path.last}, and with the rows that lead to it "
                f"alone ({self.path.written()}), of which at most {self.rows} are used{beside}"
            )
        if self.column is not None:
            beside = "".join(f", and with all rows of {parent} that have it in {name}" for parent, name in self.parents)
            return f"one value of {self.column} with all its rows, of which at most {self.rows} are used{beside}"
        if self.children is not None:
            return self.children.unit_words
        return "one row" if self.rows == 1 else f"up to {self.rows} rows of one person"

    @property
    def population(self) -> str | None:
        """The rows that every number is of, in words, where the unit's limit leaves some out; None for all rows."""
        if self.children is not None:
            return self.children.population
        if self.path is not None:
            return (
                f"rows used, at most {self.rows} of each {self.column} and each key that leads there; a row counts for "
                "each that it leads to, and is not read if it leads to none"
            )
        return None if self.column is None else f"rows used, at most {self.rows} of each {self.column}"

    @property
    def public(self) -> dict[str, object]:
        """The unit as part of a request; without a column it is written as in older versions, which had no columns."""
        named: dict[str, object] = {} if self.column is None else {"unit": self.column}
        if self.children is not None and self.children.links:
            named = {"max_children": self.children.most}
        if self.path is not None:
            named["unit_path"] = self.path.written()
        return {"rows_per_person": self.rows, **named, **({"private_parents": self.parents} if self.parents else {})}

    @property
    def bound(self) -> str | None:
        """The unit in words that a ledger is bound to: columns or keys with limited children; None for rows."""
        if self.children is not None:
            return self.children.bound
        if self.column is None:
            return None
        column = self.column if self.path is None else f"{self.column} by {self.path.written()}"
        return " and ".join([column, *(f"{parent}.{name}" for parent, name in self.parents)])

    def estimand(self, words: str) -> str:
        """Add to an estimand that it is of the rows that the unit's limit keeps."""
        if self.children is not None:
            return words + self.children.estimand_words
        if self.column is None:
            return words
        if self.path is not None:
            return (
                f"{words}, using at most {self.rows} rows per value of {self.column} and per key that leads there, "
                "each once for each value that it leads to, and no row that leads to none"
            )
        return f"{words}, using at most {self.rows} rows per value of {self.column} and none where it is NULL"

    @property
    def is_compared(self) -> bool:
        """Whether a unit has its rows in another table, too, with which this one is compared."""
        return any(parent == _OTHER for parent, _ in self.parents)

    def in_other_table(self) -> PrivacyUnit:
        """Return the same unit with its rows in the table that it is compared with; rows as units stay rows.

        It is bound otherwise in a ledger: what holds for a value that leaves both tables at once does not hold for one
        that leaves this one alone.
        """
        return self if self.column is None else replace(self, parents=((_OTHER, self.column),))

    def in_schema(self, schema: TableSchema) -> PrivacyUnit:
        """Return the unit with its column as the table spells it. Errors as `unit_column`."""
        return self if self.column is None else replace(self, column=unit_column(self.column, schema))


def unit_of(change: ProtectedChange) -> PrivacyUnit:
    """Return the unit of a protected change, before a table is known."""
    if change.max_children is not None:
        from dpdb.release.limited_children import LimitedChildren  # few tables have private parents

        rows = change.rows_per_person
        return PrivacyUnit(rows, children=LimitedChildren(change.max_children, rows))
    return PrivacyUnit(change.rows_per_person if change.unit is None else change.most, change.unit)


_OTHER = "the other table"
_BLURRED = ("FLOAT", "DOUBLE", "INTERVAL", "TIME WITH TIME ZONE")


def unit_of_table(asked: PrivacyUnit, table: Table) -> PrivacyUnit:
    """Return the unit of an open table: its column as the table spells it, and its columns in private parents.

    Raises
    ------
    ParameterError
        If a rule on a private parent is not sound with this unit; the message says what to do.
    UnknownColumnError
        If the table has no such column.
    """
    if table.reached is not None:
        unit = replace(asked, column=table.unit, path=table.reached)
    else:
        unit = asked.in_schema(table.schema)
    if unit.children is not None:
        for rule in table.inclusions:
            _refuse_public_self(rule)
        linked = unit.children.linked(table.inclusions)
        return replace(unit, rows=linked.changed_rows, children=linked)
    private: dict[str, str] = {}
    for rule in table.inclusions:
        _refuse_public_self(rule)
        if rule.is_public:
            continue
        column = _column_of_unit(rule, unit)
        _refuse_on_path(rule, column, unit.path)
        if private.setdefault(rule.parent, column) != column:
            raise ParameterError(
                f"{rule.label}: the unit {unit.column} is compared with {private[rule.parent]!r} and {column!r} of "
                f"{rule.parent}, so one of its rows would belong to two units; measure these rules in two sessions "
                "with ledgers of their own"
            )
    return replace(unit, parents=tuple(sorted(private.items())))


def _refuse_public_self(rule: BoundInclusion) -> None:
    if rule.is_public and rule.is_measured:
        raise ParameterError(
            f"{rule.label}: {rule.parent} is the measured table itself, whose rows are private: it cannot be declared "
            "public"
        )


def _refuse_on_path(rule: BoundInclusion, column: str, path: UnitPath | None) -> None:
    """Refuse a rule on a table of the path, unless both say which of its rows leave with a unit, and the same ones.

    See *Units reached through keys*.
    """
    if path is None or rule.parent not in path.tables or (rule.parent, column) == (path.last, path.column):
        return
    raise ParameterError(
        f"{rule.label}: {rule.parent} is on the way to the unit {path.unit}, and its rows with a unit's value in "
        f"{column} may lead to other units; make the rule one of the table that has the unit's column, or measure it "
        "in a session of its own with another unit"
    )


def _column_of_unit(rule: BoundInclusion, unit: PrivacyUnit) -> str:
    """Return the column of a private parent that holds the unit's values."""
    key = ", ".join(pair.column for pair in rule.pairs)
    if unit.column is None:
        first = rule.pairs[0].column
        raise ParameterError(
            f"{rule.label}: {rule.parent} is private, so one of its rows could orphan any number of rows; protect the "
            f"key with all its rows in both tables: --unit {first} --max-rows K (unit={first!r}, max_rows=K); or "
            "single rows, with at most K children of each key used: --max-children K (max_children=K)"
        )
    pair = next((pair for pair in rule.pairs if pair.column == unit.column), None)
    if pair is None:
        raise ParameterError(
            f"{rule.label}: {rule.parent} is private and the unit is {unit.column}, so removing a row of the parent "
            f"could orphan rows of any number of units; the unit must be a column of the rule's key ({key})"
        )
    if not _is_exact(pair):
        raise ParameterError(
            f"{rule.label}: {pair.column!r} ({type_words(pair.column_type)}) and {rule.parent}.{pair.parent_column} "
            f"({type_words(pair.parent_type)}) compare as {pair.compared_as}, where different units may be equal; "
            "as the unit of a private parent give both one type of whole numbers, text or dates"
        )
    if rule.is_measured and pair.parent_column != unit.column:
        raise ParameterError(
            f"{rule.label}: {rule.parent} is the measured table itself, and removing one of its rows may orphan rows "
            f"of other units, because its unit is {unit.column} as a row and {pair.parent_column} as a parent; it is "
            f"sound only where a column is compared with itself and is the unit, as in (team, {pair.column}) IN "
            f"{rule.parent}(team, {pair.parent_column})"
        )
    return pair.parent_column


def _is_exact(pair: KeyPair) -> bool:
    """Return whether equality of the two columns tells apart all that grouping by either column does."""
    if pair.compared_as in _BLURRED:
        return False
    if equality_type(pair.column_type) == equality_type(pair.parent_type):  # values of enumerations are their texts
        return True
    return all(_is_whole_or_decimal(kind) for kind in (pair.column_type, pair.parent_type))


def _is_whole_or_decimal(kind: str) -> bool:
    return kind.endswith(("INT", "INTEGER")) or kind.startswith("DECIMAL(")
