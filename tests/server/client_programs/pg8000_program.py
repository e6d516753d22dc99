"""pg8000."""

import pg8000.dbapi
import pg8000.native
from steps import COLUMNS, LISTED, PLACE, STATES, step

connection = pg8000.dbapi.connect(**PLACE, ssl_context=False)
connection.autocommit = True


def rows(text, values=()):
    def fetched():
        cursor = connection.cursor()
        cursor.execute(text, values)
        return [tuple(row) for row in cursor.fetchall()]

    return fetched


def native():
    one = pg8000.native.Connection(**PLACE, ssl_context=False)
    found = one.run("SELECT people FROM states WHERE state = :state", state="CA")
    statement = one.prepare("SELECT state FROM states WHERE people > :least")
    found += statement.run(least=35)
    statement.close()
    one.close()
    return found


step("start-up", rows("SELECT version()"))
step("listing", rows(LISTED), [("states",), ("visits",)])
step("columns", rows(COLUMNS.format("%s"), ("states",)), [("state", "text"), ("people", "bigint")])
step("query", rows('SELECT * FROM "public"."states" ORDER BY 1'), STATES)
step("release", rows("SELECT measure FROM dp_count('visits', %s)", (0.01,)), [("count",)])
step("parameters: text", rows("SELECT people FROM states WHERE state = %s", ("CA",)), [(39,)])
step("parameters: number", rows("SELECT state FROM states WHERE people > %s ORDER BY 1", (20,)), [("CA",), ("TX",)])
step("parameters: list", rows("SELECT people FROM states WHERE state = ANY(%s)", (["CA"],)), [(39,)])
step("prepared", native, [[39], ["CA"]])
step("close", connection.close)
