"""Parameters of the noise generators: their checks, and the seeded numpy generator."""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np

from dpdb.errors import ParameterError


class Purpose(IntEnum):
    """The purpose of random numbers: each use of one seed has a stream of its own."""

    RNOISE = 1
    CONOISE = 2
    SAMPLE = 3
    SYNTHETIC = 4


def check_real(name: str, value: object, *, low: float, high: float = math.inf, above_low: bool = False) -> float:
    """Return a finite number between two bounds as a float.

    Parameters
    ----------
    low, high
        The least and the largest number allowed; by default no largest one.
    above_low
        Whether `low` itself is refused.
    """
    usable = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    number = float(value) if usable else math.nan  # type: ignore[arg-type]
    if math.isfinite(number) and low <= number <= high and not (above_low and number == low):
        return number
    bound = f"{'above' if above_low else 'at least'} {low:g}" + (f" and at most {high:g}" if high < math.inf else "")
    raise ParameterError(f"{name} must be a finite number {bound}, got {value!r}")


def check_count(name: str, value: object, least: int = 1) -> int:
    """Return a whole number of at least 1, or another least number, or raise `ParameterError`."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= least:
        return int(value)
    raise ParameterError(f"{name} must be a whole number of at least {least}, got {value!r}")


def check_seed(seed: object) -> int | None:
    """Return a seed, a whole number of at least 0, or None if none was given; else raise `ParameterError`."""
    return None if seed is None else check_count("seed", seed, least=0)


def known_seed(seed: object) -> int:
    """Check a seed as `check_seed`; draw one if none is given, so that the run can still be repeated."""
    given = check_seed(seed)
    return int(np.random.default_rng().integers(2**32)) if given is None else given


def generator(seed: int | None, purpose: Purpose) -> np.random.Generator:
    """Return the generator of one use of a seed. For evaluation only: nothing private is ever seeded."""
    return np.random.default_rng(None if seed is None else [int(purpose), seed])
