"""The ledger on disk: SQLite tables, seals, the head beside it; how formats are made and upgraded."""
