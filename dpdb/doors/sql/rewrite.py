"""Replace release calls by tables: the statement as it runs, with the answers instead of the calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from dpdb.doors.sql.refusal_words import refused
from dpdb.errors import StatementRefusedError
from dpdb.release import Ask
from dpdb.suites import SuiteAsk

if TYPE_CHECKING:
    from dpdb.diagnosis import DiagnosisAsk

__all__ = ["ANSWERS", "rewritten"]

# Schema of the tables that hold answers; statements cannot name a schema, so none of them can name these tables.
ANSWERS = "answers"


def rewritten(tree: exp.Expr, calls: Sequence[tuple[exp.Anonymous, Ask | SuiteAsk | DiagnosisAsk, str]]) -> str:
    """Return the SQL that runs: every call reads a table of `ANSWERS`.

    In FROM a call becomes that table, under the name that the statement gives it; elsewhere it becomes the table's one
    row, as a struct.

    Parameters
    ----------
    tree : exp.Expr
        The checked statement; it is changed.
    calls : sequence of (node, ask, table)

    Raises
    ------
    StatementRefusedError
        If a call with several rows stands where there is room for one.
    """
    for node, _, _ in calls:
        _name_result(node)
    try:
        for node, ask, table in calls:
            parent = node.parent
            if isinstance(parent, exp.Table):
                if parent.args.get("alias") is None:
                    parent.set("alias", exp.TableAlias(this=exp.to_identifier(ask.function)))
                parent.set("db", exp.to_identifier(ANSWERS))
                parent.set("this", exp.to_identifier(table))
            elif not ask.several:
                row = exp.select(exp.column("answer")).from_(exp.table_(table, db=ANSWERS, alias="answer"))
                node.replace(row.subquery())
            else:
                raise refused(node, "has several rows: write SELECT ... FROM and the release")
        # Every name in quotes: a character that one parser reads as part of a name must not be a space to the other.
        return tree.sql(
            "duckdb", identify=True, normalize_functions=False, comments=False, unsupported_level=ErrorLevel.RAISE
        )
    except SqlglotError as error:
        raise StatementRefusedError(f"the statement cannot be written for DuckDB: {error}") from None
    except RecursionError:
        raise StatementRefusedError("the statement is nested too deeply", kind="size") from None


def _name_result(call: exp.Expr) -> None:
    """Name a result column that contains a call after its field or its text, not after our own tables."""
    top = call
    while top.parent is not None and not (isinstance(top.parent, exp.Select) and top.arg_key == "expressions"):
        if isinstance(top, (exp.Query, exp.Table, exp.Alias)):
            return
        top = top.parent
    if isinstance(top.parent, exp.Select) and not isinstance(top, exp.Alias):
        field = isinstance(top, exp.Dot) and isinstance(top.expression, exp.Identifier)
        name = top.expression.name if field else top.sql("duckdb", comments=False, normalize_functions=False)
        named = exp.Alias(alias=exp.to_identifier(name, quoted=True))
        top.replace(named)
        named.set("this", top)  # the node itself: its calls are replaced later
