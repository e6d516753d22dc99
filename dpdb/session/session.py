"""`Session`: one table, its constraints, its budget."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Literal, overload

from dpdb.accounting import parse_where as covered_rows
from dpdb.constraints import ConstraintsLike, distinct, load_constraints
from dpdb.engine.binding import bind
from dpdb.engine.content import source_content
from dpdb.engine.count import count_rows
from dpdb.engine.database import OWNER_LOG, Database
from dpdb.engine.degree_bound import degree_terms
from dpdb.engine.plan import refuse_nested_loops
from dpdb.engine.progress import Progress, no_progress
from dpdb.engine.slice import Slice
from dpdb.engine.source import SourceLike, open_source
from dpdb.engine.where import WherePredicate
from dpdb.errors import EngineError, ParameterError
from dpdb.measures import problematic
from dpdb.measures.answer import Answer
from dpdb.measures.count import noisy_count
from dpdb.measures.degree_cap import release_degree_cap
from dpdb.measures.mechanism import Run
from dpdb.measures.minimal_inconsistency import MARGINAL, MARGINAL_ORDER
from dpdb.privacy.epsilon import format_epsilon, parse_epsilon, split
from dpdb.session.account import Account, Charge
from dpdb.session.budget import Budget
from dpdb.session.ledger_account import LedgerAccount
from dpdb.session.release import Release, constraints_digest, make_release
from dpdb.session.request import Request, parse_confidence, parse_request, parse_share
from dpdb.session.shares import measure_shares
from dpdb.session.slices import Key, Slices, parse_slices
from dpdb.session.statistics import SliceStatistics

__all__ = ["Session", "dp_inconsistency", "open_session"]

Epsilon = float | int | str | Decimal
Measure = Literal["minimal_inconsistency", "problematic", "repair"]

_FAILED = (
    "the release failed after its budget was debited; the reason is in the owner's log (logger 'dpdb.owner'), "
    "because it may name private values"
)
_KEPT_SLICES = 4


class Session:
    """One table, its constraints and its budget, for any number of releases.

    Use it as a context manager: leaving it drops the private database and its temporary files. Not thread-safe.

    Parameters
    ----------
    source : path, connection, relation or Arrow object
        See `dpdb.engine.source.open_source`. Only read, never written.
    constraints : path, text, list of texts or of `DenialConstraint`
        Public. Duplicates (also after exchanging the tuples) count once.
    table : str, optional
        Table or view of a DuckDB file or connection.
    budget : number, optional
        Total epsilon of the session; None means unlimited, and the repr says so.
    ledger : path, optional
        Durable budget of the table, made with `dpdb budget create`; with `budget` too, the smaller of both holds.
    rows_per_person : int
        At most this many rows belong to one person; every mechanism then runs at epsilon / rows_per_person.
    csv_schema : mapping of column to SQL type, optional
        Types of CSV columns (the others are text).
    row_bound : int, optional
        Public bound of the number of rows. Admits constraints that can only be checked row against row.
    memory_limit, temp_directory, threads
        Limits of the private database; see `Database`.
    progress : callable, optional
        Called with the name of each long step; never with a number.

    Raises
    ------
    DpdbError
        `SourceError`, `ConstraintSyntaxError`, `UnknownColumnError`, `ConstraintTypeError` or `ParameterError`; nothing
        of the table's rows is in their messages.
    """

    def __init__(
        self,
        source: SourceLike,
        *,
        constraints: ConstraintsLike,
        table: str | None = None,
        budget: Epsilon | None = None,
        ledger: str | Path | None = None,
        rows_per_person: int = 1,
        csv_schema: Mapping[str, str] | None = None,
        row_bound: int | None = None,
        memory_limit: str | None = None,
        temp_directory: str | Path | None = None,
        threads: int | None = None,
        progress: Progress = no_progress,
    ) -> None:
        if not isinstance(rows_per_person, int) or isinstance(rows_per_person, bool) or rows_per_person < 1:
            raise ParameterError(f"rows_per_person must be a whole number of at least 1, got {rows_per_person!r}")
        self._closed = False
        self._account: Account = Budget(budget)
        self._rows_per_person = rows_per_person
        self._progress = progress
        self._slices: OrderedDict[str, tuple[Slice, SliceStatistics]] = OrderedDict()
        self._slices_made = 0
        self._database = Database(memory_limit=memory_limit, temp_directory=temp_directory, threads=threads)
        try:
            self._source = open_source(self._database, source, table=table, csv_schema=csv_schema)
            self.constraints = distinct(load_constraints(constraints, self._source.schema.names))
            self._bound = bind(self._database, self.constraints, self._source.schema)
            refuse_nested_loops(self._bound, row_bound)
            if ledger is not None:
                self._account = LedgerAccount(
                    ledger,
                    budget=budget,
                    schema=self._source.schema,
                    content=lambda: source_content(self._database, self._source),
                    rows_per_person=rows_per_person,
                )
        except BaseException:
            self._database.close()
            raise
        self._has_ledger = ledger is not None
        self._terms = degree_terms(self._bound)
        self._digest = constraints_digest(self.constraints)

    # -- releases ---------------------------------------------------------------------------------------------

    @overload
    def dp_inconsistency(
        self, measure: Measure = ..., epsilon: Epsilon = ..., *, where: str | None = ..., by: None = ...,
        keys: None = ..., mechanism: str | None = ..., confidence: float = ..., max_degree: int | None = ...,
        run_id: str | None = ...,
    ) -> Release: ...  # fmt: skip
    @overload
    def dp_inconsistency(
        self, measure: str, epsilon: Epsilon = ..., *, where: str | None = ..., by: str | None = ...,
        keys: Sequence[Key] | None = ..., mechanism: str | None = ..., confidence: float = ...,
        max_degree: int | None = ..., run_id: str | None = ...,
    ) -> Release | tuple[Release, ...]: ...  # fmt: skip
    def dp_inconsistency(
        self,
        measure: str = "repair",
        epsilon: Epsilon = 1.0,
        *,
        where: str | None = None,
        by: str | None = None,
        keys: Sequence[Key] | None = None,
        mechanism: str | None = None,
        confidence: float = 0.95,
        max_degree: int | None = None,
        run_id: str | None = None,
    ) -> Release | tuple[Release, ...]:
        """Release one measure, or all three, of the table or of a slice.

        Parameters
        ----------
        measure : str
            ``"minimal_inconsistency"``, ``"problematic"``, ``"repair"``, or ``"all"``: then `epsilon` is the total of
            the three, which share one degree cap.
        epsilon : number
            Privacy cost. The release is pure epsilon-DP for adding or removing one row (`rows_per_person` rows).
        where : str, optional
            The slice: a predicate of the default-deny grammar. Both tuples of a conflict lie in the slice.
        by, keys : str and sequence, optional
            A column and the public list of its groups: one slice per key, absent groups included. The slices are
            disjoint, so `epsilon` is charged once for all of them.
        mechanism : str, optional
            Another mechanism than the default, by name.
        confidence : float
            Of the bounds.
        max_degree : int, optional
            Public bound of the conflicts per tuple, for mechanisms that need one.
        run_id : str, optional
            Name of this run in the ledger: asked again, it gives the recorded answer and spends nothing.

        Returns
        -------
        Release or tuple of Release
            One release; all three for ``"all"``; with `by`, for each key in order, those of its slice.

        Raises
        ------
        ParameterError, PredicateError, UnknownColumnError, LedgerError
            Before anything is released.
        BudgetExceededError
            If the budget does not suffice; nothing is spent.
        EngineError
            If the release fails after the debit, with one constant message.

        Notes
        -----
        Sources: paper A, Algorithms 1, 2, 4 and 5, with corrected sensitivities; see each measure's mechanisms.
        """
        self._refuse_closed()
        request = parse_request(
            measure,
            epsilon,
            mechanism=mechanism,
            confidence=confidence,
            max_degree=max_degree,
            rows_per_person=self._rows_per_person,
            covers_all_rows=self._terms.covers_all_rows,
        )
        slices = parse_slices(self._database, self._source.schema, where, by, keys)
        public = request.public(where, self._digest, self._rows_per_person) | {"by": by, "keys": slices.keys}

        def draw() -> tuple[Release, ...]:
            answers = [self._answers(request, self._statistics(predicate)) for predicate in slices.predicates]
            return tuple(
                release
                for predicate, found in zip(slices.predicates, answers, strict=True)
                for release in self._label(request, predicate, found, several_slices=by is not None)
            )

        releases = self._published(request.charged, slices, public, run_id, draw)
        return releases if measure == "all" or by is not None else releases[0]

    def dp_count(
        self,
        epsilon: Epsilon = 1.0,
        *,
        where: str | None = None,
        by: str | None = None,
        keys: Sequence[Key] | None = None,
        confidence: float = 0.95,
        run_id: str | None = None,
    ) -> Release | tuple[Release, ...]:
        """Release the number of rows of the table, of a slice, or of one slice per key.

        Sensitivity 1 (a row is in the slice or not), so discrete Laplace noise of scale 1 / epsilon; the bounds are
        two-sided. Parameters, cost and errors as `dp_inconsistency`.
        """
        self._refuse_closed()
        checked, confidence = parse_epsilon(epsilon), parse_confidence(confidence)
        per_row = parse_share(checked, self._rows_per_person)
        slices = parse_slices(self._database, self._source.schema, where, by, keys)
        public = {
            "measure": "count",
            "epsilon": format_epsilon(checked),
            "where": where,
            "by": by,
            "keys": slices.keys,
            "confidence": confidence,
            "rows_per_person": self._rows_per_person,
        }

        def draw() -> tuple[Release, ...]:
            counts = count_rows(self._database, self._source, slices.predicates, name=self._next_name())
            return tuple(
                make_release(
                    noisy_count(count, per_row, 1 - confidence),
                    measure="count",
                    mechanism="laplace",
                    epsilon=checked,
                    joint_epsilon=checked,
                    confidence=confidence,
                    where=None if predicate is None else predicate.text,
                    constraints_sha256=self._digest,
                    rows_per_person=self._rows_per_person,
                    several_slices=by is not None,
                )
                for predicate, count in zip(slices.predicates, counts, strict=True)
            )

        releases = self._published(checked, slices, public, run_id, draw)
        return releases if by is not None else releases[0]

    def _published(
        self,
        epsilon: int,
        slices: Slices,
        public: Mapping[str, object],
        run_id: str | None,
        draw: Callable[[], tuple[Release, ...]],
    ) -> tuple[Release, ...]:
        """Debit, draw, record, publish: the one way out for every release.

        The debit covers the rows of the slices: both tuples of a conflict lie in one of them. A run that the ledger has
        answered before gets that answer. Whatever fails after the debit says one constant thing.
        """
        if run_id is not None and not self._has_ledger:
            raise ParameterError("run_id needs a ledger: only a ledger remembers what a run has answered")
        # In the types that the engine compares in: an enumeration is text.
        types = {column.name: column.type or column.declared_type for column in self._source.schema.columns}
        charge = Charge(epsilon, covered_rows(slices.covered, types), public, run_id)
        reservation = self._account.debit(charge)
        try:
            if reservation.answer is not None:
                return tuple(Release(**fields) for fields in json.loads(reservation.answer))
            with _one_message():
                releases = draw()
            self._account.record(reservation, json.dumps([release.to_dict() for release in releases]))
            return releases
        finally:
            reservation.close()

    def _answers(self, request: Request, statistics: SliceStatistics) -> list[Answer]:
        """Release the degree cap once if a mechanism needs it, then answer each measure."""
        self._progress("drawing noise")
        shares = measure_shares(request)
        cap_share = sum(share.cap for share in shares)
        cap = release_degree_cap(statistics, cap_share) if cap_share else None
        if len(request.measures) > 1 and cap is not None:
            edges = MARGINAL_ORDER if self._terms.covers_all_rows else MARGINAL
            statistics.prepare(edges.thetas(cap.value), problematic.MARGINAL.thetas(cap.value))
        beta = 1 - request.confidence
        return [
            mechanism.answer(Run(statistics, share.rest, beta, cap, request.max_degree))
            for (_, mechanism), share in zip(request.measures, shares, strict=True)
        ]

    def _refuse_closed(self) -> None:
        if self._closed:
            raise ParameterError("this session is closed; open a new one")

    def _label(
        self, request: Request, predicate: WherePredicate | None, answers: list[Answer], *, several_slices: bool = False
    ) -> tuple[Release, ...]:
        costs = split(request.charged, [share.total for share in measure_shares(request)])
        return tuple(
            make_release(
                answer,
                measure=name,
                mechanism=mechanism.name,
                epsilon=cost,
                joint_epsilon=request.charged,
                confidence=request.confidence,
                where=None if predicate is None else predicate.text,
                constraints_sha256=self._digest,
                rows_per_person=self._rows_per_person,
                several_slices=several_slices,
            )
            for (name, mechanism), answer, cost in zip(request.measures, answers, costs, strict=True)
        )

    def _statistics(self, predicate: WherePredicate | None) -> SliceStatistics:
        """Return the slice's statistics, building its conflict graph unless it is one of the last few."""
        key = "" if predicate is None else predicate.text
        if key not in self._slices:
            if len(self._slices) >= _KEPT_SLICES:
                self._slices.popitem(last=False)[1][0].close()
            part = Slice(
                self._database,
                self._source,
                self._bound,
                predicate,
                name=self._next_name(),
                progress=self._progress,
            )
            self._slices[key] = part, SliceStatistics(part)
        self._slices.move_to_end(key)
        return self._slices[key][1]

    def _next_name(self) -> str:
        self._slices_made += 1
        return f"slice_{self._slices_made}"

    # -- budget and life --------------------------------------------------------------------------------------

    def spent(self) -> float:
        """Epsilon spent by the releases of this session; with a ledger, by all of its releases, in its parameter."""
        return self._account.spent()

    def remaining(self) -> float | None:
        """What a release of the whole table may still cost; None if the budget is unlimited."""
        return self._account.remaining()

    def close(self) -> None:
        """Drop the private database and its temporary files. May be called twice."""
        self._closed = True
        self._account.close()
        self._database.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<dpdb.Session {self._source.description}: {len(self.constraints)} constraints, {self._account!r}>"


