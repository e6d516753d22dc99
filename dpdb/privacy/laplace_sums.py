"""Tails of sums of independent discrete Laplace noises: what several sites' numbers together are uncertain by."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpdb.errors import ParameterError
from dpdb.privacy.tails import laplace_tail

__all__ = ["laplace_sum_tail"]

_CUT = 1e-13  # of each law, on each side; what is cut counts as beyond
_SLACK = 1e-11  # for rounding in the convolution, whose sums are below 1
_MOST_CELLS = 1 << 24


def laplace_sum_tail(scales: Sequence[float], beta: float) -> int:
    """Return the smallest t with Pr[sum > t] <= beta for independent discrete Laplace noises, 10^-9 <= beta < 1.

    The law of the sum is the convolution of the laws, each cut where its tails are below 10^-13; what is cut, and
    10^-11 for rounding, is taken as beyond t: the tail is at most 10^-11 + 2 n 10^-13 below beta when t is too large.

    Parameters
    ----------
    scales : sequence of float
        Of the noises, at least one.
    beta : float
        The most that the tail may be.

    Raises
    ------
    ParameterError
        If a scale is not positive and finite, beta is too small, or the law of the sum has more than 16 million values.
    """
    if not scales or not all(math.isfinite(scale) and scale > 0 for scale in scales) or not 1e-9 <= beta < 1:
        raise ParameterError("a sum of noises needs positive scales and a doubt from 10^-9")
    ends = [laplace_tail(scale, _CUT) for scale in scales]
    reach = sum(ends)
    cells = 1 << (2 * reach + 1).bit_length()
    if cells > _MOST_CELLS:
        raise ParameterError("the noises are too wide to be added up exactly: their scales come to more than 250,000")
    spectrum = np.ones(cells // 2 + 1, dtype=np.complex128)
    for scale, end in zip(scales, ends, strict=True):
        law = np.exp(-np.abs(np.arange(-end, end + 1)) / scale) * math.tanh(0.5 / scale)
        spectrum *= np.fft.rfft(law, cells)
    law = np.fft.irfft(spectrum, cells)[: 2 * reach + 1]
    beyond = np.concatenate([np.cumsum(law[::-1])[::-1], [0.0]]) + 2 * _CUT * len(scales) + _SLACK
    # beyond[reach + t + 1] is Pr[sum > t]
    return int(np.argmax(beyond[reach + 1 :] <= beta))
