"""ClickHouse: its HTTP interface, its tables, and its spelling of our SQL."""
