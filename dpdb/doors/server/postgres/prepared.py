"""Statements as a client prepares them: what they are about, and their parameters."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp
from sqlglot.errors import SqlglotError

from dpdb.doors.server.postgres import catalog
from dpdb.doors.server.postgres.errors import WireError
from dpdb.doors.server.postgres.parameters import OIDS, TEXT_ARRAY, parameter_type
from dpdb.doors.server.postgres.session import Settings, bare
from dpdb.doors.server.postgres.types import Column
from dpdb.doors.sql import MOST_PARAMETERS, ParameterType, Template, Value, literal_node, split_statements
from dpdb.errors import StatementRefusedError

__all__ = ["Prepared", "prepared"]

# What a client is told of a parameter of the catalog that the statement casts.
_CASTS = {
    "oid": 26, "oid[]": 1028, "_oid": 1028, "text[]": 1009, "int": 23, "bigint": 20, "smallint": 21, "name[]": 1003,
}  # fmt: skip


@dataclass
class Prepared:
    """A statement that was prepared.

    Attributes
    ----------
    text : str
        Without comments before it.
    about : str
        ``"nothing"``, the ``"session"``, the ``"catalog"``, or ``"desk"`` for all that the desk decides on.
    oids : tuple of int
        The types of its parameters.
    template : Template or sqlglot tree, optional
        Of a statement with parameters that could be read; what cannot be read, the desk refuses in its words.
    columns : list of Column, optional
        As the client was told.
    """

    text: str
    about: Literal["nothing", "session", "catalog", "desk"]
    oids: tuple[int, ...] = ()
    template: Template | exp.Expr | None = None
    columns: list[Column] | None = None

    @property
    def types(self) -> list[ParameterType]:
        """The types of its parameters as literals have them."""
        return [parameter_type(oid) for oid in self.oids]

    @property
    def shapes_columns(self) -> bool:
        """Whether the values of parameters may change the types of columns."""
        return isinstance(self.template, Template) and self.template.shapes_columns

    def bound(self, values: Sequence[Value]) -> str:
        """Return the statement with literals instead of its parameters.

        Raises
        ------
        WireError, StatementRefusedError
            It cannot be written.
        """
        if self.template is None or not values:
            return self.text
        if isinstance(self.template, Template):
            return self.template.bound(values, self.types)
        tree = self.template.copy()
        try:
            for node in [*tree.find_all(exp.Parameter)]:
                node.replace(literal_node(values[int(node.name) - 1]))
            return tree.sql("postgres", comments=False)
        except (SqlglotError, RecursionError):
            raise WireError("0A000", "this statement about the catalog is not answered") from None


async def prepared(
    text: str,
    given: Sequence[int],
    settings: Settings,
    is_catalog: Callable[[str], Awaitable[bool]],
    read: Callable[[str], Awaitable[Template | None]],
) -> Prepared:
    """Read a statement.

    Parameters
    ----------
    text
        As the client sent it.
    given
        Types of parameters that the client knows; 0 where it does not.
    settings
        Of the connection, which know what is about the session.
    is_catalog
        Says whether a statement is about the catalog.
    read
        Reads a statement with parameters; returns None of what cannot be read.

    Raises
    ------
    WireError
        There are several statements, or the parameters are no `$1`, `$2`, ...
    """
    text = bare(text)
    if not text:
        return Prepared(text, "nothing")
    try:
        if len(split_statements(text)) > 1:
            raise WireError("42601", "one message prepares one statement")
    except StatementRefusedError as error:
        raise WireError("54000", str(error)) from None
    if settings.is_about(text):
        return Prepared(text, "session")
    if await is_catalog(text):
        tree, oids = await asyncio.to_thread(_catalog_tree, text) if "$" in text else (None, [])
        return Prepared(text, "catalog", _merged(given, oids), tree)
    template = await read(text) if "$" in text else None
    if template is None or not template.types:
        return Prepared(text, "desk", _merged(given, ()))
    suggested = [TEXT_ARRAY if one in template.lists else OIDS[kind] for one, kind in enumerate(template.types)]
    return Prepared(text, "desk", _merged(given, suggested), template)


def _merged(given: Sequence[int], suggested: Sequence[int]) -> tuple[int, ...]:
    count = max(len(given), len(suggested))
    if count > MOST_PARAMETERS:
        raise WireError("54000", f"a statement has at most {MOST_PARAMETERS:,} parameters")
    said = [*given, *[0] * (count - len(given))]
    known = [*suggested, *[OIDS["TEXT"]] * (count - len(suggested))]
    return tuple(oid or other for oid, other in zip(said, known, strict=True))


def _catalog_tree(text: str) -> tuple[exp.Expr, list[int]]:
    """Read a statement about the catalog, which clients write in PostgreSQL's SQL; and the types of its parameters."""
    refused = WireError("0A000", "this statement about the catalog is not answered")
    if len(text.encode()) > 65_536:
        raise refused
    tree = catalog.parsed(text)
    if tree is None:
        raise refused
    oids: dict[int, int] = {}
    for node in tree.find_all(exp.Parameter):
        if not (node.name.isascii() and node.name.isdigit() and 0 < int(node.name[:9]) <= MOST_PARAMETERS):
            raise refused
        to = node.parent.args["to"].sql("postgres").lower() if isinstance(node.parent, exp.Cast) else ""
        oids[int(node.name) - 1] = _CASTS.get(to, OIDS["TEXT"])
    return tree, [oids.get(one, OIDS["TEXT"]) for one in range(max(oids, default=-1) + 1)]
