"""The one family of errors dpdb raises on purpose, and the owner's log.

A message says what was wrong, where, and what to do; it never carries a value, a count or a row of the private table.
`exit_code` is what the command line returns for it. Details of failures, which name values of the private table, go to
the owner's log, which is silent unless the owner listens.
"""

from __future__ import annotations

import logging


class DpdbError(Exception):
    """Base of every error that dpdb raises on purpose."""

    exit_code = 2


class ParameterError(DpdbError, ValueError):
    """A parameter of a call or command is not usable (epsilon, measure, mechanism, ...)."""


class ConstraintSyntaxError(DpdbError, ValueError):
    """A constraint text cannot be read; the message has line, column and what was expected."""


class UnknownColumnError(DpdbError, KeyError):
    """A constraint or predicate names a column that the table does not have; the message has the nearest name."""

    __str__ = Exception.__str__  # KeyError would print the message in quotes


class ConstraintTypeError(DpdbError, TypeError):
    """A constraint compares columns, or a column and a constant, whose types are not comparable."""


class ForeignRuleError(ConstraintTypeError):
    """Another engine may read constraints differently from our own; the message is about the first of them.

    Attributes
    ----------
    refused : tuple of (DenialConstraint, str)
        Each constraint, and why.
    """

    def __init__(self, message: str, refused: tuple[tuple[object, str], ...]) -> None:
        super().__init__(message)
        self.refused = refused


class PredicateError(DpdbError, ValueError):
    """A `where` predicate is outside the default-deny grammar of row-local, deterministic, total predicates."""


class SourceError(DpdbError):
    """The table cannot be found or read, or its schema is not usable."""


class UnansweredError(SourceError):
    """Another engine does not answer what a release asks, as was found by asking it of no rows; nothing was spent."""


class StatementRefusedError(DpdbError, ValueError):
    """The SQL front end does not run a statement; nothing was spent. The message has the reason and what to write.

    Attributes
    ----------
    reason : str
        The message without the place.
    line, column : int or None
        Where in the statement or its script, from 1, if that is known.
    kind : str
        What the message is about, for programs: ``"syntax"``, ``"size"``, ``"writes"``, a ``"table"``, ``"column"`` or
        ``"function"`` that is not known, a ``"parameter"``; else empty. It says no more than the message.
    """

    def __init__(self, message: str, *, line: int | None = None, column: int | None = None, kind: str = "") -> None:
        super().__init__(message if line is None else f"line {line}, column {column}: {message}")
        self.reason, self.kind = message, kind
        self.line = line
        self.column = column


class EngineError(DpdbError):
    """The database failed; for private entry points the message is constant and details stay with the owner."""

    exit_code = 3


class StatementFailedError(EngineError):
    """An analyst's SQL failed over the answers of its releases; the message is about these and public tables alone."""


class OutOfMemoryError(EngineError, MemoryError):
    """The database needs more memory than there is, or than `memory_limit` allows."""


class LedgerError(DpdbError):
    """A ledger cannot be read or written, is damaged, or belongs to another table; nothing was released."""


class RunIdError(LedgerError):
    """A run id was used for another request, by somebody else, or for rows that have changed; nothing was spent."""


class RightsError(LedgerError):
    """An analyst's access was revoked or has expired, or does not reach so far; nothing was spent."""

    exit_code = 4


class RollbackError(LedgerError):
    """A ledger does not have lines that a receipt, a witness or a signing key has seen; nothing was released."""

    exit_code = 3


class ReceiptError(DpdbError, ValueError):
    """A receipt is refused: a signature, a proof or a sum in it does not hold."""

    exit_code = 1


class IgnoredLimitsWarning(UserWarning):
    """Constraints were read from a suite, whose limits and numbers of rows are tested by a check alone."""


class SuiteEndedError(LedgerError):
    """A suite of checks was closed, or has lost its secret, which is never drawn again; nothing was released."""

    exit_code = 3


class LittleBudgetWarning(UserWarning):
    """A release has left less than a tenth of a ledger's budget, or of one of its allowances."""


class BudgetExceededError(DpdbError):
    """A release would cost more than what remains of the budget; nothing was drawn and nothing was spent.

    Attributes
    ----------
    requested, remaining : float or None
        In the parameter of the budget (epsilon, rho or mu); `remaining` never overstates.
    overlap : str or None
        The rows that decide it, in words.
    """

    exit_code = 4

    def __init__(
        self,
        message: str,
        *,
        requested: float | None = None,
        remaining: float | None = None,
        overlap: str | None = None,
    ) -> None:
        super().__init__(message)
        self.requested = requested
        self.remaining = remaining
        self.overlap = overlap


OWNER_LOG = logging.getLogger("dpdb.owner")
OWNER_LOG.addHandler(logging.NullHandler())
OWNER_LOG.propagate = False


def tell_owner(name: str) -> None:
    """Send the errors in a library's log to the owner alone, and the rest to nobody."""
    log, handler = logging.getLogger(name), logging.Handler(logging.ERROR)
    handler.emit = OWNER_LOG.handle  # type: ignore[method-assign]
    log.handlers, log.propagate = [handler], False


__all__: list[str] = [name for name in sorted(globals()) if name.endswith(("Error", "Warning"))]
