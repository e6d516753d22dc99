"""`Extended`: the statements and portals of the extended protocol, within bounds; each execution asks the desk once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpdb.doors.server.postgres.errors import WireError
from dpdb.doors.server.postgres.parameters import read_values
from dpdb.doors.server.postgres.prepared import Prepared, prepared
from dpdb.doors.server.postgres.session import bare
from dpdb.doors.server.postgres.statements import Outcome, Statements
from dpdb.doors.server.postgres.types import Column

__all__ = ["Extended", "Portal"]

_MOST_NAMED = 200  # statements, and portals
_MOST_BYTES = 1 << 20  # of their texts, each
_MOST_UNFINISHED = 2  # portals whose rows are kept


@dataclass
class Portal:
    """A statement with its values, and its rows once it was executed.

    Attributes
    ----------
    columns : list of Column or None
        As the client was told.
    sent : int
        Rows that it has.
    """

    prepared: Prepared
    text: str
    formats: Sequence[int]
    columns: list[Column] | None = None
    outcome: Outcome | None = None
    sent: int = 0

    def formats_of(self, columns: Sequence[Column]) -> list[int]:
        """Return the format of each column: 0 for text, 1 for binary."""
        if len(self.formats) not in (0, 1, len(columns)) or not {*self.formats} <= {0, 1}:
            raise WireError("08P01", f"{len(self.formats)} formats for {len(columns)} columns")
        return [*self.formats] if len(self.formats) == len(columns) else [*self.formats, 0][:1] * len(columns)

    def finish(self) -> None:
        """Keep no rows of it any more; asked again, it has none."""
        assert self.outcome is not None
        assert self.outcome.table is not None
        self.outcome, self.sent = Outcome("SELECT 0", self.outcome.table.schema.empty_table()), 0

    @property
    def is_unfinished(self) -> bool:
        """Whether rows are kept."""
        return self.outcome is not None and self.outcome.table is not None and self.outcome.table.num_rows > self.sent


class Extended:
    """The statements and portals of one connection.

    Raises
    ------
    WireError, RefusedError, StatementRefusedError
        From any method: the request is refused, and costs nothing.
    """

    def __init__(self, statements: Statements) -> None:
        self._statements = statements
        self._prepared: dict[str, Prepared] = {}
        self._portals: dict[str, Portal] = {}

    async def parse(self, name: str, text: str, oids: Sequence[int]) -> None:
        """Prepare a statement."""
        self._statements.refuse_after_failure(bare(text))
        if name and name in self._prepared:
            raise WireError("42P05", f"there is a statement {name[:60]!r} already")
        self._prepared.pop(name, None)
        known = self._statements
        found = await prepared(text, oids, known.settings, known.is_catalog, known.template)
        _refuse_many([*self._prepared.values(), found])
        self._prepared[name] = found

    async def bind(
        self, name: str, statement: str, formats: Sequence[int], values: Sequence[bytes | None], wanted: Sequence[int]
    ) -> None:
        """Make a portal."""
        found = self._statement(statement)
        self._statements.refuse_after_failure(found.text)
        if name and name in self._portals:
            raise WireError("42P03", f"there is a portal {name[:60]!r} already")
        if len(values) != len(found.oids) or len(formats) not in (0, 1, len(values)):
            raise WireError("08P01", f"{len(values)} values for {len(found.oids)} parameters")
        each = formats if len(formats) == len(values) else [*formats, 0][:1] * len(values)
        portal = Portal(found, found.bound(read_values(values, found.oids, each)), wanted)
        self._portals.pop(name, None)
        _refuse_many([*self._portals.values(), portal])
        self._portals[name] = portal

    async def describe_statement(self, name: str) -> tuple[Sequence[int], list[Column] | None]:
        """Return the types of a statement's parameters, and its columns."""
        found = self._statement(name)
        self._statements.refuse_after_failure(found.text)
        found.columns = await self._statements.columns(found)
        return found.oids, found.columns

    async def describe_portal(self, name: str) -> tuple[list[Column] | None, Sequence[int]]:
        """Return the columns of a portal, and their formats."""
        portal = self._portal(name)
        self._statements.refuse_after_failure(portal.prepared.text)
        portal.columns = await self._statements.columns(portal.prepared, portal.text)
        return portal.columns, portal.formats_of(portal.columns or ())

    async def execute(self, name: str) -> Portal:
        """Return a portal that has its rows: the statement is run when it is first executed, and only then."""
        portal = self._portal(name)
        if portal.outcome is None:
            self._statements.refuse_after_failure(portal.prepared.text)
            if sum(one.is_unfinished for one in self._portals.values()) >= _MOST_UNFINISHED:
                raise WireError("54000", f"{_MOST_UNFINISHED} statements have rows that were not fetched: close one")
            told = portal.prepared.columns
            if portal.columns is None and told is not None and portal.prepared.shapes_columns:
                portal.columns = await self._statements.columns(portal.prepared, portal.text)
                if [one.type for one in portal.columns or ()] != [one.type for one in told]:
                    raise WireError("0A000", "with these values the columns are others than was told: cast them")
            portal.columns = portal.columns or told
            if portal.columns is None and portal.formats not in ([], [0], [1]):  # before it costs anything
                portal.columns = await self._statements.columns(portal.prepared, portal.text)
            if portal.columns is not None:
                portal.formats_of(portal.columns)
            portal.outcome = await self._statements.run(portal.text, portal.prepared.about)
            self.dropped(portal.outcome.tag)
        return portal

    def close(self, kind: bytes, name: str) -> None:
        """Forget a statement (`S`) or a portal (`P`)."""
        if kind == b"S":
            self._prepared.pop(name, None)
        elif kind == b"P":
            self._portals.pop(name, None)
        else:
            raise WireError("08P01", "what is closed is a statement or a portal")

    def synchronized(self) -> None:
        """Forget the portals of a statement that is over; within a transaction they stay."""
        if self._statements.settings.state == b"I":
            self._portals.clear()

    def forget_unnamed(self) -> None:
        """Forget what has no name, as a message of the simple protocol does."""
        self._prepared.pop("", None)
        self._portals.pop("", None)

    def dropped(self, tag: str | None) -> None:
        """Forget what a statement with this tag has dropped."""
        if tag in ("DISCARD ALL", "DEALLOCATE ALL"):
            self._prepared.clear()

    def _statement(self, name: str) -> Prepared:
        if name not in self._prepared:
            raise WireError("26000", f"there is no statement {name[:60]!r}")
        return self._prepared[name]

    def _portal(self, name: str) -> Portal:
        if name not in self._portals:
            raise WireError("34000", f"there is no portal {name[:60]!r}")
        return self._portals[name]


def _refuse_many(found: Sequence[Prepared | Portal]) -> None:
    if len(found) > _MOST_NAMED or sum(len(one.text) for one in found) > _MOST_BYTES:
        raise WireError("54000", "too many statements are prepared, or too long ones: close some")
