"""From text to one query tree: the forms of statements that the front end knows, and the wording of refusals.

A refusal names the refused part of the statement, its place, and the name that was probably meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from dpdb.bounded_parser import TooMuchWorkError, parse_duckdb, parse_postgres
from dpdb.constraints import shortened
from dpdb.doors.sql.postgres_tree import plain_tree
from dpdb.errors import StatementRefusedError
from dpdb.names import close_name, folded

_LONGEST_LINE = 500


def refused(node: exp.Expr, problem: str, kind: str = "") -> StatementRefusedError:
    """Return (not raise) the refusal of a part of a statement; `problem` follows that part's text."""
    line, column = _place(node)
    return StatementRefusedError(f"{shown(node)} {problem}", line=line, column=column, kind=kind)


def shown(node: exp.Expr) -> str:
    """Return a part of a statement, quoted and cut when it is long."""
    try:
        text = node.sql("duckdb", comments=False, normalize_functions=False, unsupported_level=ErrorLevel.IGNORE)
    except (
        SqlglotError,
        RecursionError,
        ValueError,
        AttributeError,
        TypeError,
    ):  # the parser reads more than it can write
        text = node.key
    return shortened(" ".join(text.split()) or node.key)


def nearest(wanted: str, known: Iterable[str]) -> str:
    """Name the known name closest to the wanted one, and tell whether that only looks like it."""
    odd = "; it has letters that are not ASCII" if not wanted.isascii() else ""
    near = close_name(folded(wanted), known)
    return odd if near is None else f"{odd}; did you mean {near}?"


def one_line(text: str) -> str:
    """Return a message as one line of printable characters, cut when it is long."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 20 * _LONGEST_LINE]).split())
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 4]} ..."


def _place(node: exp.Expr) -> tuple[int | None, int | None]:
    """Return line and column of the first character whose place the parser knows."""
    marked = [part.meta for part in node.walk() if "start" in part.meta]
    if not marked:
        return None, None
    first = min(marked, key=lambda meta: int(meta["start"]))
    # The parser's column is that of a word's last character.
    return int(first["line"]), int(first["col"]) - (int(first["end"]) - int(first["start"]))


_MOST_BYTES = 65_536
MOST_SCRIPT = 1 << 20
"""Largest number of characters of a script."""
_MOST_STATEMENTS = 1_000
_MOST_NODES = 10_000
_MOST_DIGITS = 400  # the largest DOUBLE has 309, and Python reads no whole number of more than 4,300
# Quoted text, comments, the end of a statement, a quote or comment that is never closed, or any other character.
_PIECE = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$.*?\$\1\$|(?P<comment>--[^\n]*|/\*.*?\*/)|(?P<end>;)"""
    r"""|(?:['"]|/\*|\$\w*\$).*|.""",
    re.DOTALL,
)
# PostgreSQL's own quotes, in which a backslash hides a quote, come before them.
_PIECE_OF_POSTGRES = re.compile(rf"(?<![\w$])[eE]'(?:[^'\\]|\\.|'')*'|{_PIECE.pattern}", re.DOTALL)
# One way to match each text: two ways would take quadratic time for a long row of digits.
_NUMBER = re.compile(r"(\d[\d_]*(\.[\d_]*)?|\.\d[\d_]*)([eE][+-]?\d+)?", re.ASCII)
# A parameter with no blank behind it, and what has none: quoted text and comments.
_QUOTED_OR_PARAMETER = re.compile(
    r"""(?<![\w$])[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(?!\d)(\w*)\$.*?\$\1\$|--[^\n]*|/\*.*?\*/"""
    r"""|\$(?!\d)\w*\$.*|(?P<parameter>(?<![\w$])\$\d+(?![\w$\s]))""",  # a tag that is not closed goes to the end
    re.DOTALL,
)
# A text that starts like a number: the parser would read 0x1F as 0 AS x1F.
_LIKE_NUMBER = re.compile(r"(?<![\w$.])\.?\d(?:[eE][+-]|[\w.])*", re.ASCII)
_WORD = re.compile(r"[^\W\d]\w*|\S")
_MISSING = re.compile(r"Required keyword: '\w+' missing for <class '[\w.]*?(\w+)'>")
_VERBS = ("SELECT", "WITH", "FROM", "VALUES", "EXPLAIN", "DESCRIBE", "CALL")
_QUERIES = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "(")
_WRITE = "write SELECT * FROM dp_count('table', epsilon := 0.1), EXPLAIN SELECT ... or CALL dp_count(...)"
_WRITING = ("CREATE", "DROP", "ALTER", "INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE")
_REASONS = {
    **dict.fromkeys(("COPY", "EXPORT", "IMPORT"), "files are not written or read: use --format and --out for results"),
    **dict.fromkeys(("ATTACH", "DETACH", "USE", "CHECKPOINT"), "other databases are out of reach"),
    **dict.fromkeys(("SET", "RESET", "PRAGMA"), "settings are the owner's"),
    **dict.fromkeys(("INSTALL", "LOAD", "UPDATE_EXTENSIONS"), "extensions are the owner's"),
    **dict.fromkeys(_WRITING, "tables, views and macros are not made or changed: name a query with WITH"),
    **dict.fromkeys(("PREPARE", "EXECUTE", "DEALLOCATE"), "statements take no parameters: write the values"),
    **dict.fromkeys(("BEGIN", "COMMIT", "ROLLBACK", "ABORT", "START"), "every statement stands alone"),
    **dict.fromkeys(("SUMMARIZE", "PIVOT", "UNPIVOT"), "it reads rows: ask for a release or query public tables"),
    **dict.fromkeys(("SHOW", "DESC"), "the prompt has .tables and .schema, and DESCRIBE SELECT ... shows columns"),
    "ANALYZE": "it reads rows",
}  # fmt: skip


