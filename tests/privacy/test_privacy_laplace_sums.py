"""The tail of a sum of discrete Laplace noises against single noises, differences and a direct sum."""

from __future__ import annotations

import math
from itertools import product

import pytest

from dpdb.errors import ParameterError
from dpdb.privacy import laplace_difference_tail, laplace_sum_tail, laplace_tail

SCALES = (0.3, 1.0, 2.5, 40.0, 333.3)
BETAS = (0.3, 0.05, 0.005, 1e-6)


@pytest.mark.parametrize("beta", BETAS)
def test_one_noise_and_two_are_as_their_closed_forms(beta: float) -> None:
    for scale in SCALES:
        assert laplace_sum_tail([scale], beta) == laplace_tail(scale, beta)
    for one, other in product(SCALES, SCALES):
        assert laplace_sum_tail([one, other], beta) == laplace_difference_tail(one, other, 2 * beta)


def test_three_noises_are_as_their_direct_sum() -> None:
    scales = (0.5, 1.5, 3.0)
    laws = [{k: math.tanh(0.5 / s) * math.exp(-abs(k) / s) for k in range(-90, 91)} for s in scales]
    law: dict[int, float] = {}
    for (i, p), (j, q), (k, r) in product(*(each.items() for each in laws)):
        law[i + j + k] = law.get(i + j + k, 0.0) + p * q * r
    for beta in BETAS[:3]:
        by_hand = next(t for t in range(300) if math.fsum(p for k, p in law.items() if k > t) <= beta)
        assert laplace_sum_tail(scales, beta) == by_hand


def test_what_cannot_be_added_is_refused() -> None:
    for scales, beta in (([], 0.1), ([0.0], 0.1), ([math.inf], 0.1), ([math.nan], 0.1), ([1.0], 0.0), ([1e9], 0.1)):
        with pytest.raises(ParameterError):
            laplace_sum_tail(scales, beta)
