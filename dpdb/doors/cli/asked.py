"""From parsed options to an `Ask`: each option of a release has the name of its field."""

from __future__ import annotations

import argparse

from dpdb.doors.cli.options import keys
from dpdb.release import OPTIONS, Ask

__all__ = ["asked"]


def asked(options: argparse.Namespace, function: str) -> Ask:
    """Return what a command asks of `dp_inconsistency` or `dp_count`.

    Raises
    ------
    ParameterError
        As for `Ask`.
    """
    given = {name: value for name, value in vars(options).items() if name in OPTIONS}
    return Ask.called(function, {**given, "keys": keys(options)})
