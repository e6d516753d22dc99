"""All that knows DuckDB itself: the private database, the owner's connection, functions in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names
from dpdb.stopping import unbroken

with unbroken():  # an exception of a signal in the middle of its initialisation would abort the process
    import duckdb  # noqa: F401

if TYPE_CHECKING:
    from dpdb.database.database import (
        BATCH_ROWS as BATCH_ROWS,
        WRITTEN as WRITTEN,
        Database as Database,
        Statement as Statement,
    )
    from dpdb.database.sql_functions import (
        add_function as add_function,
        add_text_function as add_text_function,
        refuse_unusable as refuse_unusable,
        remove_function as remove_function,
        remove_macros as remove_macros,
    )
    from dpdb.database.templates import (
        Slot as Slot,
        filled as filled,
        filled_select as filled_select,
        sql_file as sql_file,
    )
else:
    __getattr__, __all__ = lazy_names(__name__)
