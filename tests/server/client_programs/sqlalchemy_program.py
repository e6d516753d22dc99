"""SQLAlchemy with three drivers, and pandas by it."""

import asyncio
import sys

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import create_async_engine
from steps import PLACE, STATES, step


def address(driver):
    return sa.URL.create(
        f"postgresql+{driver}", PLACE["user"], PLACE["password"], PLACE["host"], PLACE["port"], "visits"
    )


for driver in ("psycopg", "pg8000", "psycopg2"):
    engine = sa.create_engine(address(driver), pool_size=2, pool_pre_ping=True)
    states = sa.Table(
        "states", sa.MetaData(), sa.Column("state", sa.Text), sa.Column("people", sa.BigInteger), schema="public"
    )

    def rows(statement, values=None, engine=engine, **options):
        def fetched():
            with engine.connect().execution_options(**options) as connection:
                return [tuple(row) for row in connection.execute(statement, values or {})]

        return fetched

    found = sa.inspect(engine)
    step(f"{driver}: start-up", rows(sa.text("SELECT version()")))
    step(f"{driver}: listing", lambda found=found: sorted(found.get_table_names()), ["states", "visits"])
    step(
        f"{driver}: columns",
        lambda found=found: [one["name"] for one in found.get_columns("states")],
        ["state", "people"],
    )
    step(f"{driver}: query", rows(sa.select(states).order_by(states.c.state)), STATES)
    step(f"{driver}: parameters", rows(sa.select(states.c.state).where(states.c.people > 35)), [("CA",)])
    step(f"{driver}: in", rows(sa.select(states.c.people).where(states.c.state.in_(["CA", "XX"]))), [(39,)])
    step(f"{driver}: count", rows(sa.select(sa.func.count()).select_from(states)), [(3,)])
    step(f"{driver}: release", rows(sa.text("SELECT measure FROM dp_count('visits', :e)"), {"e": 0.01}), [("count",)])
    step(
        f"{driver}: stream",
        rows(sa.select(states.c.people).order_by(states.c.people), stream_results=True),
        [(19,), (29,), (39,)],
    )
    step(
        f"{driver}: pool",
        lambda engine=engine: [rows(sa.text("SELECT 1"), engine=engine)() for _ in range(4)],
        [[(1,)]] * 4,
    )
    engine.dispose()


async def streamed():
    engine = create_async_engine(address("asyncpg"), connect_args={"ssl": False})
    async with engine.connect() as connection:
        found = [tuple(row) async for row in await connection.stream(sa.text("SELECT people FROM states ORDER BY 1"))]
    await engine.dispose()
    return found


step("asyncpg: stream", lambda: asyncio.run(streamed()), [(19,), (29,), (39,)])
sys.stdout.flush()
