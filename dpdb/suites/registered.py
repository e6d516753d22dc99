"""`RegisteredSuite`: a suite that an owner has registered under a name, for callers who may run it and nothing else."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dpdb.constraints import DenialConstraint, WrittenLines, written_lines
from dpdb.errors import ParameterError
from dpdb.privacy import format_epsilon, parse_epsilon
from dpdb.release import Session
from dpdb.suites.ask import SuiteAsk
from dpdb.suites.check import CheckRun, run_check
from dpdb.suites.prepare import prepare_check
from dpdb.suites.results import CheckResults
from dpdb.suites.suite import ANY_DAY, Suite, SuiteLike, load_suite, needs_day

_KEPT_DAYS = 4


@dataclass(frozen=True)
class SuiteOnTable:
    """A registered suite, of one date if it is about dates, and a session whose constraints are its rules."""

    name: str
    suite: Suite
    session: Session

    def prepare(self, ask: SuiteAsk, *, who: str | None = None) -> CheckRun:
        """Check everything public about a run. Reads no row, draws nothing, spends nothing.

        A kept suite is run as it was opened; no other suite is kept by being run here.

        Raises
        ------
        ParameterError
            As `Session.check`; if a kept suite was not opened with what is asked; a run id without a ledger.
        """
        if ask.certain not in (None, "fail", "pass"):
            raise ParameterError(f"certain is 'fail' or 'pass', got {ask.certain!r}")
        spec = self.session.kept_suite(self.name)
        if spec is None:
            given = {name: value for name, value in vars(ask).items() if value is not None}
            del given["suite"]
            given.pop("date", None)
            return prepare_check(self.session, self.suite, **given, who=who)
        opened = json.loads(spec)
        self._refuse_other(ask, opened)
        return prepare_check(
            self.session,
            self.suite,
            **{name: opened[name] for name in ("epsilon", "confidence", "certain", "runs", "where")},
            within=ask.within,
            now=ask.now,
            keep=self.name,
            run_id=ask.run_id,
            label=ask.label,
            who=who,
        )

    def _refuse_other(self, ask: SuiteAsk, opened: dict[str, Any]) -> None:
        """Refuse values other than those with which a kept suite was opened."""
        epsilon = None if ask.epsilon is None else format_epsilon(parse_epsilon(ask.epsilon))
        asked = {"epsilon": epsilon, "confidence": ask.confidence, "certain": ask.certain, "where": ask.where}
        for name, given in (asked | {"by": ask.by, "rho": ask.rho, "sizes": ask.sizes or None}).items():
            if given is not None and given != opened.get(name):
                how = f"without {name}" if opened.get(name) is None else f"with {name} {opened[name]}"
                raise ParameterError(f"suite {self.name!r} is kept {how}, and its runs cost nothing: leave {name} out")

    def run(self, prepared: CheckRun) -> CheckResults:
        """Run it. Cost and errors as `Session.check`."""
        return run_check(self.session, prepared)


class RegisteredSuite:
    """A suite that callers know by a name. To be used in one thread at a time.

    Parameters
    ----------
    name
        By which they know it.
    session
        Of its table, under its rules; of rules about a date, under those of any. It is the caller's to close.
    """

    def __init__(self, name: str, written: Suite | WrittenLines, session: Session) -> None:
        self.name, self.session = name, session
        self._written = written
        self._dated = not isinstance(written, Suite) and needs_day(written)
        self._days: OrderedDict[str | None, SuiteOnTable] = OrderedDict()

    def on(self, date: str | None) -> SuiteOnTable:
        """Return the suite of a date, with a session of its rules that ends with `session`.

        It is good until it is asked for again: sessions of the last few dates are kept open.

        Raises
        ------
        ParameterError
            If it is about a date and none is given, the text is none, or it compares tables.
        """
        if date not in self._days:
            suite = dated_suite(self.name, self._written, date, self.session.public.opened.schema.names)
            self._refuse_comparisons(suite)
            session = self.session.with_constraints(suite.rules) if self._dated else self.session
            self._days[date] = SuiteOnTable(self.name, suite, session)
        self._days.move_to_end(date)
        if len(self._days) > _KEPT_DAYS:
            _, oldest = self._days.popitem(last=False)
            if oldest.session is not self.session:
                oldest.session.close()
        return self._days[date]

    def _refuse_comparisons(self, suite: Suite) -> None:
        other = next((line for line in suite.lines if line.other is not None), None)
        if other is not None:
            raise ParameterError(
                f"suite {self.name!r}: check {other.name!r} compares two tables, and suites that are registered or "
                "served are of one; its owner runs it: `dpdb check`, a job, dpdb.check"
            )


def dated_suite(
    name: str, written: Suite | WrittenLines, date: str | None, columns: Sequence[str] | None = None
) -> Suite:
    """Return a registered suite as of a date, its names resolved; errors as `RegisteredSuite.on`.

    Parameters
    ----------
    name
        By which callers know the suite; for the message.
    written
        The suite; its lines where it is about a date.
    date
        Which day `{date}` stands for, as `2026-11-21`. A suite about no day needs none.
    columns
        Those of the table, by which names are resolved; None leaves them as written.
    """
    if isinstance(written, Suite):
        return written
    if date is None and needs_day(written):
        raise ParameterError(f"suite {name!r} is about a date: say which, as in date => '2026-11-21'")
    return load_suite(written, columns, date=date)


def register_suite(
    name: str, source: Suite | SuiteLike, open_with: Callable[[Sequence[DenialConstraint] | None], Session]
) -> RegisteredSuite:
    """Return a suite by its name, with a session of its own; the caller closes that.

    Parameters
    ----------
    name
        By which callers know it.
    open_with
        Opens the table with the suite's rules as constraints; None if it only counts rows.

    Raises
    ------
    DpdbError
        As `load_suite`, or if the suite does not fit the table.
    """
    written = source if isinstance(source, (Suite, WrittenLines)) else written_lines(source)
    session = open_with(rules_of(written))
    try:
        registered = RegisteredSuite(name, written, session)
        registered.on(f"{ANY_DAY}").prepare(SuiteAsk(name))
    except BaseException:
        session.close()
        raise
    return registered


def rules_of(written: Suite | WrittenLines) -> tuple[DenialConstraint, ...] | None:
    """Return the rules of a suite; of one that is about a date, those of any."""
    if isinstance(written, Suite):
        return written.rules
    return load_suite(written, date=ANY_DAY if needs_day(written) else None).rules
