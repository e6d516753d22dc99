"""pgcli: its connection, its completion and its backslash commands."""

from pgcli.pgexecute import PGExecute
from pgspecial.main import PGSpecial
from steps import PLACE, STATES, step

executor = PGExecute("visits", PLACE["user"], PLACE["password"], PLACE["host"], PLACE["port"], None)


def said(text):
    found = next(executor.run(text, pgspecial=PGSpecial()))[1]
    return [] if found is None else list(found)


step("start-up", lambda: executor.server_version)
step("listing", lambda: sorted(one[1] for one in said(r"\dt")), ["states", "visits"])
step(
    "completion: tables",
    lambda: sorted(one[1] for one in executor.tables() if one[0] == "public"),
    ["states", "visits"],
)
step(
    "completion: columns",
    lambda: sorted(one[2] for one in executor.table_columns() if one[1] == "states"),
    ["people", "state"],
)
step("completion: functions", lambda: "dp_count" in {one.func_name for one in executor.functions()}, True)
step("completion: types", lambda: len(list(executor.datatypes())) >= 0, True)
step("completion: keys", lambda: list(executor.foreignkeys()), [])
step("completion: schemata", lambda: "public" in executor.schemata(), True)
step("completion: databases", executor.databases, ["visits"])
step("columns", lambda: [one[0] for one in said(r"\d states")], ["state", "people"])
step("query", lambda: [tuple(one) for one in said('SELECT * FROM "public"."states" ORDER BY 1')], STATES)
step("release", lambda: [tuple(one) for one in said("SELECT measure FROM dp_count('visits', 0.01)")], [("count",)])
