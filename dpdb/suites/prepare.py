"""`prepare_check`: everything public about a run of a suite, before anything is spent.

On a pure account a run is a `CheckRun`, by levels and numbers; on a zcdp ledger a `WorstRun`. Where numbers of all
checks are asked, it is a `SizesRun` on either.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from dpdb.errors import ParameterError
from dpdb.ledger import RecordedLevel
from dpdb.predicates import Region
from dpdb.privacy import PURE, ZCDP, Notion, as_fraction, format_epsilon, format_rho, parse_epsilon, parse_rho
from dpdb.release import Charge, Session, Slices, checked_keys, new_run_id, parse_slices
from dpdb.suites.ask import RunOptions
from dpdb.suites.bought import SuiteBooks, bought_run
from dpdb.suites.check import CheckRun
from dpdb.suites.counted import CountedSuite, counted_suite, refuse_same_names, refuse_unsaid
from dpdb.suites.mechanism.plan import ShareRows
from dpdb.suites.mechanism.planned import plan_suite
from dpdb.suites.mechanism.sizes import SizesPlan, plan_sizes
from dpdb.suites.mechanism.worst_first import plan_worst_first
from dpdb.suites.planning import refuse_too_few
from dpdb.suites.results import checked_within
from dpdb.suites.schema_checks import judged_schema
from dpdb.suites.sizes_run import SizesRun
from dpdb.suites.suite import Suite, SuiteLike, day_of, load_suite, moment_of, moment_text
from dpdb.suites.worst_run import WorstRun

if TYPE_CHECKING:
    from dpdb.suites.compared import ComparedLine
    from dpdb.suites.tables.counted_set import CountedSet

_RUNS_KEPT = 365


def prepare_check(
    session: Session,
    suite: Suite | SuiteLike,
    **options: Any,
) -> CheckRun:
    """Check everything public about a run of a suite; the result has its plan and charge.

    Reads no row, draws nothing, spends nothing.

    Parameters
    ----------
    **options
        The fields of `RunOptions`.
    """
    asked, table = PlannedOptions.of(options), session.public
    if not isinstance(suite, Suite):
        suite = load_suite(suite, table.opened.schema.names, date=asked.day)
    now = asked.moment(session) if suite.needs_now else None
    if now is not None:
        suite = suite.at(now, {each.name: each.declared_type for each in table.opened.schema.columns})
    if not suite.lines:
        raise ParameterError(
            "all checks are of the columns: they need no run; use `check`, which costs nothing for them"
        )
    keys = checked_keys(asked.by, asked.keys)
    if asked.keep is not None and asked.by is not None:
        raise ParameterError("a kept suite has no slices; keep one suite for each key (--where)")
    asked.refuse_run_id(has_ledger=session.has_ledger)
    compared = _compared(session, suite, asked) if any(line.other is not None for line in suite.lines) else {}
    counted = counted_suite(table, suite, compared)
    if asked.keep is None or session.kept_suite(asked.keep) is None:  # one that was opened before goes on
        refuse_unsaid(suite, counted.limits)
    if counted.brings_rows:
        table.opened.admit_graph()
    slices = parse_slices(table.opened, asked.where, asked.by, keys)
    request = {
        "suite": suite.digest,
        "where": asked.where,
        "by": asked.by,
        "keys": slices.keys,
        "constraints_sha256": table.constraints_sha256,
        **table.unit.public,
        **({"public_parents": table.opened.public_keys} if table.opened.public_keys else {}),
        **({"compared": _comparisons(session, compared)} if compared else {}),
    }
    known: dict[str, Any] = {"rows": table.unit.rows, "rule_set": table.constraints_sha256, "notion": session.notion}
    run = replace(asked.prepared(counted, slices, request, **known, now=now, books=session), day=day_of(asked.day))
    return replace(run, schema=judged_schema(suite.schema, table.opened.schema)) if suite.schema else run


def _compared(session: Session, suite: Suite, asked: RunOptions) -> Mapping[int, ComparedLine]:
    from dpdb.suites.compared import compared_lines, refuse_slices  # few suites compare tables

    found = compared_lines(session, suite)
    refuse_slices(found, suite, {"where": asked.where, "by": asked.by})
    return found


def _comparisons(session: Session, compared: Mapping[int, ComparedLine]) -> list[dict[str, Any]]:
    """Return what a suite compares, and who pays beside its own table."""
    return [
        {"line": place, **each.public, "ledger": session.other_table(each.name).account_name}
        for place, each in compared.items()
    ]


@dataclass(frozen=True)
class PlannedOptions(RunOptions):
    """The options of a run, with its moment, and with how they are planned and charged."""

    def moment(self, books: SuiteBooks) -> datetime:
        """Return the moment of the run: the one with which it began, if it is recorded, else `now`, else the clock's.

        Raises
        ------
        ParameterError
            If `now` is none, or the run began at another one.
        """
        began = self._recorded_moment(books)
        if began is None or (self.now is not None and moment_of(self.now) != moment_of(began)):
            if began is not None:
                raise ParameterError(f"run {self.run_id!r} is of {began}: leave out now (--now), or name another run")
            return moment_of(self.now)
        return moment_of(began)

    def _recorded_moment(self, books: SuiteBooks) -> str | None:
        """Return when a run of this id began: of a kept suite its levels say so, of others what was asked."""
        if self.run_id is None:
            return None
        if self.keep is None:
            spec = books.spec_of_run(self.run_id)
            records = [] if spec is None else [spec]
        else:
            history = books.suite_history(self.keep) or []
            records = [
                each.answer for each in history if isinstance(each, RecordedLevel) and each.run_id == self.run_id
            ]
        asked = (json.loads(record) for record in records)
        return next((one["now"] for one in asked if "now" in one), None)

    def prepared(
        self,
        counted: CountedSuite | CountedSet,
        slices: Slices,
        request: Mapping[str, Any],
        *,
        rows: int,
        rule_set: str,
        notion: Notion,
        books: SuiteBooks,
        now: datetime | None = None,
    ) -> CheckRun:
        """Return a run with its plan and charge; of a suite that an older version keeps, with the plan of that.

        Parameters
        ----------
        request
            All other public values of the call.
        rows
            How many rows one unit may have in a table.
        notion
            Of the account: pure by levels and numbers, zcdp worst first.
        books
            What the account knows of its suites: with what it keeps this one, if it does.
        now
            The moment of the run, if a check is of how new rows are. A kept suite has another one in each run.
        """
        moment = None if now is None else moment_text(now)
        if moment is not None and self.keep is None:
            request = {**request, "now": moment}
        planned = partial(self._planned, counted, slices, request, rows, rule_set)
        if self.sizes:
            run: CheckRun = self._with_sizes(planned, notion)
        elif notion is not PURE:
            self._refuse_in(notion)
            run = self._in_rho(planned())
        else:
            self._refuse_rho()
            planned = partial(self._by_levels, planned, counted, request)
            run = planned()
        recorded = None if self.keep is None else books.kept_suite(self.keep)
        if recorded is not None and recorded != run.spec:
            before = ({"shows_below": False}, {"shows_below": False, "halves_limits": False}, {"halves_limits": False})
            older = (planned(**options) for options in before)
            run = next((each for each in older if each.spec == recorded), run)
        if self.numbers is not None:
            run = bought_run(run, self.numbers, books)
        refuse_same_names(name for names in run.names for name in names)
        refuse_too_few(run)
        return replace(run, now=moment)

    def _planned(
        self,
        counted: CountedSuite | CountedSet,
        slices: Slices,
        request: Mapping[str, Any],
        rows: int,
        rule_set: str,
        **options: Any,
    ) -> CheckRun:
        epsilon = parse_epsilon(self.epsilon)
        plan = plan_suite(
            [each.tested for each in counted.limits],
            epsilon,
            _exact(self.confidence),
            certain="fail" if self.sizes else self.certain,  # with sizes no level follows this plan
            runs=self.runs if self.runs is not None else 1 if self.keep is None else _RUNS_KEPT,
            keys=len(slices.predicates),
            unit_reach=counted.row_local.reach,
            owned=counted.row_local.owned,
            **options,
        )
        request = {
            **request,
            "epsilon": format_epsilon(epsilon),
            "confidence": self.confidence,
            "certain": self.certain,
            "runs": plan.runs,
            **({} if self.keep is None else {"keep": self.keep}),
            **({"sizes": True} if self.sizes else {}),
        }
        run_id = self.run_id or new_run_id("check")
        charge = Charge(
            (epsilon,), rows, slices.charged, request, run_id, rule_set=rule_set, label=self.label, who=self.who
        )
        within = None if self.within is None else checked_within(self.within)
        return CheckRun(charge, self.keep, counted, plan, slices, within)

    def _by_levels(
        self,
        planned: Callable[..., CheckRun],
        counted: CountedSuite | CountedSet,
        request: Mapping[str, Any],
        **options: Any,
    ) -> CheckRun:
        """Return a run of levels, which numbers may follow; of a kept suite where they are bought.

        Not where units of several rows are asked for some of them: one run for each part of the rows costs as much as
        one run, and numbers would end that (`RowLocal.covers_all`). No ledger keeps a suite of some rows of such units.
        """
        local = counted.row_local
        if local.covers_all and request.get("where") is not None:
            return planned(**options)
        shares = ShareRows.among(counted.share_rows)
        run = planned(row_local=local.tests, shares=shares, apart=self.keep is not None, **options)
        return _for_all_rows(run) if local.covers_all and local.tests else run

    def _in_rho(self, run: CheckRun) -> WorstRun:
        """Return a run that is paid in rho instead."""
        charge, rho = self._charged_in_rho(run)
        tests = [each.tested for each in run.counted.limits]
        worst = plan_worst_first(tests, rho, _exact(self.confidence), keys=len(run.slices.predicates))
        return WorstRun(charge, None, run.counted, run.plan, run.slices, run.within, worst=worst)

    def _charged_in_rho(self, run: CheckRun) -> tuple[Charge, int]:
        epsilon = as_fraction(parse_epsilon(self.epsilon))
        rho = ZCDP.charge_pure(epsilon) if self.rho is None else parse_rho(self.rho)
        request = {**run.charge.request, "rho": format_rho(rho)}
        del request["epsilon"]
        return replace(run.charge, parts=(), rho=rho, request=request), rho

    def _with_sizes(self, planned: Callable[[], CheckRun], notion: Notion) -> SizesRun:
        """Return a run that gives every check a number."""
        if self.keep is not None:
            raise ParameterError("numbers of all checks are of one run: a kept suite has levels alone; leave out keep")
        if notion is PURE:
            self._refuse_rho()
        else:
            self._refuse_other_notion(notion)
        run = planned()
        charge, amount = (run.charge, run.charge.parts[0]) if notion is PURE else self._charged_in_rho(run)
        counted, local = run.counted, run.counted.row_local
        shares = ShareRows.among(counted.share_rows)
        others = tuple(line for line in range(len(counted.suite.lines)) if line not in local.only_above)
        moves = counted.moves
        sizes = SizesPlan(
            tests=tuple(each.tested for each in counted.limits),
            lines=tuple(each.line for each in counted.limits),
            of_rows=shares.of,
            local=local.only_above,
            others=others,
            moved=tuple(Fraction(moves[line]) for line in others),
            rows=shares.moved,
            reach=local.reach,
            owned=local.owned,
            keys=len(run.slices.predicates),
            amount=amount,
            confidence=_exact(self.confidence),
            certain=self.certain,
            paid="epsilon" if notion is PURE else "rho",
        )
        charge = replace(charge, request={**charge.request, "certain": self.certain})
        found = SizesRun(charge, None, counted, run.plan, run.slices, run.within, sizes=plan_sizes(sizes))
        return _for_all_rows(found) if local.covers_all and sizes.local else found

    def _refuse_rho(self) -> None:
        if self.rho is not None:
            raise ParameterError(
                "rho= needs a ledger that counts in rho (dpdb budget create --notion zcdp); else ask with epsilon="
            )

    def _refuse_other_notion(self, notion: Notion) -> None:
        if notion is not ZCDP:
            raise ParameterError(
                f"checks need a pure or a zcdp ledger, and this one is {notion.name}: nothing is known of them in mu; "
                "measure instead"
            )

    def _refuse_in(self, notion: Notion) -> None:
        """Refuse what a ledger that is not pure does not take; before anything is spent."""
        self._refuse_other_notion(notion)
        if self.keep is not None:
            raise ParameterError("a kept suite needs a pure ledger, and this one is zcdp")
        if self.certain != "fail":
            raise ParameterError("certain 'pass' needs a pure ledger, and this one is zcdp: there a failure is certain")


_Run = TypeVar("_Run", bound=CheckRun)


def _for_all_rows(run: _Run) -> _Run:
    """Return a run that is charged for all rows of the table, whichever it reads."""
    return replace(run, charge=replace(run.charge, coverage=Region()))


def _exact(confidence: float) -> Fraction:
    """Return the confidence of all verdicts as an exact number; refuse what is none."""
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0.5 <= confidence < 1:
        raise ParameterError(f"confidence must be at least 0.5 and below 1, got {confidence!r}")
    return Fraction(Decimal(repr(confidence)))
