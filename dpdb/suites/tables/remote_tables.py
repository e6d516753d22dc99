"""The tables of a set in another engine: a schema of PostgreSQL or Spark, or a folder that Spark reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from dpdb.constraints import DenialConstraint, condition_with_members
from dpdb.errors import ForeignRuleError, ParameterError
from dpdb.opening import open_remote_table, open_set
from dpdb.schema import TableSchema
from dpdb.suites.counted import RulePlaces
from dpdb.suites.suite import SuiteLine

if TYPE_CHECKING:
    from dpdb.remote import RemoteSet

__all__ = ["RemoteTables"]


class RemoteTables:
    """Where the tables of a set are; see `dpdb.suites.tables.members.TableFolder`.

    Parameters
    ----------
    place, table
        As of `open_set`.
    given
        The public parents, which lie in the same place.
    """

    def __init__(self, place: str, table: str | None, given: Mapping[str, str | None]) -> None:
        elsewhere = [name for name, source in given.items() if source is not None]
        if elsewhere:
            raise ParameterError(
                f"parent {elsewhere[0]!r}: beside tables of another engine parents are tables of the same schema: name "
                f"it alone (--public-parent {elsewhere[0]}), or make a view of it there"
            )
        self.opened: RemoteSet = open_set(place, _schema_of(table))
        self.place = self.opened.description
        self._found: dict[str, tuple[str, TableSchema] | None] = {}

    def source(self, name: str) -> tuple[RemoteSet, str]:
        """Return the set, and how the table is spelled there."""
        found = self._table(name)
        assert found is not None, "it has a schema"
        return self.opened, found[0]

    def beside(self, name: str) -> None:
        """Return None: parents are tables of the same set."""

    def spelled(self, name: str) -> str:
        """Return how a table of the set is spelled."""
        return self.source(name)[1]

    def schema(self, name: str) -> TableSchema | None:
        """Return the columns of a table, None if there is no such table. Reads no row."""
        found = self._table(name)
        return None if found is None else found[1]

    def _table(self, name: str) -> tuple[str, TableSchema] | None:
        key = name.casefold()
        if key not in self._found:
            names = self.opened.named(name)
            if len(names) > 1:
                raise ParameterError(f"{self.place} has two tables of one name: {', '.join(names)}")
            self._found[key] = (names[0], self._described(names[0])) if names else None
        return self._found[key]

    def _described(self, name: str) -> TableSchema:
        table = self.opened.table(name)
        try:
            return table.schema()
        finally:
            table.close()

    def refused(self, name: str, lines: list[SuiteLine], parents: dict[str, Any]) -> dict[int, str]:
        """Return the places of lines that the other engine might count otherwise than our own, and why.

        Parameters
        ----------
        name
            The table.
        lines
            Of its suite.
        parents
            Its `public_parents` and `private_parents`.
        """
        source, table = self.source(name)
        found: dict[int, str] = {}
        rules = [line.rule for line in lines if line.rule is not None]
        try:
            open_remote_table(source, table=table, constraints=rules, rows=False, **parents).close()
        except ForeignRuleError as error:
            why = {cast(DenialConstraint, dc): reason for dc, reason in error.refused}
            places, reasons = RulePlaces(why), [*why.values()]
            for number, line in enumerate(lines):
                place = None if line.rule is None else places.find(line)
                if place is not None:
                    found[number] = reasons[place]
        with open_remote_table(source, table=table, rows=False) as opened:
            for number, line in enumerate(lines):
                told = line.where is None or condition_with_members(line.where) is not None  # as parts of the rule
                reason = None if told else opened.why_not_where(str(line.where))
                if reason is not None:
                    found.setdefault(number, reason)
        return found

    def close(self) -> None:
        """Let go of the connection or session. May be called twice."""
        self.opened.close()


def _schema_of(table: str | None) -> str | None:
    """Return the schema that --table SCHEMA.* names."""
    if table is None:
        return None
    schema, star = table[:-2], table[-2:]
    if star != ".*" or not schema:
        raise ParameterError(
            f"{table!r}: of a set of tables --table is a schema with all its tables: --table 'SCHEMA.*'"
        )
    return schema
