"""`GatheredTable`: a remote table behind the interface of the engine; and counts of owners who violate a rule there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from threading import Event
from typing import TYPE_CHECKING

from sqlglot import exp

from dpdb.constraints import sorted_shape
from dpdb.database import Database
from dpdb.engine import (
    AcrossColumn,
    BoundTable,
    BrokenCounts,
    OwnerQuestion,
    Told,
    columns_of,
    count_dependencies,
    disjoint_pairs,
    forms_alike,
    holds,
    is_of_pairs,
    kept_children,
    kept_rows,
    key_of,
    limited_keys,
    may_be_together,
    no_progress,
    of_owners,
    of_rows,
    questions_columns,
    sharing_queries,
    write_compared,
)
from dpdb.engine.sql import (
    BoundConstraint,
    ComputedColumn,
    Operand,
    WherePredicate,
    degree_terms,
    in_schema_order,
    is_known,
    members_read,
)
from dpdb.errors import EngineError, ForeignRuleError, ParameterError, PredicateError, SourceError
from dpdb.remote.asking import (
    ROWS,
    Asking,
    columns_read,
    content_query,
    counted_alone,
    counted_if,
    fetched,
    in_parts,
    in_queries,
    numbered,
)
from dpdb.remote.slice import RemoteSlice, count_alike
from dpdb.remote.spelling import SPELLINGS
from dpdb.remote.table import WithoutRows
from dpdb.remote.tried import refuse_untried
from dpdb.schema import free_name
from dpdb.sources import Source, without_rows

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from dpdb.constraints import ConstraintsLike
    from dpdb.engine import (
        ComparedColumns,
        DependencyCounts,
        Form,
        ParentTable,
        Progress,
        RuleStatistic,
        Side,
        StatisticKind,
        TableSpec,
    )
    from dpdb.remote.parents import RemoteParents
    from dpdb.remote.table import RemoteTable
    from dpdb.schema import TableSchema

_BYTES_PER_ROW = 600
"""Of a row in conflict: its values, its rank and its place in groups, as measured on tables with eight rules."""


class GatheredTable(BoundTable):
    """A table in another engine (implements `dpdb.engine.Table`).

    All that is public is as for a table without rows in our own database; what reads rows asks the other engine.
    """

    def __init__(
        self,
        database: Database,
        remote: RemoteTable,
        spec: TableSpec,
        progress: Progress,
        opened: GatheredTable | None = None,
    ) -> None:
        schema = remote.schema() if opened is None else opened.schema
        source = Source(remote.description, schema, without_rows(schema))
        beside: RemoteParents | None = _parents(spec, remote) if opened is None else opened._beside
        super().__init__(database, source, spec, parents=beside, progress=progress, opened=opened)
        self._remote, self._stored = remote, schema
        self._beside: RemoteParents | None = beside
        self._spelling = SPELLINGS[remote.dialect]
        self._gather_rows = spec.sizes.gather_rows
        self._first = opened or self
        self._opened: str | None = None
        self._opened_beside = ""
        self._has_asked: Event = Event() if opened is None else opened._has_asked
        self._refuse_foreign()

    # -- without reading a row ------------------------------------------------------------------------------------

    def with_constraints(self, constraints: ConstraintsLike | None) -> GatheredTable:
        """Return the same rows under other constraints; see the base class."""
        spec = replace(self._spec, constraints=constraints)
        return GatheredTable(self.database, self._remote, spec, self._progress, self._first)

    def without_rows(self) -> GatheredTable:
        """Return the same table there, of which queries see no row, nor of its parents; see the base class.

        Raises
        ------
        SourceError
            If nobody has tried this engine, of which nothing is released.
        """
        refuse_untried(self._remote)
        made = copy(self)
        made._remote, made._has_asked, made._progress = WithoutRows(self._remote), Event(), no_progress
        made._origin = self._origin or self
        return made

    def where(self, text: str) -> WherePredicate:
        """Check and type a predicate, and refuse what the other engine might read differently."""
        return self._read_alike(super().where(text))

    def selected(self, text: str) -> WherePredicate:
        """Check and type the condition of a rule's rows; its members were checked with the rule."""
        return self._read_alike(super().selected(text))

    def _read_alike(self, found: WherePredicate) -> WherePredicate:
        why = self._spelling.why_not(found.tree)
        if why is not None:
            raise PredicateError(f"where: {why}")
        return found

    def why_not_where(self, text: str) -> str | None:
        """Say why the other engine might read a predicate differently. Errors of the predicate as `where`."""
        return self._spelling.why_not(super().where(text).tree)

    def _why_not_tested(self, source: Source, name: str) -> str:
        """Return why it cannot be asked whether a column of a nested type is NULL."""
        del source, name
        return "columns of another engine are read only if their values can be compared"

    def _refuse_foreign(self) -> None:
        refused = tuple((dc.constraint, why) for dc in self.constraints if (why := self._why_not(dc)) is not None)
        if refused:
            (first, why), *_ = refused
            raise ForeignRuleError(f"{first.label}: {why}", refused)

    def _why_not(self, dc: BoundConstraint) -> str | None:
        read = [self.rows.schema[name] for name in dc.columns]
        found = [self._spelling.why_not(column.tree) for column in read if isinstance(column, ComputedColumn)]
        for column in (*read, *members_read(self.rows.schema, set(dc.columns))):
            if isinstance(column, AcrossColumn):
                found += map(self._spelling.why_not, column.met.trees)
                for pair in column.pairs:
                    found.append(self._spelling.why_not_compared(pair.column_type, pair.compared_as))
                    found.append(self._spelling.why_not_compared(pair.parent_type, pair.compared_as))
        for predicate in dc.predicates:
            for side in (predicate.left, predicate.right):
                if isinstance(side, Operand):
                    found.append(self._spelling.why_not_compared(side.column_type, side.compared_as))
                else:
                    found.append(self._spelling.why_not(side))
        return next((why for why in found if why is not None), None)

    def admit(self, row_bound: int | None) -> None:
        """Refuse constraints by shape, without one that an aggregate could find rows in conflict by."""
        super().admit(row_bound)
        for dc in self.constraints:
            if row_bound is None and needs_every_row(dc):
                raise ParameterError(
                    f"{dc.constraint.label}: nothing is equal between its rows, so that every row of a remote table "
                    "would have to come; declare --row-bound (row_bound) if the table is small, which is public"
                )

    def admit_graph(self) -> None:
        """Refuse a conflict graph as long as nobody has said how many rows may come for it."""
        if self._gather_rows is None:
            raise ParameterError(
                f"{self.description}: the rows in conflict come to this machine; say how many may be expected with "
                "--gather-rows N (gather_rows=N), a public guess that sizes disk space and is compared with no row"
            )
        needed = self._gather_rows * _BYTES_PER_ROW
        free = shutil.disk_usage(self.database.directory).free
        if needed > free:
            raise ParameterError(
                f"gather_rows: {self._gather_rows:,} rows may need {needed / 1e9:,.1f} GB on disk, and the temporary "
                f"directory has {free / 1e9:,.1f} GB; name another with --temp-directory"
            )

    def why_not_grouped(self, name: str) -> str | None:
        """Say why rows are not grouped by a column there; see the base class."""
        kind = self.schema[name].type
        return super().why_not_grouped(name) if kind is None else self._spelling.why_not_compared(kind, kind)

    # -- reading rows ---------------------------------------------------------------------------------------------

    def slice(self, where: WherePredicate | None = None, *, position: int | None = None) -> RemoteSlice:
        """Describe the slice that a predicate selects; it asks when it is asked."""
        return RemoteSlice(
            self._asking,
            self._measured(position),
            where,
            name=self._next_name(),
            lists_edges=self.lists_edges,
            progress=self._progress,
        )

    def class_histograms(
        self, where: WherePredicate | None = None, *, position: int | None = None
    ) -> tuple[int, list[pa.Table]]:
        """Count classes of the rows of a slice there: no row comes. Private."""
        part = self.slice(where, position=position)
        return part.self_conflicts, part.class_histograms()

    def count_all(self, where: WherePredicate | None, asked: Sequence[RuleStatistic]) -> list[int]:
        """Count exact statistics of rules: there, or of the rows in conflict here where rows are needed. Private."""
        asking = self._asking
        found = [0] * len(asked)
        single = [place for place, each in enumerate(asked) if each.form is None]
        for part in in_queries(asking.schema, [asked[place].columns for place in single]):
            places = [single[place] for place in part]
            sets = [asked[place].alone for place in places]
            names = set().union(*map(columns_read, sets))
            rows = asking.selected(names, where).subquery(ROWS.name)
            for place, count in zip(places, asking.row(numbered(map(counted_alone, sets)).from_(rows)), strict=True):
                found[place] = int(count)
        together: dict[Form, dict[StatisticKind, int]] = {}
        forms = may_be_together(asked)
        for alike in forms_alike(forms):
            if sum(form in alike.forms for form in forms) > 1:
                together |= count_alike(asking, alike, where)
        for place, each in enumerate(asked):
            if each.form in together and not each.alone:
                found[place] = together[each.form][each.kind]
            elif each.form is not None:
                read = RemoteSlice(asking, each.constraints, where, name=self._next_name(), progress=self._progress)
                found[place] = read.count(each)
        return found

    @property
    def server(self) -> str:
        """The engine's name and version."""
        return self._remote.server()

    def answer_to(self, query: exp.Select) -> pa.Table:
        """Ask a query, which lacks its FROM, of all rows: for owners who try an engine out. Private."""
        return self._asking.ask(query.from_(self._asking.rows))

    def count_rows(self, slices: Sequence[WherePredicate | None]) -> list[int]:
        """Count the rows of many slices in one query. Private."""
        asking = self._asking
        names = {name for where in slices if where is not None for name in where.columns}
        rows = asking.rows
        if members_read(asking.schema, names):
            rows = asking.selected(names).subquery(ROWS.name)
        counts = [exp.Count(this=exp.Star()) if each is None else counted_if(each.condition) for each in slices]
        return [int(count) for count in asking.row(numbered(counts).from_(rows.copy()))]

    def listed_keys(self, column: str, keys: Sequence[str]) -> list[str]:
        """Refuse: such a list would be sent there; see the base class."""
        del keys
        raise ParameterError(
            f"a long list of keys of {column!r} is counted in files and DuckDB tables only, not in {self.description}; "
            "give keys one by one (--keys)"
        )

    def count_keys(self, where: WherePredicate | None, column: str, keys: Sequence[str]) -> list[int]:
        """Refuse; see `listed_keys`."""
        del where
        self.listed_keys(column, keys)
        return []

    def count_owners(self, owner: str, asked: Sequence[OwnerQuestion]) -> list[int]:
        """Count the owners whose rows violate rules there, by aggregates; see `count_owners`. Private."""
        self._progress("counting owners there")
        return count_owners(self._asking, owner, asked)

    def count_broken(self, where: WherePredicate | None, rules: Sequence[BoundConstraint]) -> BrokenCounts:
        """Count rows there by how many rules on single rows they break: no row comes. Private."""
        self._progress("counting what rows break there")
        asking = self._asking
        rows = asking.selected(columns_of(rules, None), where).subquery(ROWS.name)

        def ask(query: exp.Select) -> Iterator[tuple[int, ...]]:
            return zip(*asking.ask(query).to_pydict().values(), strict=True)

        return of_rows(rules, ask, rows, [], row=ROWS.name)

    def broken_by_owner(
        self, where: WherePredicate | None, rules: Sequence[BoundConstraint], owner: str, told: Told
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Return the owners who break rules on single rows, by aggregates there; see `broken_by_owner`. Private."""
        self._progress("counting what owners break there")
        asking = self._asking
        for part in in_queries(asking.schema, [columns_of([rule], where) for rule in rules]):
            asked = [rules[place] for place in part]
            rows = asking.selected(columns_of(asked, None) | {owner}, where).subquery(ROWS.name)
            for batch in asking.ask(of_owners(asked, owner, told, rows, [], row=ROWS.name)).to_batches():
                yield part[0], batch

    def admit_compared(self) -> None:
        """Refuse a comparison as long as nobody has said how many rows may come for it."""
        if self._gather_rows is None:
            raise ParameterError(
                f"{self.description}: all rows that are compared come to this machine; say how many may be expected "
                "with --gather-rows N (gather_rows=N), a public guess that sizes disk space and is compared with no row"
            )
        self.admit_graph()

    def write_compared(self, columns: ComparedColumns, side: Side, where: WherePredicate | None, path: Path) -> None:
        """Let what is compared of a slice's rows come, and write it; see `dpdb.engine.compared`. Private."""
        self._progress("gathering what is compared")
        asking = replace(self._asking, rows=self._remote.rows(), schema=self._stored)
        names = in_schema_order(columns.names(side), self.schema)
        query = asking.selected(set(names), where)
        with fetched(asking, self._next_name(), names, in_parts(asking, query, names)) as rows:
            write_compared(self.database, columns.query(side, rows, None), path)

    def count_dependencies(
        self, columns: Sequence[str], pairs: Sequence[tuple[str, str]], *, spread: bool = False
    ) -> DependencyCounts:
        """Count columns and pairs of them there: no row comes. Private."""
        self._progress("counting groups there")
        asking = self._asking
        return count_dependencies(asking.row, lambda _: asking.rows, columns, pairs, spread=spread)

    def read_once(self) -> None:
        """Read every row there, so that what a view cannot compute of a row is refused now and fails no release.

        Raises
        ------
        SourceError
            If that fails; the reason is in the owner's log, because it may print values.
        """
        try:
            self._opened, self._opened_beside = self.content(), self._public_content()
            self._has_asked.clear()
        except EngineError:
            problem = f"{self.description}: reading its rows failed; the reason is in the owner's log"
            raise SourceError(problem) from None

    def opened_content(self) -> str:
        """Describe the state of the rows when the table was opened. Private."""
        first = self._first
        if first._opened is None:
            first.read_once()
        assert first._opened is not None
        return first._opened

    def content(self) -> str:
        """Describe the state of the rows now, by digests that are computed there, with private parents'. Private."""
        return f"{self._remote.dialect}: {self._digest(self._remote.rows(), self._stored)}{self._choice()}" + "".join(
            f"; parent {table.name!r}: {self._digest(table.keys, table.schema)}" for table in self._parents_that(False)
        )

    def _public_content(self) -> str:
        """Describe the state of public parents' rows: in an answer all queries must see the same."""
        return "".join(f"; {self._digest(table.keys, table.schema)}" for table in self._parents_that(True))

    def _parents_that(self, are_public: bool) -> list[ParentTable]:
        tables = [] if self._beside is None else self._beside.tables.values()
        return [table for table in tables if table.is_public is are_public]

    def _digest(self, rows: exp.Expr, schema: TableSchema) -> str:
        return ",".join(str(value) for value in self._asking.row(content_query(rows, schema, self._spelling)))

    @cached_property
    def public_keys(self) -> Mapping[str, str]:
        """Digests of what rules read of public parents, by name, equal for equal sets of it."""
        found = {}
        for name, rows, schema in self._across.read_of_public():
            columns = [exp.column(column, quoted=True) for column in schema.usable]
            distinct = exp.select(*columns).distinct().from_(rows.copy()).subquery("distinct_row")
            found[name] = f"{self._digest(distinct, schema)}; {self._remote.version()}"
        return found

    def rehearse(self, slices: Sequence[WherePredicate | None], *, counts: bool) -> None:
        """Count without rows; see the base class. What parents decide is asked for there (`without_rows`)."""
        if counts or not self.inclusions:
            super().rehearse(slices, counts=counts)

    def refuse_change(self, *, all_rows: bool = False) -> None:
        """Compare the rows with those of the opening, unless there is but one state of them; see the base class.

        A release asks several queries, and its sensitivity is that of one table, which all of them see. Rows that
        differ from query to query are no such table: which rows are in conflict would be decided on other rows than
        those that come.
        """
        self.database.refuse_failure()
        if not all_rows and (self._remote.is_fixed or not self._has_asked.is_set()):
            return
        opened = self.opened_content(), self._first._opened_beside
        if (self.content(), self._public_content()) != opened:
            raise SourceError(
                f"{self.description}: its rows are not those that were there when it was opened: somebody writes to "
                "it, or it is a view that gives other rows to every query (random, now); save them as a table, or open "
                "a new session"
            )
        self._has_asked.clear()

    def has_old_parents(self) -> bool:
        """Return False: a release is refused where its public parents have changed; see `refuse_change`."""
        return False

    def _choice(self) -> str:
        return "" if self._kept is None else f"; {self._remote.version()}"

    @property
    def _asking(self) -> Asking:
        rows, expected = self._used_rows(), self._gather_rows or 0
        return Asking(self.database, self._remote, self._spelling, rows, self.rows.schema, expected, self._has_asked)

    def _used_rows(self) -> exp.Expr:
        rows: exp.Expr = self._remote.rows()
        if self._kept is None:
            return rows
        row_hash = self._spelling.row_hash
        change = self._spec.change
        if self.unit is not None:
            return kept_rows(self._stored, self.unit, change.most, rows, row_hash).subquery("unit_row")
        assert change.max_children is not None, "what is limited are children"
        keys, most = limited_keys(self.inclusions), change.max_children
        return kept_children(self._stored, keys, most, rows, row_hash).subquery("kept_child")

    def close(self) -> None:
        """Let go of the remote table, and drop the private database. May be called twice."""
        try:
            if self._first is self:
                self._remote.close()
        finally:
            super().close()


def _parents(spec: TableSpec, remote: RemoteTable) -> RemoteParents | None:
    if not spec.parents:
        return None
    from dpdb.remote.parents import RemoteParents

    return RemoteParents(spec.parents, remote)


def needs_every_row(dc: BoundConstraint) -> bool:
    """Say whether no aggregate narrows down the rows in conflict. Public: a constraint's shape."""
    shapeless = not dc.constraint.is_single_tuple and dc.shape is None and sorted_shape(dc.constraint) is None
    return shapeless and degree_terms([dc]).covers_all_rows


_ONE, _OTHER, _GROUPS = "one_group", "other_group", "owned_group"


def count_owners(asking: Asking, owner: str, asked: Sequence[OwnerQuestion]) -> list[int]:
    """Count, for each question, the owners for whom it is true. Private.

    It is by aggregates, so no row comes here.

    What is counted is what `dpdb.engine.owners` counts, whose sensitivity holds: owners, each 0 or 1. Rows there have
    no number by which two of them are told apart, so an owner's rows are first grouped by the values that the rule
    reads: two rows of an owner violate it iff two different groups do, or a group with itself that holds two rows. Of
    the values of a key that owners share come the places of value and owner in their orders, whose pairs are taken
    here.

    Parameters
    ----------
    asked
        The questions; those on single rows share queries.
    """
    found: dict[int, int] = {}
    single = [place for place, each in enumerate(asked) if not is_of_pairs(each)]
    for part in in_queries(asking.schema, [questions_columns(owner, [asked[place]]) for place in single]):
        places = [single[place] for place in part]
        counts = asking.row(_with_such_row(asking, owner, [asked[place] for place in places]))
        found |= {place: int(count) for place, count in zip(places, counts, strict=True)}
    for place, each in enumerate(asked):
        if is_of_pairs(each):
            key = key_of(each, asking.schema)
            if key is None or owner in key.equal:  # only one owner has its values
                found[place] = int(asking.value(_with_such_pair(asking, owner, each)))
            else:
                repeating, shared = sharing_queries(key, owner, _read(asking, {owner, *each.columns}))
                places = asking.ask(shared)  # no engine promises the order of a query within another one
                in_order = places.sort_by([(name, "ascending") for name in places.column_names])
                found[place] = int(asking.value(repeating)) + disjoint_pairs(in_order.to_batches())
    return [found[place] for place in range(len(asked))]


def _read(asking: Asking, names: set[str]) -> exp.Subquery:
    return asking.selected(names).subquery(ROWS.name)


def _with_such_row(asking: Asking, owner: str, asked: Sequence[OwnerQuestion]) -> exp.Select:
    """Query of how many owners have a row for which each question is true: one group for each owner."""
    rows = _read(asking, questions_columns(owner, asked))
    own = exp.column(owner, table=ROWS.name, quoted=True)
    has = [exp.alias_(counted_if(holds(each, ROWS.name)), f"has_{place}") for place, each in enumerate(asked)]
    grouped = exp.select(*has).from_(rows).where(is_known(own)).group_by(own.copy())
    some = [exp.column(f"has_{place}") > 0 for place in range(len(asked))]
    return numbered(map(counted_if, some)).from_(grouped.subquery("by_owner"))


def _with_such_pair(asking: Asking, owner: str, rule: BoundConstraint) -> exp.Select:
    """Query of how many owners have two rows that together violate a rule, in either order."""
    copies = free_name("copies", asking.schema.names)
    names = [owner, *(name for name in rule.columns if name != owner)]
    rows = _read(asking, set(names))
    values = [exp.column(name, table=ROWS.name, quoted=True) for name in names]
    groups = exp.select(*values, exp.alias_(exp.Count(this=exp.Star()), copies, quoted=True)).from_(rows)
    groups = groups.where(is_known(values[0])).group_by(*(value.copy() for value in values))

    def of(group: str, name: str) -> exp.Column:
        return exp.column(name, table=group, quoted=True)

    same = exp.and_(*(exp.NullSafeEQ(this=of(_ONE, name), expression=of(_OTHER, name)) for name in names))
    two_rows = exp.or_(of(_ONE, copies) > 1, exp.paren(same).not_())
    counted = exp.Count(this=exp.Distinct(expressions=[of(_ONE, owner)]))
    return (
        exp.select(exp.alias_(counted, "count_0"))
        .from_(exp.alias_(exp.to_table(_GROUPS), _ONE, table=True))
        .join(exp.alias_(exp.to_table(_GROUPS), _OTHER, table=True), on=of(_ONE, owner).eq(of(_OTHER, owner)))
        .where(exp.paren(two_rows), exp.paren(rule.over(_ONE, _OTHER)))
        .with_(_GROUPS, as_=groups)
    )
