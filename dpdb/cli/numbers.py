"""Numbers on the command line: ASCII digits, so that what a script passes on is what people read."""

from __future__ import annotations

import argparse
import math

__all__ = ["positive", "real", "whole"]

_SHOWN = 40


def whole(text: str) -> int:
    """Read a whole number."""
    try:
        if text.isascii():
            return int(text)
    except ValueError:  # also one of more digits than Python reads
        pass
    raise argparse.ArgumentTypeError(f"expected a whole number, got {_shortened(text)}")


def real(text: str) -> float:
    """Read a number."""
    try:
        if text.isascii():
            return float(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"expected a number, got {_shortened(text)}")


def positive(text: str) -> float:
    """Read a positive finite number."""
    value = real(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError("must be positive")
    return value


def _shortened(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")
