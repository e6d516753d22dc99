"""What is said when something is refused or fails: a code and one line, the same for every protocol.

Default deny: a message goes out only if its kind is known to be about what the analyst wrote, what is public, or what
is his own. Everything else, whatever was thrown, is one constant line, and its reason is in the owner's log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dpdb import errors
from dpdb.errors import DpdbError


class TooManyError(DpdbError):
    """An analyst asks too often, or for too much at once; nothing was spent."""


class KeptRowsError(DpdbError):
    """Too many bytes of results are kept for an analyst, or for all; nothing was spent."""


class ForbiddenError(DpdbError):
    """An analyst's role does not reach so far; nothing was spent."""


class ClosingError(DpdbError):
    """The server stops; nothing was spent."""


class UnauditedError(DpdbError):
    """The audit file cannot be written, and what is not audited is not run; nothing was spent."""


@dataclass(frozen=True)
class Refusal:
    """A refusal or failure in public words.

    Attributes
    ----------
    kind : str
        Of a refused statement what the message is about, as `StatementRefusedError` has it.
    """

    code: str
    message: str
    kind: str = ""


_LOGGED = "; the reason is in the owner's log"
FAILED = Refusal("failed", f"the request failed{_LOGGED}")
"""Of every error whose words are not known to be public."""
UNREADABLE = Refusal("unavailable", f"the ledger cannot be used now, and nothing was released{_LOGGED}")
"""Of every login while it is not known who has which token."""
UNAUTHORIZED = Refusal("unauthorized", "a valid token is needed")
NOT_FOUND = Refusal("not_found", "there is nothing here")
# In this order: a class before those that it is one of. Their messages name what the analyst wrote, or his own runs.
_TOLD: Mapping[str, tuple[type[DpdbError], ...]] = {
    "budget": (errors.BudgetExceededError,),
    "too_many": (TooManyError,),
    "too_much": (KeptRowsError,),
    "forbidden": (ForbiddenError, errors.RightsError),
    "closing": (ClosingError,),
    "run_id": (errors.RunIdError,),
    "refused": (
        errors.StatementRefusedError, errors.PredicateError, errors.UnknownColumnError, errors.ConstraintTypeError,
        errors.ConstraintSyntaxError, errors.ParameterError,
    ),
    "statement_failed": (errors.StatementFailedError,),
}  # fmt: skip
# In this order, too: what is said of whatever their messages say, which is for the owner.
_SAID: tuple[tuple[type[DpdbError], str, str], ...] = (
    (errors.SuiteEndedError, "refused", "this suite of checks has ended; nothing was released"),
    (
        errors.RollbackError,
        "rollback",
        "the server's ledger does not have what an earlier receipt has shown; nothing was released",
    ),
    (errors.LedgerError, UNREADABLE.code, UNREADABLE.message),
    (UnauditedError, "unavailable", f"the audit cannot be written now, and nothing was released{_LOGGED}"),
    (
        errors.UnansweredError,
        "unavailable",
        f"the engine that has the table does not answer this request, and nothing was spent{_LOGGED}",
    ),
    (errors.SourceError, "unavailable", f"the table cannot be read as it was when the server opened it{_LOGGED}"),
    (
        errors.EngineError,
        "failed",
        "the request failed: what was debited stays spent, and the same Idempotency-Key asks again at no cost"
        + _LOGGED,
    ),
)


def refusal_of(error: BaseException) -> Refusal:
    """Return what is said of an error."""
    for code, kinds in _TOLD.items():
        if isinstance(error, kinds):
            return Refusal(code, str(error), _kind(error) if code == "refused" else "")
    return next((Refusal(code, words) for kind, code, words in _SAID if isinstance(error, kind)), FAILED)


def _kind(error: DpdbError) -> str:
    if isinstance(error, errors.StatementRefusedError):
        return error.kind
    return "column" if isinstance(error, errors.UnknownColumnError) else "parameter"
