"""Suites of checks over a set of tables: one plan, one debit, one ledger, and a unit that owns rows in all of them."""
