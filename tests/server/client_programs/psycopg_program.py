"""psycopg 3, or psycopg 2 where that is what is installed; and the pool of psycopg 2."""

from steps import COLUMNS, LISTED, PLACE, STATES, step

place = {**PLACE, "dbname": PLACE["database"]}
del place["database"]
try:
    import psycopg

    connect = psycopg.connect
except ImportError:
    psycopg = None
    import psycopg2
    import psycopg2.pool

    connect = psycopg2.connect
connection = connect(**place)
connection.autocommit = True


def rows(text, values=None):
    def fetched():
        cursor = connection.cursor()
        cursor.execute(text, values)
        return [tuple(row) for row in cursor.fetchall()]

    return fetched


def named(**options):
    def fetched():
        connection.autocommit = False
        try:
            with connection.cursor("portion", **options) as cursor:
                cursor.execute("SELECT people FROM states WHERE people > %s ORDER BY 1", (0,))
                found = [cursor.fetchone()[0]]
                if options.get("scrollable"):
                    cursor.scroll(0, mode="absolute")
                    found = [cursor.fetchone()[0]]
                return found + [row[0] for row in cursor.fetchmany(5)]
        finally:
            connection.rollback()
            connection.autocommit = True

    return fetched


def prepared():
    for _ in range(7):
        connection.execute("SELECT people FROM states WHERE state = %s", ("CA",)).fetchall()
    connection.prepare_threshold = None
    connection.execute("DEALLOCATE ALL")


def piped():
    with connection.pipeline():
        found = [connection.execute("SELECT people FROM states WHERE state = %s", (one,)) for one in ("CA", "NY")]
    return [one.fetchone()[0] for one in found]


def pooled():
    pool = psycopg2.pool.SimpleConnectionPool(1, 2, **place)
    one = pool.getconn()
    pool.putconn(one)
    two = pool.getconn()
    with two.cursor() as cursor:
        cursor.execute("SELECT 1")
        found = cursor.fetchone()[0]
    pool.closeall()
    return found


def many():
    connection.cursor().executemany("SELECT people FROM states WHERE state = %s", [("CA",), ("NY",)])


step("start-up", rows("SELECT version()"))
step("listing", rows(LISTED), [("states",), ("visits",)])
step("columns", rows(COLUMNS.format("%s"), ("states",)), [("state", "text"), ("people", "bigint")])
step("query", rows('SELECT * FROM "public"."states" ORDER BY 1'), STATES)
step("release", rows("SELECT measure FROM dp_count('visits', %s)", (0.01,)), [("count",)])
step("parameters: text", rows("SELECT people FROM states WHERE state = %s", ("CA",)), [(39,)])
step("parameters: number", rows("SELECT state FROM states WHERE people > %s ORDER BY 1", (20,)), [("CA",), ("TX",)])
step("parameters: list", rows("SELECT people FROM states WHERE state = ANY(%s)", (["CA"],)), [(39,)])
step("parameters: null", rows("SELECT %s::text", (None,)), [(None,)])
step("cursor", named(), [19, 29, 39])
step("cursor: scroll", named(scrollable=True), [19, 29, 39])
step("cursor: hold", named(withhold=True), [19, 29, 39])
step("many", many)
if psycopg is not None:
    step("prepared", prepared)
    step("pipeline", piped, [39, 19])
else:
    step("pool", pooled, 1)
step("close", connection.close)
