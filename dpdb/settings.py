"""What is public about a table: its settings, limits, declared types and addresses.

Modules outside the trusted base (`dpdb/README.md`) import these, and no package that reads private rows. Nothing here
yields a row or an exact statistic: a test in `tests/project` lists the modules in which these names are at home.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.engine import (
        LIMITS as LIMITS,
        NESTED_LOOP_ROWS as NESTED_LOOP_ROWS,
        SETTINGS as SETTINGS,
        Progress as Progress,
        TableSettings as TableSettings,
        TableSpec as TableSpec,
        no_progress as no_progress,
        with_settings as with_settings,
    )
    from dpdb.opening import has_tables as has_tables, is_remote as is_remote
    from dpdb.sources import column_definition as column_definition, is_address as is_address, refuse_url as refuse_url
else:
    __getattr__, __all__ = lazy_names(__name__)
