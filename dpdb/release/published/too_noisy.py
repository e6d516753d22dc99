"""Whether a number says too little at its epsilon, and the epsilon that would do: from published figures alone.

A value carries nothing where its noise explains all of it, and little where theta may have cut most of it off. Both are
read from the release: value, bounds, noise scale, theta and its announcement. Nothing more is released or spent, as
whatever is computed of published figures is public.

The epsilon that would do is one at which a number of the same size is `_ENOUGH` noise scales: the noise scale is in
inverse proportion to epsilon (rho: to its root), and at so many scales `theta_limits` announces nothing, because the
mechanism would then have seen what a larger theta shows. The size is that of the value, or, where the value is below
what its noise may hide, that. So the advice holds *if the number is of this size or more*, and says so: of a smaller
one, or of none at all, no release could say that it would do.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from typing import NamedTuple

from dpdb.release.published.release_fields import ReleaseFields, number_words, population_of

_ENOUGH = 25
"""Noise scales, as in `dpdb.measures.estimate.theta_limits`."""

# A mechanism that chooses theta takes a larger one where the value is above 10 to 14 scales. On 40 draws each of the
# bundled table, values of at least 16 scales were within a fifth of the truth in nine of ten, those below in none to
# two of three; `tests/release/test_release_too_noisy.py` draws such ones again.
_CUT = 16
_DIGITS = Context(prec=2, rounding=ROUND_CEILING)


class Enough(NamedTuple):
    """A cost that would do: `amount` of `parameter` (None where the release had none of its own), from `size` on."""

    parameter: str
    amount: Decimal | None
    size: float


def enough(release: ReleaseFields) -> Enough | None:
    """Return what would do for a number that is too noisy; None for one that is not.

    With bounds on both sides a number is too noisy if it is below its noise scale: they say how little is known of it.
    Without an upper bound it is so if zero is in the interval at theta, or theta may cut it off and it is below `_CUT`
    noise scales. A count whose noise rounds to nothing is exact, and never too noisy.
    """
    scale, value, tail = release.noise_scale, release.value, _tail(release)
    is_share = release.quantity.startswith("share")
    if tail <= 0 or (tail < 0.5 and not is_share):
        return None
    if release.upper is not None:
        is_noisy = value < scale
    else:
        may_be_cut = release.theta_limits is True and release.theta_from is None
        is_noisy = value < tail or (may_be_cut and value < _CUT * scale)
    if not is_noisy:
        return None
    size = min(1.0, max(value, tail)) if is_share else max(value, tail)
    times = _ENOUGH * scale / size
    if release.epsilon is None:
        paid, parameter, times = release.rho, "rho", times**2
    else:
        paid, parameter = release.epsilon, "epsilon"
    amount = _DIGITS.create_decimal_from_float(paid * times).normalize() if paid else None
    return Enough(parameter, amount, size if is_share else math.ceil(size))


def _tail(release: ReleaseFields) -> float:
    """Return how far the value may lie above what it estimates, with the release's confidence."""
    if release.estimate_upper is not None and release.raw is not None:
        return release.estimate_upper - release.raw
    return release.noise_scale * max(1.0, -math.log(1 - release.confidence))


def too_noisy_words(release: ReleaseFields) -> str:
    """Say that a number is too noisy, with what would do; empty for one that is not."""
    found = enough(release)
    if found is None:
        return ""
    would_do = "" if found.amount is None else f" ({found.amount:f} would do)"
    return f"too noisy at this {found.parameter}{would_do}"


def would_do_words(release: ReleaseFields) -> str:
    """Say under which condition the cost would do; empty where nothing is too noisy, or nothing can be said."""
    found = enough(release)
    if found is None or found.amount is None:
        return ""
    size = number_words(found.size, release.quantity)
    return f"{found.parameter} {found.amount:f} for this number alone would do, if it is {size} or more"


def noisy_meaning(release: ReleaseFields) -> str:
    """Say in place of a meaning that a number is too noisy, and what would do when; empty for one that is not."""
    found = enough(release)
    if found is None:
        return ""
    rows = population_of(release)
    noisy = f"too noisy at this {found.parameter}" + ("" if rows is None else f" ({rows})")
    return "; ".join(filter(None, [noisy, would_do_words(release)]))
