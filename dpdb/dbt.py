"""A plugin of dbt-duckdb: models may select from `dp_inconsistency(...)` and `dp_count(...)`.

In `profiles.yml`, with the parameters of `dpdb.register`; as always with dbt-duckdb, paths are relative to the folder
in which dbt is run::

    plugins:
      - module: dpdb.dbt
        config:
          constraints: rules.txt    # of models; generic tests have their own
          ledger: visits.ledger
          suites: {visits: {nightly: nightly.txt}}    # of `dp_check('nightly')` and the test `dpdb.check`
          exact: true               # owner only: allow the tests whose names begin with `owner_exact`

dbt imports this module by its name; nothing else of dpdb does.
"""

from __future__ import annotations

from typing import Any

from dbt.adapters.duckdb.plugins import BasePlugin
from dbt_common.exceptions import DbtConfigError

from dpdb.doors.duckdb_functions import ExactConflicts, Registration, register
from dpdb.errors import DpdbError
from dpdb.settings import SETTINGS

__all__ = ["Plugin"]


_PARAMETERS = ("budget", "ledger", "who", "suites", *(name for name in SETTINGS if name != "table"))
_EXACT = "exact"


class Plugin(BasePlugin):
    """Registers dpdb in dbt's connection and adds its functions to the cursor of every thread."""

    _registration: Registration
    _exact: ExactConflicts  # its files live as long as it does

    def initialize(self, plugin_config: dict[str, Any]) -> None:
        """Check the names of the parameters; dbt-duckdb passes the settings of the profile along with them."""
        known = (*_PARAMETERS, _EXACT)
        others = set(plugin_config) - set(self.creds.settings or {} if self.creds else {}) - set(known)
        if others:
            raise DbtConfigError(f"dpdb.dbt: unknown {min(others)!r} (known: {', '.join(known)})")
        if not isinstance(plugin_config.get(_EXACT, False), bool):
            raise DbtConfigError(f"dpdb.dbt: {_EXACT} is true or false, got {plugin_config[_EXACT]!r}")
        if "ledger" not in plugin_config and "budget" in plugin_config and not getattr(self.creds, "keep_open", True):
            raise DbtConfigError("dpdb.dbt: without keep_open a budget would start anew; use a ledger")
        self._parameters = {name: plugin_config[name] for name in _PARAMETERS if name in plugin_config}
        self._is_exact = plugin_config.get(_EXACT, False)

    def configure_connection(self, conn: Any) -> None:
        """Register dpdb in a connection that dbt has opened."""
        try:
            self._registration = register(conn, **self._parameters)
        except DpdbError as error:
            raise DbtConfigError(f"dpdb.dbt: {error}") from error
        if self._is_exact:
            self._exact = ExactConflicts(conn)

    def configure_cursor(self, cursor: Any) -> None:
        """Add the functions to a cursor: it does not inherit temporary macros."""
        self._registration.add_cursor(cursor)
