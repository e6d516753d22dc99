"""Thin surfaces above `release`: command line, SQL, functions in DuckDB, jobs, reports. No algorithm lives here."""
