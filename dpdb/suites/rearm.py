"""The least epsilon of a re-arm, from the public spec of a kept suite."""

from __future__ import annotations

import json

from dpdb.errors import ParameterError
from dpdb.privacy import format_epsilon

__all__ = ["refuse_small_epsilon"]


def refuse_small_epsilon(spec: str, epsilon: int) -> None:
    """Refuse nano-epsilon that would not surely pay the next ring of a re-armed check.

    Parameters
    ----------
    spec : str
        With which the suite was opened (`RecordedSuite.spec`).
    epsilon : int
        For the re-arm.

    Raises
    ------
    ParameterError
        If a ring at the last level costs more.
    """
    mechanism = json.loads(spec).get("mechanism")
    most = 0 if mechanism is None else mechanism["levels"][-1]  # others may keep suites of their own in a ledger
    if epsilon < most:
        raise ParameterError(
            f"epsilon {format_epsilon(epsilon)} is too little: a failure may cost {format_epsilon(most)}; give at "
            "least that, or none, so that the suite pays; nothing was spent"
        )
