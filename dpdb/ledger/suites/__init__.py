"""Suites of checks in a ledger: verdicts under one debit, with hidden thresholds."""
