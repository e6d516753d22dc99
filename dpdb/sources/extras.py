"""Packages that only some kinds of sources need, and that an extra of dpdb installs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from dpdb.errors import SourceError

__all__ = ["needed"]


def needed(module: str, extra: str, place: str) -> Any:
    """Import a module.

    Parameters
    ----------
    module
        Its name.
    extra
        The extra of dpdb that installs it.
    place
        What cannot be read without it, for the message.

    Raises
    ------
    SourceError
        If it is not installed; says which extra installs it.
    """
    try:
        return import_module(module)
    except ImportError:
        raise SourceError(f"{place}: reading it needs {module}: pip install 'dpdb[{extra}]'") from None
