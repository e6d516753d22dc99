"""The ledger on disk: SQLite tables, seals, the head beside it."""
