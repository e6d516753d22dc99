"""The results of an importer: rules for tables, and the checks that it leaves out, each with the reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from dpdb.constraints import MAX_LENGTH, load_lines, never_a_path, of_used_rows, parse_constraint, written_lines
from dpdb.errors import ConstraintSyntaxError, ParameterError, PredicateError
from dpdb.names import LONGEST_NAME, in_double_quotes, is_one_word
from dpdb.predicates import refuse_unknown_parts
from dpdb.rules.conditions import read_rule
from dpdb.rules.limits import ZERO, Allowed
from dpdb.rules.options import Options
from dpdb.rules.text_columns import is_text, refuse_numbers
from dpdb.rules.texts import bare_name, comment, readable_line

# Reasons to leave a check out that several tools give.
ACROSS_TABLES = "a rule across tables"
DEPENDS_ON_TIME = "it depends on the time at which it runs"
OF_ITS_DATABASE = "types are those of its own database, which the file does not name"
_OF_COLUMNS = re.compile(r"schema (has|is) ")  # a column of this name is followed by a sign
_COUNTS = re.compile(r"row_count( WHERE |$)|(freshness|distinct_count)\(")
_LONGEST_CHECK_NAME = LONGEST_NAME - len(" (1000)")
_LONGEST_NOTE = 500  # characters; a longer note gets no further origin
ANY_TABLE = "*"
"""Stands for the table of a check of which nobody knows what table it is about: it is listed with each."""
WHOLE_TABLE = "it is about the table as a whole, not about rows"


@dataclass(frozen=True)
class ImportedRule:
    """A rule as dpdb writes it.

    Attributes
    ----------
    table : str
        As the file names it; empty where it names none.
    origin : str
        The check that states the rule, in the file's words.
    note : str or None
        Settings of the check that the rule does not have, such as a limit on a number that dpdb does not count.
    name : str or None
        What the other tool calls the check; no other rule of the table has it.
    limits : str
        The limits as a suite has them; empty for `fail above 0`.
    """

    table: str
    text: str
    origin: str
    note: str | None = None
    name: str | None = None
    limits: str = ""

    def line(self) -> str:
        """Return the rule as a line of a suite: name, text and limits."""
        name = "" if self.name is None else f"{self.name if is_one_word(self.name) else in_double_quotes(self.name)}: "
        return f"{name}{self.text}{'  ' if self.limits else ''}{self.limits}"

    def of_used_rows(self) -> ImportedRule:
        """Return the rule with limits that say `of used rows` where they would read as if of all rows."""
        if not self.limits:
            return self
        start = "row_count  " if self.text.startswith(("row_count", "freshness(", "distinct_count(")) else ""
        return replace(self, limits=of_used_rows(start + self.limits).removeprefix(start))

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
    """The results of the importers so far, in the order of the file; `primary_keys` and `text_columns` are by table."""

    rules: list[ImportedRule] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    primary_keys: dict[str, list[str]] = field(default_factory=dict)
    text_columns: dict[str, set[str]] = field(default_factory=dict)
    _places: dict[tuple[str, str, str], int] = field(default_factory=dict)
    _names: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(self, rule: ImportedRule) -> None:
        """Add a rule; if the table has it already with the same limits, add only its origin and note.

        A rule whose text has a name of its own is left out if another rule has this name.
        """
        key = (rule.table, rule.text, rule.limits)
        if (place := self._places.get(key)) is not None:
            self.rules[place] = self.rules[place].also(rule)
            return
        own, called = _names_of(rule)
        if own is not None and self._is_taken(rule.table, own):
            self.left_out.append(LeftOut(rule.table, rule.origin, f"another check is called {own!r}, too"))
            return
        self._places[key] = len(self.rules)
        self.rules.append(replace(rule, name=self._only_name(rule, called) if own is None else None))

    def _only_name(self, rule: ImportedRule, called: str) -> str | None:
        """Return the name of a rule, with a number where another rule of the table has it.

        None if a rule has none that can be printed: then it is `called` as its text, unless another one is.
        """
        said = comment(rule.name or "")[:_LONGEST_CHECK_NAME]
        if not said.isprintable() or not said:
            if not self._is_taken(rule.table, called):
                return None
            said = comment(rule.origin)[:_LONGEST_CHECK_NAME]
            said = said if said.isprintable() and said else "check"
        name = said
        while self._is_taken(rule.table, name):
            self._names[rule.table, said.casefold()] += 1
            name = f"{said} ({self._names[rule.table, said.casefold()]})"
        return name

    def _is_taken(self, table: str, name: str) -> bool:
        """Return whether a rule of the table has a name, in any case; if none has, it is one's from now on."""
        key = (table, name.casefold())
        taken = key in self._names
        self._names.setdefault(key, 1)
        return taken

    def table(self, name: str) -> TableRules:
        """Return the collector of one table's rules."""
        return TableRules(self, name)


