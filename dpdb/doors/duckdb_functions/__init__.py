"""The connection: `register` puts `dp_inconsistency`, `dp_count` and their kin into the owner's DuckDB connection.

A thin surface above the session. A convenience for whoever holds the connection, and with it the data; no boundary.
"""

from dpdb.doors.duckdb_functions.registration import ExactConflicts, Registration, register

__all__ = ["ExactConflicts", "Registration", "register"]
