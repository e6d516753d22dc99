"""A tight report of composed pure releases by privacy loss distributions, where Google's dp-accounting is installed.

For reports only: filters by privacy loss distributions are not valid for releases chosen adaptively.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from dpdb.errors import ParameterError

__all__ = ["reported_epsilon", "tight_epsilon"]

_FINEST = 1e-4
_MOST_STEPS = 1_000_000
"""Losses are rounded up to multiples of this, or of the sum cut into so many steps: memory stays small."""


def tight_epsilon(epsilons: Sequence[float], delta: float) -> float:
    """Epsilon at `delta` of pure releases that all cover one row, computed with pessimistic rounding.

    Each release is taken for the worst mechanism with its epsilon, randomized response (Kairouz, Oh, Viswanath 2015),
    so the answer holds for every mechanism.

    Raises
    ------
    ParameterError
        dp-accounting is not installed, or an epsilon or `delta` is out of range.
    """
    _check(epsilons, delta)
    found = _modules()
    if found is None:
        raise ParameterError(
            "the tight report needs the package dp-accounting, which is not installed; "
            "install it (pip install 'dpdb[pld]') or use the report by the sum"
        )
    common, distributions = found
    interval = max(_FINEST, sum(epsilons) / _MOST_STEPS)
    together = None
    for epsilon, times in sorted(Counter(epsilon for epsilon in epsilons if epsilon).items()):
        one = distributions.from_privacy_parameters(
            common.DifferentialPrivacyParameters(epsilon, 0.0), value_discretization_interval=interval
        )
        one = one.self_compose(times) if times > 1 else one
        together = one if together is None else together.compose(one)
    return 0.0 if together is None else float(together.get_epsilon_for_delta(delta))


def reported_epsilon(epsilons: Sequence[float], delta: float) -> float:
    """Return the smaller of the plain sum and the tight report; the sum if dp-accounting is not installed.

    Raises
    ------
    ParameterError
        An epsilon or `delta` is out of range.
    """
    _check(epsilons, delta)
    added = math.fsum(epsilons)
    return added if delta == 0 or _modules() is None else min(added, tight_epsilon(epsilons, delta))


def _check(epsilons: Sequence[float], delta: float) -> None:
    if any(not 0 <= epsilon < math.inf for epsilon in epsilons):
        raise ParameterError("every epsilon of the report must be a number from 0 on")
    if not 0 <= delta < 1:
        raise ParameterError(f"delta must be at least 0 and below 1, got {delta!r}")


def _modules() -> tuple[ModuleType, ModuleType] | None:
    """Return the modules of dp-accounting that are used here, None if it is not installed."""
    try:
        return import_module("dp_accounting.pld.common"), import_module("dp_accounting.pld.privacy_loss_distribution")
    except ImportError:
        return None