@dataclass(frozen=True)
class TableRules:
    """Collects the rules of one table; dpdb's own parser reads each rule again before it is taken."""

    found: Found
    name: str

    def declare(self, column: str, declared: object) -> None:
        """Keep in mind that a column is text, if its type as the file has it says so: no number is compared with it."""
        if is_text(declared):
            self.found.text_columns.setdefault(self.name, set()).add(bare_name(column).casefold())

    def take(
        self,
        write: Callable[[], str | Sequence[str]],
        origin: str,
        options: Options,
        note: str | None = None,
        *,
        name: str | None = None,
        allowed: Callable[[], Allowed] = lambda: ZERO,
    ) -> None:
        """Take the rules that a check states, all or none of them, once every option of the check has been read.

        The check is left out, with the reason, if `write` or `allowed` fails, dpdb cannot read a text, or an option
        stays unread.

        Parameters
        ----------
        write
            Returns the constraint texts of the check, one or several.
        options
            The options of the check; `write` reads those that matter for which rows fail.
        note
            A comment beside each rule; by default none.
        name
            What the tool calls the check; by default nothing.
        allowed
            Returns what the check tolerates; by default nothing.
        """

        def rules() -> list[ImportedRule]:
            written = write()
            known = self.found.text_columns.get(self.name, ())
            texts = [_readable(text, known) for text in ([written] if isinstance(written, str) else written)]
            if any(len(text) > MAX_LENGTH - _LONGEST_NOTE for text in texts):
                raise ParameterError("it is too long for a line")
            kept = allowed().kept(texts)
            said = "; ".join(filter(None, [kept.note, note])) or None
            return [ImportedRule(self.name, text, origin, said, name, kept.limits) for text in texts]

        self._add(rules, origin, options)

    def count(
        self,
        limits: Callable[[], Sequence[str]],
        where: Callable[[], str | None],
        origin: str,
        options: Options,
        name: str,
    ) -> None:
        """Take a check on the number of rows, as `count_as` with its limits."""
        self.count_as(lambda: [("row_count", limit) for limit in limits()], where, origin, options, name)

    def count_as(
        self,
        write: Callable[[], Sequence[tuple[str, str]]],
        where: Callable[[], str | None],
        origin: str,
        options: Options,
        name: str,
        *,
        note: str | None = None,
    ) -> None:
        """Take a check of a number, as one line for each of its limits; else leave it out, with the reason.

        Parameters
        ----------
        write
            Returns what is counted, such as `row_count` or `freshness(updated_at) < 2 days`, with each limit.
        where
            Returns the condition of the rows that are counted.
        """

        def rules() -> list[ImportedRule]:
            written, among = write(), where()
            if among is not None:
                refuse_unknown_parts(among, is_condition=True)
            made = []
            for counted, limit in written:
                text = readable_line(counted if among is None else f"{counted} WHERE {among}")
                self._refuse_unreadable(text, limit)
                made.append(ImportedRule(self.name, text, origin, note, name, limit))
            return made

        self._add(rules, origin, options)

    def _refuse_unreadable(self, text: str, limit: str = "") -> None:
        try:
            load_lines(written_lines(never_a_path(f"{text}  {limit}")))
        except ConstraintSyntaxError as error:
            said = str(error).splitlines()[0]
            raise ParameterError(f"dpdb cannot read {text}: {said}") from None

    def about_columns(
        self,
        write: Callable[[], Sequence[tuple[str, str]]],
        origin: str,
        options: Options,
        name: str,
    ) -> None:
        """Take a check of the table's columns, as one line for each of its parts; else leave it out, with the reason.

        Parameters
        ----------
        write
            Returns each line about the columns, as `schema has (id)`, with its limit; empty for `fail above 0`.
        """

        def rules() -> list[ImportedRule]:
            made = []
            for text, limits in write():
                if not text.isprintable():
                    raise ParameterError("a name has a character that cannot stand in a line")
                self._refuse_unreadable(text)
                made.append(ImportedRule(self.name, text, origin, None, name, limits))
            return made

        self._add(rules, origin, options)

    def _add(self, rules: Callable[[], list[ImportedRule]], origin: str, options: Options) -> None:
        """Add the rules of a check, or leave it out if they cannot be made, or an option of it was not read."""
        try:
            made = rules()
        except (ParameterError, PredicateError, TypeError, ValueError) as error:
            self.leave(origin, str(error).splitlines()[0].removeprefix("where: "))
            return
        if unread := options.unread():
            self.leave(origin, f"dpdb does not know its option {', '.join(unread)}")
            return
        for rule in made:
            self.found.add(rule)

    def leave_unknown(self, said: object, known: Collection[str], place: str) -> None:
        """Leave out the keys of a table or a column that no importer reads, such as a misspelt one.

        Parameters
        ----------
        known
            The keys that are read, or that say nothing of rows.
        place
            Stands before the key in the origin.
        """
        for name in Options(said, known).unread():
            self.leave(f"{place}{name}", "dpdb does not know this key")

    def leave(self, origin: str, reason: str) -> None:
        """Leave a check out, with the reason."""
        self.found.left_out.append(LeftOut(self.name, origin, reason))


def _names_of(rule: ImportedRule) -> tuple[str | None, str]:
    """Return the name in a rule's text, and how the rule is called without any: a suite calls it as it is written."""
    if _COUNTS.match(rule.text) or _OF_COLUMNS.match(rule.text):
        return None, rule.text
    first = parse_constraint(rule.text)[0]
    return first.name, first.text or rule.text


def _readable(text: str, text_columns: Collection[str]) -> str:
    """Return the text as a line that dpdb's own parser reads; refuse SQL that dpdb refuses for every such table."""
    try:
        constraints = read_rule(text)
        line = readable_line(text)
    except (ConstraintSyntaxError, ParameterError, PredicateError) as error:
        said = str(error).splitlines()[0].removeprefix("where: ")
        raise ParameterError(f"dpdb cannot read {text}: {said}") from None
    refuse_numbers(constraints, text_columns)
    return line