Spoken: TypeAlias = Literal["duckdb", "postgres"]
"""Whose SQL an entry point speaks."""


@dataclass(frozen=True)
class Statement:
    """One parsed statement.

    Attributes
    ----------
    kind : str
        ``"query"`` is answered; ``"explain"`` (the query plan) and ``"describe"`` (the columns) spend nothing.
    dialect : str
        In whose SQL it is written, and computes.
    """

    kind: Literal["query", "explain", "describe"]
    tree: exp.Expr
    dialect: Spoken = "duckdb"


class Part(str):
    """A statement of a script, with the line and column where it starts, from 1."""

    line: int
    column: int


def split_statements(text: str, dialect: Spoken = "duckdb") -> list[Part]:
    """Split a script at its semicolons; parts with nothing but comments are left out."""
    if len(text) > MOST_SCRIPT:
        raise StatementRefusedError(f"a script has at most {MOST_SCRIPT >> 20} MiB; split it")
    parts, rest, empty = _split(text, dialect)
    parts = parts if empty else [*parts, rest]
    if len(parts) > _MOST_STATEMENTS:
        raise StatementRefusedError(f"a script has at most {_MOST_STATEMENTS:,} statements; split it")
    return parts


def split_finished(text: str) -> tuple[list[Part], str]:
    """Split a text into the statements that end with a semicolon and the rest."""
    parts, rest, _ = _split(text, "duckdb")
    return parts, rest


def _pieces(text: str, dialect: Spoken) -> Iterator[re.Match[str]]:
    return (_PIECE if dialect == "duckdb" else _PIECE_OF_POSTGRES).finditer(text)


def _split(text: str, dialect: Spoken) -> tuple[list[Part], Part, bool]:
    """Return the finished statements, the rest, and whether that is nothing but comments."""
    parts, start, empty = [], 0, True
    line, column = 1, 1  # of the start
    for piece in _pieces(text, dialect):
        if piece["end"]:
            if not empty:
                parts.append(_part(text[start : piece.start()], line, column))
            skipped = text[start : piece.end()]
            breaks = skipped.count("\n")
            line += breaks
            column = len(skipped) - skipped.rfind("\n") if breaks else column + len(skipped)
            start, empty = piece.end(), True
        elif not piece["comment"] and not piece[0].isspace():
            empty = False
    return parts, _part(text[start:], line, column), empty


def _part(text: str, line: int, column: int) -> Part:
    part = Part(text)
    part.line, part.column = line, column
    return part


def placed(error: StatementRefusedError, text: str) -> StatementRefusedError:
    """Return an error in a statement with its place in the script, if the statement belongs to one."""
    if not isinstance(text, Part) or error.line is None or error.column is None:
        return error
    column = error.column + text.column - 1 if error.line == 1 else error.column
    return StatementRefusedError(error.reason, line=error.line + text.line - 1, column=column, kind=error.kind)


def parse_statement(text: str, dialect: Spoken = "duckdb") -> Statement:
    """Parse one statement, in the SQL of a dialect."""
    _refuse_size_and_encoding(text)
    finished, rest, empty = _split(text, dialect)
    parts = finished if empty else [*finished, rest]
    if len(parts) != 1:
        found = f"{len(parts):,} statements" if parts else "no statement"
        raise StatementRefusedError(f"found {found} where one is expected; {_WRITE}", kind="syntax")
    # Comments become spaces, so that the other text stays in its place.
    plain = "".join(_blank(piece[0]) if piece["comment"] else piece[0] for piece in _pieces(parts[0], dialect))
    _refuse_odd_text(plain, dialect)
    word = _WORD.search(plain)
    assert word is not None
    verb = _verb(word)
    if verb == "CALL":
        return Statement("query", _called(_query(_swapped(plain, word, "FROM"), dialect)), dialect)
    if verb == "EXPLAIN" and re.match(r"[\s(]*ANALY[SZ]E\b", plain[word.end() :], re.IGNORECASE):
        says = "EXPLAIN ANALYZE runs the statement; write EXPLAIN SELECT ..., which spends nothing"
        raise StatementRefusedError(says)
    if verb in ("EXPLAIN", "DESCRIBE"):
        kind: Literal["explain", "describe"] = "explain" if verb == "EXPLAIN" else "describe"
        return Statement(kind, _query(_swapped(plain, word, ""), dialect), dialect)
    return Statement("query", _query(plain, dialect), dialect)


