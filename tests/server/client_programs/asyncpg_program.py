"""asyncpg and its pool."""

import asyncio
import datetime

import asyncpg
from steps import COLUMNS, LISTED, PLACE, STATES, step

loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
made = asyncpg.create_pool(**PLACE, ssl=False, min_size=1, max_size=2)
pool = loop.run_until_complete(made.__aenter__())


def asked(work):
    async def inside():
        async with pool.acquire() as connection:
            return await work(connection)

    return lambda: loop.run_until_complete(inside())


def rows(text, *values):
    async def fetched(connection):
        return [tuple(row) for row in await connection.fetch(text, *values)]

    return asked(fetched)


async def cursor(connection):
    async with connection.transaction():
        one = await connection.cursor("SELECT people FROM states ORDER BY 1")
        first = await one.fetch(1)
        await one.forward(1)
        return first[0][0], (await one.fetchrow())[0]


async def many(connection):
    await connection.executemany("SELECT people FROM states WHERE state = $1", [("CA",), ("NY",)])


async def prefetched(connection):
    async with connection.transaction():
        return [row[0] async for row in connection.cursor("SELECT people FROM states ORDER BY 1", prefetch=1)]


step("start-up", asked(lambda connection: connection.fetchval("SELECT version()")))
step("listing", rows(LISTED), [("states",), ("visits",)])
step("columns", rows(COLUMNS.format("$1"), "states"), [("state", "text"), ("people", "bigint")])
step("query", rows('SELECT * FROM "public"."states" ORDER BY 1'), STATES)
step("release", rows("SELECT measure FROM dp_count('visits', $1)", 0.01), [("count",)])
for name, text, values, right in (
    ("text", "SELECT people FROM states WHERE state = $1", ["CA"], [(39,)]),
    ("number", "SELECT state FROM states WHERE people > $1 ORDER BY 1", [20], [("CA",), ("TX",)]),
    ("any of texts", "SELECT people FROM states WHERE state = ANY($1) ORDER BY 1", [["CA", "NY"]], [(19,), (39,)]),
    ("any of numbers", "SELECT state FROM states WHERE people = ANY($1) ORDER BY 1", [[39, 19]], [("CA",), ("NY",)]),
    ("int[]", "SELECT state FROM states WHERE people = ANY($1::int[])", [[39]], [("CA",)]),
    ("between", "SELECT state FROM states WHERE people BETWEEN $1 AND $2", [20, 30], [("TX",)]),
    ("date", "SELECT $1::date", [datetime.date(2020, 1, 1)], [(datetime.date(2020, 1, 1),)]),
    ("timestamp", "SELECT $1::timestamp", [datetime.datetime(2020, 1, 1)], [(datetime.datetime(2020, 1, 1),)]),
    ("unnest", "SELECT * FROM unnest($1::text[]) AS t(x)", [["a", "b"]], [("a",), ("b",)]),
    ("boolean", "SELECT $1::bool", [True], [(True,)]),
    ("null", "SELECT state FROM states WHERE people = $1", [None], []),
    ("keys", "SELECT value IS NULL FROM dp_count('visits', 0.01, by := 'state', keys := $1)", [["CA"]], [(False,)]),
):
    step(f"parameters: {name}", rows(text, *values), right)
step("cursor", asked(cursor), (19, 39))
step("cursor: prefetch", asked(prefetched), [19, 29, 39])
step("many", asked(many))
step(
    "types", asked(lambda connection: connection.set_type_codec("json", encoder=str, decoder=str, schema="pg_catalog"))
)
step("reset", asked(lambda connection: connection.reset()))


async def together():
    async def one():
        async with pool.acquire() as connection:
            return await connection.fetchval("SELECT count(*) FROM states")

    return await asyncio.gather(*(one() for _ in range(6)))


step("pool", lambda: loop.run_until_complete(together()), [3] * 6)
step("close", lambda: loop.run_until_complete(pool.close()))
