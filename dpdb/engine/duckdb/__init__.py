"""All that knows DuckDB itself: the private database, the owner's connection, functions in it."""

from dpdb.stopping import unbroken

with unbroken():  # an exception of a signal in the middle of its initialisation would abort the process
    import duckdb  # noqa: F401
