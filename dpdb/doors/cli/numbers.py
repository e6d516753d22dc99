"""Numbers on the command line: ASCII digits, so that a script passes on the number that people read."""

from __future__ import annotations

import argparse
import math
import re

__all__ = ["positive", "real", "whole"]

_SHOWN = 40
# `int` reads no more digits than these; it would take other scripts' digits, underscores and blanks, too.
_WHOLE = re.compile(r"[+-]?[0-9]{1,4000}")
_REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def whole(text: str) -> int:
    """Read a whole number."""
    if not _WHOLE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"expected a whole number, got {_shortened(text)}")
    return int(text)


def real(text: str) -> float:
    """Read a finite number, such as 0.05 or 1e-6."""
    if not _REAL.fullmatch(text) or not math.isfinite(float(text)):
        raise argparse.ArgumentTypeError(f"expected a number, got {_shortened(text)}")
    return float(text)


def positive(text: str) -> float:
    """Read a positive finite number."""
    value = real(text)
    if value <= 0:
        raise argparse.ArgumentTypeError("must be positive")
    return value


def _shortened(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")
