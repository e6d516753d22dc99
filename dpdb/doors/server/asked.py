"""Who asks a server, what he asks, and what he gets: the values that protocols and the desk exchange."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from sqlglot import exp

from dpdb.doors.server.analysts import Analyst
from dpdb.doors.server.refusals import Refusal
from dpdb.doors.sql import Result
from dpdb.doors.sql_parameters import CHECK_PARAMETERS
from dpdb.errors import ParameterError, StatementRefusedError

__all__ = [
    "Answer", "Asked", "Asker", "Plan", "RefusedError", "check_run_id", "check_statement", "explained",
    "refuse_others", "shifted",
]  # fmt: skip

_MOST_RUN_ID = 100


@dataclass(frozen=True)
class Asker:
    """Who asks, by which protocol, whence."""

    analyst: Analyst
    door: str
    address: str


@dataclass(frozen=True, kw_only=True)
class Answer(Result):
    """The result of a statement, with what it costs.

    Attributes
    ----------
    epsilon : float
        What its releases and checks have cost, once: also where the same run was asked again, which costs nothing.
    words : str
        What the statement is debited at most, in words.
    """

    epsilon: float
    words: str

    @property
    def runs(self) -> list[str]:
        """The names of its runs that are no releases, under which the ledger keeps their answers."""
        checked = [results.run_id for results in self.checks]
        return checked + [found.run_id for found in self.diagnoses if found.run_id is not None]


@dataclass(frozen=True)
class Plan:
    """What a statement would cost, and how it would run."""

    epsilon: float
    words: str
    table: pa.Table


@dataclass(frozen=True)
class Asked:
    """A statement, its run and its table, as they were given."""

    text: str
    run_id: str | None
    table: str | None


class RefusedError(Exception):
    """A request was refused or has failed; `refusal` has the public words, and nothing else leaves the server."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.code)
        self.refusal = refusal


def refuse_others(asker: Asker) -> None:
    """Raise `RefusedError` for whoever is no owner."""
    if asker.analyst.role != "owner":
        raise RefusedError(Refusal("forbidden", "only an owner sees and does this"))


def check_run_id(run_id: str | None) -> None:
    """Raise `ParameterError` for a run id that a ledger could not keep behind the name of its analyst."""
    if run_id is not None and not (run_id.isprintable() and 0 < len(run_id) <= _MOST_RUN_ID):
        raise ParameterError(f"a run id (Idempotency-Key) has 1 to {_MOST_RUN_ID} printable characters")


def check_statement(suite: str, options: Mapping[str, Any]) -> str:
    """Write the run of a registered suite as a statement; `ParameterError` where a value is no literal."""
    spelled = {option: name for name, option in CHECK_PARAMETERS.items()}
    given = {spelled[name]: value for name, value in options.items() if value is not None}
    arguments = "".join(f", {name} := {_literal(value)}" for name, value in given.items())
    return f"SELECT * FROM dp_check({_literal(suite)}{arguments})"


def _literal(value: object) -> str:
    if isinstance(value, list) and not any(isinstance(one, list) for one in value):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ParameterError("an option of a check is a text, a number, or a list of such")
    text = exp.Literal.string(value) if isinstance(value, str) else exp.Literal.number(repr(value))
    return text.sql("duckdb")


def explained(text: str, verb: str = "EXPLAIN") -> str:
    """Return a statement as one that shows its plan and cost, or, with DESCRIBE, its columns."""
    return text if text.lstrip().upper().startswith(("EXPLAIN", "DESCRIBE")) else f"{verb} {text}"


@contextmanager
def shifted(text: str, verb: str = "EXPLAIN") -> Iterator[None]:
    """Name places as in the text that the analyst wrote, without the word that was put before it."""
    try:
        yield
    except StatementRefusedError as error:
        added = len(explained(text, verb)) - len(text)
        if error.line != 1 or error.column is None or error.column <= added:
            raise
        column = error.column - added
        raise StatementRefusedError(error.reason, line=1, column=column, kind=error.kind) from None
