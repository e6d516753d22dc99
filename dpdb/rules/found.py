"""The results of an importer: rules for tables, and the checks that it leaves out, each with the reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from dpdb.constraints import RowExpression, parse_constraint
from dpdb.errors import ConstraintSyntaxError, ParameterError, PredicateError
from dpdb.predicates import refuse_unknown_parts
from dpdb.rules.options import Options
from dpdb.rules.texts import readable_line

__all__ = ["ACROSS_TABLES", "NO_PATTERNS", "WHOLE_TABLE", "Found", "ImportedRule", "LeftOut", "TableRules"]

# Reasons to leave a check out that several tools give.
ACROSS_TABLES = "a rule across tables"
NO_PATTERNS = "dpdb has no regular expressions and formats"
_LONGEST_NOTE = 500  # characters; a longer note gets no further origin
WHOLE_TABLE = "it is about the table as a whole, not about rows"


@dataclass(frozen=True)
class ImportedRule:
    """A rule as dpdb writes it.

    Attributes
    ----------
    table : str
        As the file names it; empty where it names none.
    text : str
        One line of constraint text.
    origin : str
        The check that states the rule, in the file's words.
    note : str or None
        Settings of the check that dpdb has elsewhere, such as a tolerated share.
    """

    table: str
    text: str
    origin: str
    note: str | None = None

    def also(self, other: ImportedRule) -> ImportedRule:
        """Return the rule with the origin and note of a second check that states it."""
        said, own = (f"{one.origin} ({one.note})" if one.note else one.origin for one in (other, self))
        others = [] if self.note is None else self.note.split("; also ")
        if said in (own, self.origin) or f"also {said}" in others[:1] or said in others[1:]:
            return self
        if len(self.note or "") > _LONGEST_NOTE:
            return self
        return replace(self, note=f"{self.note}; also {said}" if self.note else f"also {said}")


@dataclass(frozen=True)
class LeftOut:
    """A check of the file that is no constraint of dpdb, and why."""

    table: str
    origin: str
    reason: str


@dataclass
class Found:
    """The results of the importers so far, in the order of the file; `primary_keys` has columns by table."""

    rules: list[ImportedRule] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    primary_keys: dict[str, list[str]] = field(default_factory=dict)
    _places: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(self, rule: ImportedRule) -> None:
        """Add a rule; if the table has it already, add only its origin and note."""
        place = self._places.setdefault((rule.table, rule.text), len(self.rules))
        if place == len(self.rules):
            self.rules.append(rule)
        else:
            self.rules[place] = self.rules[place].also(rule)

    def table(self, name: str) -> TableRules:
        """Return the collector of one table's rules."""
        return TableRules(self, name)


@dataclass(frozen=True)
class TableRules:
    """Collects the rules of one table; dpdb's own parser reads each rule again before it is taken."""

    found: Found
    name: str

    def take(
        self, write: Callable[[], str | Sequence[str]], origin: str, options: Options, note: str | None = None
    ) -> None:
        """Take the rules that a check states, all or none of them, once every option of the check has been read.

        The check is left out, with the reason, if `write` fails, dpdb cannot read a text, or an option stays unread.

        Parameters
        ----------
        write
            Returns the constraint texts of the check, one or several.
        origin
            The check in the file's words.
        options
            The options of the check; `write` reads those that matter for which rows fail.
        note
            A comment beside each rule, such as a tolerated share; by default none.
        """
        try:
            written = write()
            texts = [_readable(text) for text in ([written] if isinstance(written, str) else written)]
        except (ParameterError, TypeError, ValueError) as error:
            self.leave(origin, str(error).splitlines()[0])
            return
        unread = options.unread()
        if unread:
            self.leave(origin, f"dpdb does not know its option {', '.join(unread)}")
            return
        for text in texts:
            rule = ImportedRule(self.name, text, origin, note)
            self.found.add(rule)

    def leave(self, origin: str, reason: str) -> None:
        """Leave a check out, with the reason."""
        self.found.left_out.append(LeftOut(self.name, origin, reason))


def _readable(text: str) -> str:
    """Return the text as a line that dpdb's own parser reads; refuse SQL that dpdb refuses for every table."""
    try:
        for constraint in parse_constraint(text):
            for computed in constraint.computed:
                if isinstance(computed.expression, RowExpression):
                    refuse_unknown_parts(computed.expression.sql, is_condition=computed.expression.is_condition)
        return readable_line(text)
    except (ConstraintSyntaxError, ParameterError, PredicateError) as error:
        said = str(error).splitlines()[0].removeprefix("where: ")
        raise ParameterError(f"dpdb cannot read {text}: {said}") from None
