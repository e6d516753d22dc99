"""Limits on some of a ledger's debits: how they are counted, the quotas of analysts, and who may ask at all."""
