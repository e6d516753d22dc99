"""Engines that are asked by an ADBC driver: DuckDB, Snowflake, BigQuery; one address, table and scratch for all."""
