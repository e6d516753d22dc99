"""psqlodbc, as Excel, R and Tableau use it."""

import os

import pyodbc
from steps import PLACE, STATES, step

given = ";".join(
    f"{name}={value}" for name, value in (
        ("Driver", os.environ["ODBC_DRIVER"]), ("Server", PLACE["host"]), ("Port", PLACE["port"]),
        ("Database", "visits"), ("Uid", PLACE["user"]), ("Pwd", PLACE["password"]), ("SSLmode", "disable"),
    )
)  # fmt: skip
connection = pyodbc.connect(given, autocommit=True)


def rows(text, *values):
    return lambda: [tuple(row) for row in connection.cursor().execute(text, *values).fetchall()]


def again():
    cursor = connection.cursor()
    found = []
    for state in ("CA", "NY", "CA"):  # the prepared statement is dropped and made again
        found.append(cursor.execute("SELECT people FROM states WHERE state = ?", state).fetchval())
        cursor.execute("SELECT 1").fetchall()
    return found


def in_transaction():
    connection.autocommit = False
    found = rows("SELECT count(*) FROM states")()
    connection.commit()
    connection.rollback()
    connection.autocommit = True
    return found


step("start-up", rows("SELECT version()"))
step(
    "listing",
    lambda: sorted(row.table_name for row in connection.cursor().tables(schema="public")),
    ["states", "visits"],
)
step("columns", lambda: [row.column_name for row in connection.cursor().columns(table="states")], ["state", "people"])
step("query", rows('SELECT * FROM "public"."states" ORDER BY 1'), STATES)
step("parameters: text", rows("SELECT people FROM states WHERE state = ?", "CA"), [(39,)])
step("parameters: number", rows("SELECT state FROM states WHERE people > ? ORDER BY 1", 20), [("CA",), ("TX",)])
step("prepared", again, [39, 19, 39])
step("release", rows("SELECT measure FROM dp_count('visits', ?)", 0.01), [("count",)])
step("keys", lambda: connection.cursor().primaryKeys("states").fetchall(), [])
step("types", lambda: len(connection.cursor().getTypeInfo().fetchall()) > 0, True)
step("transaction", in_transaction, [(3,)])
step("close", connection.close)
