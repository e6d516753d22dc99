"""`Call`: one call of `dp_inconsistency` or `dp_count` in SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpdb.doors.sql_parameters import PARAMETERS
from dpdb.errors import ParameterError
from dpdb.release import OPTIONS, Ask, Release, Session

__all__ = ["Call", "read_call"]


@dataclass(frozen=True)
class Call:
    """A request, its table and the constraints it names, hashable: equal calls of one transaction are one release."""

    table: str
    ask: Ask
    constraints: str | None = None

    def answer(self, session: Session, who: str | None) -> tuple[Release, ...]:
        """Make the requested releases; cost and errors as `Session.release`."""
        return session.release(self.ask, who=who)


def read_call(
    function: str, table: str | None, options: Mapping[str, Any], *, one_row: bool, constraints: str | None = None
) -> Call:
    """Read the arguments of a call, as the macros pass them.

    Parameters
    ----------
    function
        Name of the SQL function.
    table
        Name of the table to measure; NULL is refused.
    options
        Every option of a release by name; those that the function does not have are NULL.
    one_row
        Whether the call is scalar, which allows one answer only.
    constraints
        Constraints that the call names; None for those of the registration.

    Raises
    ------
    ParameterError
        If table or cost is NULL, a scalar call would have several answers, and as for `Ask`.
    """
    if table is None:
        raise ParameterError("table_name is NULL: name the table to measure")
    given = {name: options[name] for name in PARAMETERS[function].values()}
    given |= {name: bool(value) for name, value in given.items() if OPTIONS[name].metadata["kind"] == "flag"}
    if given.get("rho") is not None and given["epsilon"] == Ask.epsilon:  # the default, which is not asked for
        del given["epsilon"]
    if one_row and (given.get("measure") == "all" or given["by"] is not None or given.get("each_constraint")):
        raise ParameterError(f"this call has several answers; ask for them as rows: SELECT * FROM {function}(...)")
    if given.get("epsilon", Ask.epsilon) is None:
        raise ParameterError("epsilon is NULL: give the cost of the release, such as epsilon := 0.5")
    return Call(table, Ask.called(function, given), constraints)
