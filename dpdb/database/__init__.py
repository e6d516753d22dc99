"""All that knows DuckDB itself: the private database, the owner's connection, functions in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names
from dpdb.stopping import unbroken

with unbroken():  # an exception of a signal in the middle of its initialisation would abort the process
    import duckdb

if TYPE_CHECKING:
    from dpdb.database.database import BATCH_ROWS, WRITTEN, Database, sql_file, sql_statement
    from dpdb.database.sql_functions import (
        add_function,
        add_text_function,
        refuse_unusable,
        remove_function,
        remove_macros,
    )
else:
    __getattr__, __all__ = lazy_names(__name__)
