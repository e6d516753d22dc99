"""The server: many analysts over HTTP, one ledger for each table. Only `desk` answers; every protocol calls it."""
