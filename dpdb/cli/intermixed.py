"""A parser whose optional positional may stand behind options: `dpdb sql SOURCE --constraints C STATEMENT`."""

from __future__ import annotations

import argparse
from typing import Any

__all__ = ["Parser"]


class Parser(argparse.ArgumentParser):
    """Sets an optional positional aside until all options are read, if `intermixed` is true."""

    intermixed = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse what is known and return the rest."""
        if not self.intermixed:
            return super().parse_known_args(args, namespace)
        self.intermixed = False  # the intermixed parser calls this method
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self.intermixed = True
