"""`Session`: one table, its constraints, its budget."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Literal, overload

from dpdb.constraints import ConstraintsLike, distinct, load_constraints
from dpdb.engine.duckdb.database import OWNER_LOG, Database
from dpdb.engine.progress import Progress, no_progress
from dpdb.engine.slice import Slice
from dpdb.engine.sources.content import opened_content, source_content
from dpdb.engine.sources.open import Source, SourceLike, open_source
from dpdb.engine.sql.bind import bind
from dpdb.engine.sql.count import count_rows
from dpdb.engine.sql.degree_bound import degree_terms
from dpdb.engine.sql.joins import refuse_nested_loops
from dpdb.engine.sql.where import WherePredicate
from dpdb.engine.unit_rows import UnitRows, chosen_by
from dpdb.errors import DpdbError, EngineError, ParameterError
from dpdb.measures import minimal_inconsistency, problematic
from dpdb.measures.answer import Answer
from dpdb.measures.count import noisy_count
from dpdb.measures.degree_cap import release_degree_cap
from dpdb.measures.estimate import with_estimate
from dpdb.measures.mechanism import Run
from dpdb.measures.rate import rate_answer, rate_beta
from dpdb.predicates import TRUE, Node
from dpdb.privacy import check_samplers, split
from dpdb.release.account import Account, Charge
from dpdb.release.breakdown import Part, each_constraint_parts, within_groups
from dpdb.release.budget import Budget, as_budget
from dpdb.release.conflict_graph import load_kernels
from dpdb.release.count_request import parse_count
from dpdb.release.privacy_unit import parse_unit
from dpdb.release.public_theta import PublicTheta, parse_theta
from dpdb.release.rehearsal import Rehearsal, RehearsedError
from dpdb.release.release import Release, Releases, constraints_digest, make_release, recorded_releases
from dpdb.release.request import Request, parse_max_group, parse_request
from dpdb.release.shares import measure_shares
from dpdb.release.slices import Key, Slices, parse_slices
from dpdb.release.statistics import SliceStatistics

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
        See `dpdb.engine.sources.open.open_source`. Only read, never written.
    constraints : path, text, list of texts or of `DenialConstraint`, optional
        Public. Duplicates (also after exchanging the tuples) count once. None is for counts of rows only.
    table : str, optional
        Table or view of a DuckDB file or connection.
    budget : number or Budget, optional
        Total epsilon of the session; None means unlimited, and the repr says so. Sessions may share a `Budget`.
    ledger : path, optional
        Durable budget of the table, made with `dpdb budget create`; with `budget` too, the smaller of both holds.
    rows_per_person : int
        At most this many rows belong to one person; every mechanism then runs at epsilon / rows_per_person.
    unit, max_rows : str and int, optional
        A column whose values own the rows: of each value at most `max_rows` rows are used (of NULL none), and releases
        are epsilon-DP for adding or removing one value with all its rows; see `dpdb.release.privacy_unit`.
    csv_schema : mapping of column to SQL type, optional
        Types of columns that have none: of CSV files, and keys in names of folders (the others are text).
    row_bound : int, optional
        Public bound of the number of rows. Admits constraints that can only be checked row against row.
    max_group : int, optional
        The owner's public word that no group of rows with a common left-hand side has more rows (without an equality:
        that the table has not). Mechanism `two_sided` then spends nothing on a bound. It is never checked against rows;
        a wrong one costs the upper end, never privacy.
    rows : bool
        False for a session that only rehearses (see `rehearse`): of files that are plain tables no row is read.
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
        constraints: ConstraintsLike | None = None,
        table: str | None = None,
        budget: Epsilon | Budget | None = None,
        ledger: str | Path | None = None,
        rows_per_person: int = 1,
        unit: str | None = None,
        max_rows: int | None = None,
        csv_schema: Mapping[str, str] | None = None,
        row_bound: int | None = None,
        max_group: int | None = None,
        rows: bool = True,
        memory_limit: str | None = None,
        temp_directory: str | Path | None = None,
        threads: int | None = None,
        progress: Progress = no_progress,
    ) -> None:
        asked = parse_unit(rows_per_person, unit, max_rows)
        self._closed = False
        self._account: Account = as_budget(budget)
        self._rows_per_person = asked.rows
        self._max_group = parse_max_group(max_group)
        self._progress = progress
        self._slices: OrderedDict[Node, dict[int | None, tuple[Slice, SliceStatistics]]] = OrderedDict()
        self._slices_made = 0
        self._database = Database(memory_limit=memory_limit, temp_directory=temp_directory, threads=threads)
        try:
            progress("opening the table")
            opened = open_source(self._database, source, table=table, csv_schema=csv_schema, rows=rows)
            self._unit = asked.in_schema(opened.schema)
            column = self._unit.column
            # Whatever reads the table reads this, so that nothing sees more rows of a unit than are accounted for.
            self._source: Source = (
                opened if column is None else UnitRows(self._database, opened, column, self._unit.rows)
            )
            names = opened.schema.names
            self.constraints = () if constraints is None else distinct(load_constraints(constraints, names))
            self._bound = bind(self._database, self.constraints, opened.schema)
            refuse_nested_loops(self._bound, row_bound)
            if ledger is not None:
                from dpdb.release.ledger_account import LedgerAccount  # and with it the rooms of ledger and overlap

                kept = "" if column is None else f"; {chosen_by(opened)}"
                self._account = LedgerAccount(
                    ledger,
                    budget=budget,
                    schema=opened.schema,
                    opened=opened_content(self._database, opened) + kept,
                    content=lambda: source_content(self._database, opened) + kept,
                    unit=self._unit,
                )
        except BaseException:
            self._database.close()
            raise
        self._has_ledger = ledger is not None
        self._reads_rows = rows
        self._terms = degree_terms(self._bound)
        self._digest = constraints_digest(self.constraints)

    # -- releases ---------------------------------------------------------------------------------------------

    @overload
    def dp_inconsistency(
        self, measure: Measure = ..., epsilon: Epsilon = ..., *, where: str | None = ..., by: None = ...,
        keys: None = ..., mechanism: str | None = ..., confidence: float = ..., max_degree: int | None = ...,
        run_id: str | None = ..., rate: bool = ..., each_constraint: Literal[False] = ...,
        theta: int | PublicTheta | None = ...,
    ) -> Release: ...  # fmt: skip
    @overload
    def dp_inconsistency(
        self, measure: str, epsilon: Epsilon = ..., *, where: str | None = ..., by: str | None = ...,
        keys: Sequence[Key] | None = ..., mechanism: str | None = ..., confidence: float = ...,
        max_degree: int | None = ..., run_id: str | None = ..., rate: bool = ..., each_constraint: bool = ...,
        theta: int | PublicTheta | None = ...,
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
        rate: bool = False,
        each_constraint: bool = False,
        theta: int | PublicTheta | None = None,
    ) -> Release | tuple[Release, ...]:
        """Release one measure, or all three, of the table or of a slice.

        Parameters
        ----------
        measure : str
            ``"minimal_inconsistency"``, ``"problematic"``, ``"repair"``, or ``"all"``: then `epsilon` is the total of
            the three, which share one degree cap.
        epsilon : number
            Privacy cost. The release is pure epsilon-DP for adding or removing one row (`rows_per_person` rows; one
            value of `unit` with all its rows).
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
        rate : bool
            Divide by a private count of the slice's rows, which gets 5% of epsilon: the share of rows in conflict
            (``"problematic"``) or to delete (``"repair"``), from 0 to 1. Pairs of rows have no rate; ``"all"`` then
            releases the two that have one, in the proportion 2 : 1, with one count.
        each_constraint : bool
            Measure every constraint alone, on the conflict graph that it has without the others: a tuple of releases in
            the constraints' order. Each gets an equal share of epsilon, which is debited once for all of them.
        theta : int, optional
            Public threshold of the projection, stated without looking at the rows (an earlier release's is such a
            one): nothing is spent on choosing it, and releases at one theta can be compared (`Release.change`).

        Returns
        -------
        Release or tuple of Release
            One release; all of them for ``"all"``; with `each_constraint`, for each constraint in order, those of it;
            with `by`, for each key in order, those of its slice.

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
        if not self.constraints:
            raise ParameterError("this session has no constraints to measure; give constraints= when opening it")
        request = parse_request(
            measure,
            epsilon,
            mechanism=mechanism,
            confidence=confidence,
            max_degree=max_degree,
            rows_per_person=self._rows_per_person,
            covers_all_rows=self._terms.covers_all_rows,
            rate=rate,
            theta=theta,
        )
        public_theta = parse_theta(theta)
        parts: tuple[Part, ...] = (Part(request),)
        if each_constraint:
            parts = each_constraint_parts(
                request, self._bound, mechanism=mechanism, rows_per_person=self._rows_per_person
            )
        parts = within_groups(parts, self._bound, self._max_group)
        slices = parse_slices(self._database, self._source.schema, where, by, keys)
        public = request.public(where, self._digest, self._rows_per_person)
        public |= self._unit.public | {"by": by, "keys": slices.keys}
        if self._max_group is not None and "two_sided" in request.mechanisms.values():
            public["max_group"] = self._max_group
        if each_constraint:
            public["each_constraint"] = [part.request.mechanisms for part in parts]
        asked = [(predicate, part) for predicate in slices.predicates for part in parts]
        if public_theta is not None:
            public |= public_theta.public
            asked = [
                (predicate, replace(part, request=part.request.at_theta(public_theta.of(position))))
                for position, (predicate, part) in enumerate(asked)
            ]

        def draw() -> tuple[Release, ...]:
            answers = [
                self._answers(part.request, self._statistics(predicate, part.position)) for predicate, part in asked
            ]
            return tuple(
                release
                for (predicate, part), found in zip(asked, answers, strict=True)
                for release in self._label(
                    part.request,
                    predicate,
                    found,
                    several_slices=by is not None,
                    charged=request.charged,
                    constraint=part.constraint,
                    theta_from=None if public_theta is None else public_theta.words,
                )
            )

        def load() -> None:
            check_samplers(gaussian=False)
            for part in parts:
                load_kernels(part.measured(self._bound), [mechanism.reads for _, mechanism in part.request.measures])

        releases = self._published(request.charged, slices, public, run_id, draw, load=load)
        return releases if measure == "all" or by is not None or each_constraint else releases[0]

    def dp_count(
        self,
        epsilon: Epsilon | None = None,
        *,
        rho: Epsilon | None = None,
        where: str | None = None,
        by: str | None = None,
        keys: Sequence[Key] | None = None,
        confidence: float = 0.95,
        run_id: str | None = None,
    ) -> Release | tuple[Release, ...]:
        """Release the number of rows of the table, of a slice, or of one slice per key.

        Sensitivity 1 (a row is in the slice or not), so discrete Laplace noise of scale 1 / epsilon; the bounds are
        two-sided. Parameters, cost and errors as `dp_inconsistency`; epsilon is 1 if no cost is given.

        With `rho` instead of `epsilon` the noise is discrete Gaussian of variance 1 / (2 rho) and the release rho-zCDP
        (Canonne, Kamath and Steinke 2020), charged rho to a ledger of notion zcdp. Other accounts refuse it: Gaussian
        noise is not pure, and discrete Gaussian noise has no proven mu (see `dpdb.privacy.noise`).
        """
        self._refuse_closed()
        request = parse_count(epsilon, rho, confidence, self._rows_per_person)
        slices = parse_slices(self._database, self._source.schema, where, by, keys)
        public = {
            "measure": "count",
            **request.cost(),
            "where": where,
            "by": by,
            "keys": slices.keys,
            "confidence": request.confidence,
            **self._unit.public,
        }

        def draw() -> tuple[Release, ...]:
            counts = count_rows(self._database, self._source, slices.predicates, name=self._next_name())
            return tuple(
                make_release(
                    request.answer(count),
                    measure="count",
                    mechanism=request.mechanism,
                    epsilon=request.epsilon,
                    joint_epsilon=request.epsilon,
                    rho=request.rho,
                    confidence=request.confidence,
                    where=None if predicate is None else predicate.text,
                    constraints_sha256=self._digest,
                    unit=self._unit,
                    several_slices=by is not None,
                )
                for predicate, count in zip(slices.predicates, counts, strict=True)
            )

        def load() -> None:
            check_samplers(gaussian=request.rho is not None)

        releases = self._published(request.epsilon or 0, slices, public, run_id, draw, load=load, rho=request.rho)
        return releases if by is not None else releases[0]

    def _published(
        self,
        epsilon: int,
        slices: Slices,
        public: Mapping[str, object],
        run_id: str | None,
        draw: Callable[[], tuple[Release, ...]],
        *,
        load: Callable[[], None],
        rho: int | None = None,
    ) -> tuple[Release, ...]:
        """Load, debit, draw, record, publish: the one way out for every release.

        What can fail for public reasons fails before the debit: `load` compiles what `draw` will use. The debit covers
        the rows of the slices: both tuples of a conflict lie in one of them. A run that the ledger has answered before
        gets that answer. Whatever fails after the debit says one constant thing.
        """
        if run_id is not None and not self._has_ledger:
            raise ParameterError("run_id needs a ledger: only a ledger remembers what a run has answered")
        if not self._reads_rows and not isinstance(self._account, Rehearsal):
            raise ParameterError("this session was opened without rows (rows=False): it rehearses releases only")
        rules = self._digest if self.constraints else None
        charge = Charge(epsilon, slices.charged, public, run_id, rho, rules)
        if self._account.will_draw(charge):
            with _said_before_the_debit():
                load()
        reservation = self._account.debit(charge)
        try:
            if reservation.answer is not None:
                return recorded_releases(reservation.answer)
            with _one_message(), self._no_half_made_slices():
                releases = Releases(draw())
            self._account.record(reservation, json.dumps([release.to_dict() for release in releases]))
            return releases
        finally:
            reservation.close()

    def _answers(self, request: Request, statistics: SliceStatistics) -> list[Answer]:
        """Release the row count and the degree cap once, if something needs them, then answer each measure."""
        self._progress("drawing noise")
        shares = measure_shares(request)
        beta = 1 - request.confidence
        count_share = sum(share.count for share in shares)
        count = None
        if count_share:
            count_beta, beta = rate_beta(beta)
            count = noisy_count(statistics.row_count, count_share, count_beta)
        cap_share = sum(share.cap for share in shares)
        cap = release_degree_cap(statistics, cap_share) if cap_share else None
        if len(request.measures) > 1 and cap is not None:
            spent = {name: share.rest for (name, _), share in zip(request.measures, shares, strict=True)}
            # A rate counts rows, not pairs of rows.
            edges, rows = minimal_inconsistency.LADDER, problematic.LADDER
            projected = () if request.rate else edges.thetas(cap, spent["minimal_inconsistency"])
            statistics.prepare(projected, rows.thetas(cap, spent["problematic"]))
        answers = [
            with_estimate(mechanism.answer(Run(statistics, share.rest, beta, cap, request.max_degree)), mechanism, beta)
            for (_, mechanism), share in zip(request.measures, shares, strict=True)
        ]
        return answers if count is None else [rate_answer(answer, count) for answer in answers]

    def _refuse_closed(self) -> None:
        if self._closed:
            raise ParameterError("this session is closed; open a new one")

    def _label(
        self,
        request: Request,
        predicate: WherePredicate | None,
        answers: list[Answer],
        *,
        several_slices: bool = False,
        charged: int | None = None,
        constraint: str | None = None,
        theta_from: str | None = None,
    ) -> tuple[Release, ...]:
        """Label the answers to a request that is a part of a call, for which `charged` was debited."""
        costs = split(request.charged, [share.total for share in measure_shares(request)])
        return tuple(
            make_release(
                answer,
                measure=name,
                mechanism=mechanism.name,
                epsilon=cost,
                joint_epsilon=request.charged if charged is None else charged,
                confidence=request.confidence,
                where=None if predicate is None else predicate.text,
                constraints_sha256=self._digest,
                unit=self._unit,
                several_slices=several_slices,
                constraint=constraint,
                rate=request.rate,
                theta_from=theta_from,
            )
            for (name, mechanism), answer, cost in zip(request.measures, answers, costs, strict=True)
        )

    def _statistics(self, predicate: WherePredicate | None, position: int | None = None) -> SliceStatistics:
        """Return the statistics of a slice, with all constraints or with the one at `position` alone.

        The conflict graph is built unless the slice is one of the last few. All graphs of a slice are kept and dropped
        together, so that a breakdown of many constraints drops none of its own; they are about as large as the slice's
        graph of all constraints.
        """
        key = TRUE if predicate is None else predicate.tree
        if key not in self._slices:
            if len(self._slices) >= _KEPT_SLICES:
                for part, _ in self._slices.popitem(last=False)[1].values():
                    part.close()
            self._slices[key] = {}
        self._slices.move_to_end(key)
        kept = self._slices[key]
        if position not in kept:
            part = Slice(
                self._database,
                self._source,
                self._bound if position is None else [self._bound[position]],
                predicate,
                name=self._next_name(),
                progress=self._progress,
            )
            kept[position] = part, SliceStatistics(part)
        return kept[position][1]

    @contextmanager
    def _no_half_made_slices(self) -> Iterator[None]:
        """Forget all slices if a signal or a failure leaves one in the middle of being made."""
        try:
            yield
        except BaseException:
            forgotten, self._slices = self._slices, OrderedDict()
            for parts in forgotten.values():
                for part, _ in parts.values():
                    with suppress(DpdbError):
                        part.close()
            raise

    def _next_name(self) -> str:
        self._slices_made += 1
        return f"slice_{self._slices_made}"

    # -- releases to come -------------------------------------------------------------------------------------

    def rehearse(self, release: Callable[[Session], object]) -> Charge:
        """Check everything public about a release, such as ``lambda s: s.dp_count(0.1)``, and return its charge.

        Reads no row, draws nothing, spends nothing. Errors as the release, except that the budget is not asked.
        """
        self._refuse_closed()
        account = self._account
        try:
            self._account = Rehearsal()
            release(self)
        except RehearsedError as stopped:
            return stopped.charge
        finally:
            self._account = account
        raise ParameterError("this is no release: it asks for no debit")

    def check_together(self, charges: Sequence[Charge]) -> None:
        """Raise `BudgetExceededError` if releases with these charges do not all fit the budget; spend nothing.

        What an account cannot count at all (rho) is a `ParameterError`, as for the release itself.
        """
        self._refuse_closed()
        self._account.check_together(charges)

    def cost_together(self, charges: Sequence[Charge]) -> float:
        """Bound what releases with these charges cost together: epsilon, or the parameter of the ledger."""
        self._refuse_closed()
        return self._account.cost_together(charges)

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
def _said_before_the_debit() -> Iterator[None]:
    """Turn what fails while no private row was read, and nothing spent, into an error that says so and why."""
    try:
        yield
    except Exception as error:
        OWNER_LOG.exception("loading failed")
        why = str(error).splitlines()
        reason = f"{type(error).__name__}: {why[0]}" if why else type(error).__name__
        raise EngineError(f"what the release needs cannot be loaded, and nothing was spent ({reason})") from None


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
    rate: bool = False,
    each_constraint: bool = False,
    theta: int | None = None,
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
            rate=rate,
            each_constraint=each_constraint,
            theta=theta,
        )
