"""`ExactConflicts`: write the conflicts of a table to a file, for tests of the owner. Not private."""

from __future__ import annotations

import itertools
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

from dpdb.constraints import never_a_path
from dpdb.database import add_text_function
from dpdb.engine.owner_table import owner_table, sibling
from dpdb.errors import ParameterError

__all__ = ["ExactConflicts"]

_FUNCTION = "dpdb_owner_exact_conflicts"


class ExactConflicts:
    """`dpdb_owner_exact_conflicts(table, constraints, where)` in a connection: a Parquet file that lists all conflicts.

    Owner only: the file has true rows, with no privacy. It lies in a folder that only its owner may enter, until this
    value or the process ends. Columns as of `dpdb exact --violations --columns '*'`.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = weakref.ref(connection)  # which holds the function
        self._folder = Path(tempfile.mkdtemp(prefix="dpdb-exact-"))
        self._numbers = itertools.count(1)
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        add_text_function(connection, _FUNCTION, self, 3)

    def __call__(self, table: str | None, constraints: str | None, where: str | None) -> str:
        """Write the file of one table, and return its path."""
        from dpdb.owner import exact_measures

        if table is None or constraints is None:
            raise ParameterError(f"{_FUNCTION} needs a table and constraints")
        path = self._folder / f"{next(self._numbers)}.parquet"
        with owner_table(sibling(self._connection()), table, None, None) as found:
            exact_measures(
                found.cursor,
                never_a_path(constraints),
                non_private=True,
                table=found.name,
                where=where,
                measures=["drastic"],
                violations=path,
                columns=["*"],
            )
        return str(path)
