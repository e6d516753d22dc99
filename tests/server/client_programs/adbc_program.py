"""ADBC, and what pandas and Polars read by it."""

import adbc_driver_postgresql.dbapi as adbc
from steps import PLACE, STATES, step

address = f"postgresql://{PLACE['user']}:{PLACE['password']}@{PLACE['host']}:{PLACE['port']}/visits?sslmode=disable"
connection = adbc.connect(address, autocommit=True)


def rows(text, values=None):
    def fetched():
        with connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})
            cursor.execute(text, values)
            return [tuple(row) for row in cursor.fetchall()]

    return fetched


def listed():
    [found] = connection.adbc_get_objects(depth="all", db_schema_filter="public").read_all().to_pylist()
    [schema] = found["catalog_db_schemas"]
    return sorted(table["table_name"] for table in schema["db_schema_tables"])


step("start-up", rows("SELECT version()"))
step("listing", listed, ["states", "visits"])
step("columns", lambda: connection.adbc_get_table_schema("states").names, ["state", "people"])
step("query", rows('SELECT * FROM "public"."states" ORDER BY 1'), STATES)
step("release", rows("SELECT measure FROM dp_count('visits', 0.01)"), [("count",)])
step("parameters: text", rows("SELECT people FROM states WHERE state = $1", ("CA",)), [(39,)])
step("close", connection.close)