@contextmanager
def _one_message() -> Iterator[None]:
    """Turn every failure after the debit into one constant message; the reason goes to the owner's log."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, EngineError):  # the engine has logged its own
            OWNER_LOG.exception("release failed")
        raise EngineError(_FAILED) from None


open_session = Session


def dp_inconsistency(
    source: SourceLike,
    constraints: ConstraintsLike,
    measure: str = "repair",
    epsilon: Epsilon = 1.0,
    *,
    where: str | None = None,
    by: str | None = None,
    keys: Sequence[Key] | None = None,
    mechanism: str | None = None,
    confidence: float = 0.95,
    max_degree: int | None = None,
    run_id: str | None = None,
    **options: object,
) -> Release | tuple[Release, ...]:
    """Make one release of a table: open a `Session`, release, close. Parameters, cost and errors as there.

    Examples
    --------
    >>> import dpdb
    >>> r = dpdb.dp_inconsistency("hospital.parquet", constraints="hospital.dcs.txt")  # doctest: +SKIP
    """
    with Session(source, constraints=constraints, **options) as session:  # type: ignore[arg-type]
        return session.dp_inconsistency(
            measure,
            epsilon,
            where=where,
            by=by,
            keys=keys,
            mechanism=mechanism,
            confidence=confidence,
            max_degree=max_degree,
            run_id=run_id,
        )