def _verb(word: re.Match[str]) -> str:
    return word[0].upper() if word[0].isascii() else word[0]


def _refuse_size_and_encoding(text: str) -> None:
    try:
        size = len(text.strip().encode())
    except UnicodeEncodeError:  # bytes of the command line that are not UTF-8 arrive as surrogates
        raise StatementRefusedError("the statement is not UTF-8 text") from None
    if size > _MOST_BYTES:
        raise StatementRefusedError(f"the statement has more than {_MOST_BYTES:,} bytes; shorten it", kind="size")


def _query(text: str, dialect: Spoken) -> exp.Expr:
    word = _WORD.search(text)
    verb = "" if word is None else _verb(word)
    if verb not in _QUERIES:
        reason, near = _REASONS.get(verb), close_name(verb.upper(), _VERBS)
        advice = f": {reason}" if reason else f"; did you mean {near}?" if near else ""
        says = f"{shortened(verb)} is not run{advice or f'; {_WRITE}'}"
        raise StatementRefusedError(says, kind="writes" if verb in _WRITING else "" if reason else "syntax")
    try:
        trees = parse_duckdb(text) if dialect == "duckdb" else parse_postgres(text)
    except (SqlglotError, RecursionError) as error:
        raise _unreadable(error) from None
    except Exception:  # the parser's own failures on odd input
        raise StatementRefusedError("the statement cannot be parsed", kind="syntax") from None
    if len(trees) != 1 or trees[0] is None:
        raise StatementRefusedError(f"found {len(trees)} statements where one is expected; {_WRITE}", kind="syntax")
    tree = trees[0]
    if sum(1 for _ in tree.walk()) > _MOST_NODES:
        raise StatementRefusedError(f"the statement has more than {_MOST_NODES:,} parts; shorten it", kind="size")
    return tree if dialect == "duckdb" else plain_tree(tree)


def is_number(text: str) -> bool:
    """Return whether a text is a number literal and nothing else."""
    return _NUMBER.fullmatch(text) is not None


def parted_parameters(text: str) -> str:
    """Put a blank behind each `$1`, `$2`, ...: the parser would read `$1,$2` as text between two tags `$1,$`."""
    return _QUOTED_OR_PARAMETER.sub(lambda found: f"{found[0]} " if found["parameter"] else found[0], text)


def _refuse_odd_text(text: str, dialect: Spoken) -> None:
    """Refuse what parsers read differently: numbers with something behind them, and signs that are not ASCII."""
    quotes = "'\"$" if dialect == "duckdb" else "'\"$eE"
    words = "".join(
        _blank(piece[0]) if len(piece[0]) > 1 and piece[0][0] in quotes else piece[0]
        for piece in _pieces(text, dialect)
    )
    odd = next((c for c in words if not (c.isascii() or c.isalnum())), None)
    if odd is not None:
        raise StatementRefusedError(
            f"{odd!a} is not a character of SQL: it only looks like one; type it again", kind="syntax"
        )
    for found in _LIKE_NUMBER.finditer(words):
        if len(found[0]) > _MOST_DIGITS:
            raise StatementRefusedError(f"a number has more than {_MOST_DIGITS} digits; shorten it", kind="size")
        if not is_number(found[0]) or (dialect == "postgres" and "_" in found[0]):
            raise StatementRefusedError(
                f"{shortened(found[0])} is not a decimal number; put a space after a number", kind="syntax"
            )


def _called(tree: exp.Expr) -> exp.Expr:
    """Check that `CALL f(...)`, read as `FROM f(...)`, is no more than that."""
    parts = {key for key, value in tree.args.items() if value}
    table = tree.args["from_"].this if parts == {"expressions", "from_"} else None
    if not (isinstance(table, exp.Table) and isinstance(table.this, exp.Anonymous) and not table.args.get("joins")):
        raise StatementRefusedError("CALL takes one release and nothing else: CALL dp_count('table', epsilon := 0.1)")
    return tree


def _unreadable(error: Exception) -> StatementRefusedError:
    details = getattr(error, "errors", None)
    if isinstance(error, RecursionError):
        return StatementRefusedError("the statement is nested too deeply", kind="size")
    if isinstance(error, TooMuchWorkError):
        return StatementRefusedError(f"the statement {error}", kind="size")
    if not details:
        return StatementRefusedError("the statement cannot be read: a quote or comment is not closed", kind="syntax")
    first = details[0]
    near = f", near {shortened(first['highlight'])}" if first.get("highlight") else ""
    problem = first["description"].partition(" but got <")[0]
    missing = _MISSING.fullmatch(problem)
    if missing:
        problem = f"something is missing in {missing[1].upper()}"
        problem += ' (the column is written "where", in double quotes)' if missing[1] == "Where" else ""
    line, column = first.get("line"), first.get("col")
    return StatementRefusedError(f"{problem}{near}", line=line, column=column, kind="syntax")


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _swapped(text: str, word: re.Match[str], other: str) -> str:
    """Replace a word, padded so that the rest of the text does not move."""
    return text[: word.start()] + other.ljust(len(word[0])) + text[word.end() :]
