"""All that knows DuckDB itself: the private database, the owner's connection, functions in it."""
