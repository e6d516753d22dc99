"""A tight report of composed pure releases by privacy loss distributions, where Google's dp-accounting is installed.

For reports only: filters by privacy loss distributions are not valid for releases chosen adaptively.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from dpdb.errors import ParameterError

__all__ = ["reported_epsilon", "tight_epsilon"]


def tight_epsilon(epsilons: Sequence[float], delta: float) -> float:
    """Epsilon at `delta` of pure releases that all cover one row, computed with pessimistic rounding.

    Raises
    ------
    ParameterError
        dp-accounting is not installed.
    """
    try:
        common = import_module("dp_accounting.pld.common")
        distributions = import_module("dp_accounting.pld.privacy_loss_distribution")
    except ImportError as error:
        raise ParameterError(
            "the tight report needs the package dp-accounting, which is not installed; "
            "install it or use the report by the sum"
        ) from error
    together = None
    for epsilon in sorted(set(epsilons)):
        parameters = common.DifferentialPrivacyParameters(epsilon, 0.0)
        one = distributions.from_privacy_parameters(parameters).self_compose(list(epsilons).count(epsilon))
        together = one if together is None else together.compose(one)
    return 0.0 if together is None else float(together.get_epsilon_for_delta(delta))


def reported_epsilon(epsilons: Sequence[float], delta: float) -> float:
    """The smaller of the plain sum and the tight report; the sum alone when dp-accounting is not installed."""
    added = float(sum(epsilons))
    if delta <= 0:
        return added
    try:
        return min(added, tight_epsilon(epsilons, delta))
    except ParameterError:
        return added
