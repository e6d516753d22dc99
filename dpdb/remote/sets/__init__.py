"""Sets of tables in other engines: a schema, or a folder, over one connection or in one session."""
