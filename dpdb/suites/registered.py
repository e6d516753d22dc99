"""`RegisteredSuite`: a suite that an owner has registered under a name, for callers who may run it and nothing else."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dpdb.constraints import DenialConstraint
from dpdb.errors import ParameterError
from dpdb.privacy import format_epsilon, parse_epsilon
from dpdb.release import Epsilon, Session
from dpdb.suites.check import CheckRun, prepare_check
from dpdb.suites.load import load_suite
from dpdb.suites.mechanism.plan import Certain
from dpdb.suites.results import CheckResults
from dpdb.suites.suite import Suite

__all__ = ["RegisteredSuite", "SuiteAsk", "register_suite"]

_EPSILON, _CONFIDENCE = 1, 0.99


@dataclass(frozen=True)
class SuiteAsk:
    """What a caller asks of a registered suite: of one that is kept all but the run id and the label is fixed.

    Attributes
    ----------
    suite : str
        The name under which it is registered.
    epsilon : number, optional
        To reserve; 1.
    confidence : float, optional
        Of all verdicts together; .99.
    certain : str, optional
        ``fail`` or ``pass``: the verdict that is not due to noise; ``fail``.
    run_id, label : str, optional
    """

    suite: str
    epsilon: Epsilon | None = None
    confidence: float | None = None
    certain: Certain | None = None
    run_id: str | None = None
    label: str | None = None

    @property
    def function(self) -> str:
        """The name of the function that asks for it."""
        return "dp_check"

    @property
    def several(self) -> bool:
        """Whether the answer has several rows: one for each check."""
        return True


@dataclass(frozen=True)
class RegisteredSuite:
    """A suite, its name, and a session of its table whose constraints are the suite's rules."""

    name: str
    suite: Suite
    session: Session

    @property
    def is_kept(self) -> bool:
        """Whether its owner keeps a suite of this name, which was paid for when it was opened."""
        return self.session.kept_suite(self.name) is not None

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
            return prepare_check(
                self.session,
                self.suite,
                epsilon=_EPSILON if ask.epsilon is None else ask.epsilon,
                confidence=_CONFIDENCE if ask.confidence is None else ask.confidence,
                certain=ask.certain or "fail",
                run_id=ask.run_id,
                label=ask.label,
                who=who,
            )
        opened = json.loads(spec)
        asked = {"epsilon": None if ask.epsilon is None else format_epsilon(parse_epsilon(ask.epsilon))}
        for name, given in (asked | {"confidence": ask.confidence, "certain": ask.certain}).items():
            if given is not None and given != opened[name]:
                raise ParameterError(
                    f"suite {self.name!r} is kept with {name} {opened[name]}, and its runs cost nothing: leave {name} "
                    "out"
                )
        return prepare_check(
            self.session,
            self.suite,
            **{name: opened[name] for name in ("epsilon", "confidence", "certain", "runs", "where")},
            keep=self.name,
            run_id=ask.run_id,
            label=ask.label,
            who=who,
        )

    def run(self, prepared: CheckRun) -> CheckResults:
        """Run it. Cost and errors as `Session.check`."""
        return CheckResults.from_dict(json.loads(self.session.run_suite(prepared)))


def register_suite(
    name: str,
    source: Suite | str | os.PathLike[str],
    open_with: Callable[[Sequence[DenialConstraint] | None], Session],
) -> RegisteredSuite:
    """Return a suite by its name, with a session of its own; the caller closes that.

    Parameters
    ----------
    name
        By which callers know it.
    source
        Path or text of the suite.
    open_with
        Opens the table with the suite's rules as constraints; None if it only counts rows.

    Raises
    ------
    DpdbError
        As `load_suite`, or if the suite does not fit the table.
    """
    suite = source if isinstance(source, Suite) else load_suite(source)
    session = open_with([line.rule for line in suite.lines if line.rule is not None] or None)
    try:
        if not isinstance(source, Suite):
            suite = load_suite(source, session.public.opened.schema.names)
        registered = RegisteredSuite(name, suite, session)
        registered.prepare(SuiteAsk(name))
    except BaseException:
        session.close()
        raise
    return registered
