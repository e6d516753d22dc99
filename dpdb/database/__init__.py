"""All that knows DuckDB itself: the private database, the owner's connection, functions in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names
from dpdb.stopping import unbroken

with unbroken():  # an exception of a signal in the middle of its initialisation would abort the process
    import duckdb  # noqa: F401

if TYPE_CHECKING:
    from dpdb.database.database import BATCH_ROWS, WRITTEN, Database, sql_file, sql_statement
    from dpdb.database.sql_functions import (
        add_function,
        add_text_function,
        refuse_unusable,
        remove_function,
        remove_macros,
    )

__all__ = [
    "BATCH_ROWS",
    "WRITTEN",
    "Database",
    "add_function",
    "add_text_function",
    "refuse_unusable",
    "remove_function",
    "remove_macros",
    "sql_file",
    "sql_statement",
]

if not TYPE_CHECKING:  # type checkers know the names above, and should know no others
    __getattr__ = lazy_names(
        __name__,
        {
            "database": "BATCH_ROWS Database WRITTEN sql_file sql_statement",
            "sql_functions": "add_function add_text_function refuse_unusable remove_function remove_macros",
        },
    )
