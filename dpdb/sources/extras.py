"""Packages that only some kinds of sources need, which an extra of dpdb installs; and what fails in them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from dpdb.errors import SourceError
from dpdb.owner_log import OWNER_LOG

__all__ = ["needed", "reason_in_log"]


@contextmanager
def reason_in_log(problem: str, *errors: type[Exception], where: str = "") -> Iterator[None]:
    """Turn errors of a block, which may print values, into one that names the problem; the owner's log has the reason.

    Parameters
    ----------
    problem
        The message, such as "place: cannot be read".
    errors
        Their classes.
    where
        What the log calls the place; else it has the message.

    Raises
    ------
    SourceError
        For one of the errors; a `SourceError` of the block is raised as it is.
    """
    try:
        yield
    except SourceError:
        raise
    except errors as error:
        OWNER_LOG.error("%s: %s", where or problem, error)
        raise SourceError(f"{problem}; the reason is in the owner's log") from None


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
