"""Constraints with conditions and terms: the conflicts are those of a plain SQL self-join, written from the text."""

from __future__ import annotations

import random
from collections.abc import Iterator

import duckdb
import pytest
from case_share import fifth, of_all
from sqlglot import exp

from dpdb.constraints import parse_constraint
from dpdb.database.database import Database
from dpdb.engine.slice import LocalSlice
from dpdb.engine.sql.joins import degree_terms
from dpdb.engine.table import LocalTable
from dpdb.engine.table_spec import TableSpec
from dpdb.errors import ConstraintTypeError, ParameterError
from dpdb.owner import exact_measures
from dpdb.schema import Column, TableSchema, TypeOrigin
from dpdb.sources.source import Source

COLUMNS = {"a": "INTEGER", "b": "BIGINT", "x": "DOUBLE", "p": "DECIMAL(8,2)", "s": "VARCHAR", "u": "VARCHAR",
           "d": "DATE",
           "ts": "TIMESTAMP", "ok": "BOOLEAN"}  # fmt: skip
VALUES = {
    "INTEGER": ["-3", "0", "1", "2", "5", "60", "61"],
    "BIGINT": ["-60", "0", "1", "2", "7", "100"],
    "DOUBLE": ["0.5", "-1", "2", "60.5", "1e30"],
    "DECIMAL(8,2)": ["0.50", "2", "-1.25", "60.01"],
    "VARCHAR": ["'a'", "'A'", "' a'", "''", "'b%'", "'it''s'", "'Ab '"],
    "DATE": ["'2020-01-01'", "'2020-01-31'", "'2020-02-29'", "'1999-12-31'"],
    "TIMESTAMP": ["'2020-01-01 00:00:00'", "'2020-01-01 01:00:00.5'", "'2020-02-29 12:00:00'"],
    "BOOLEAN": ["true", "false"],
}


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with Database(threads=1) as opened:
        yield opened


class Rules:
    """Random constraints: the text that dpdb reads, and what a row or pair must satisfy in SQL to violate it."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def term(self, row: str, kind: str | None = None) -> tuple[str, str]:
        """A term over one row, and its kind: number, text, DATE or TIMESTAMP."""
        rng = self.rng
        kind = kind or rng.choice(["number", "number", "number", "text", "text", "DATE", "TIMESTAMP"])
        if kind == "number":
            column = f"{row}.{rng.choice('abxp')}"
            other = f"{row}.{rng.choice('abxp')}"
            shapes = ["{}", "{}", "{} + 60", "{} - 1", "{} * 2", "-{}", "abs({})", "abs({} - 2)", "{} % 7",
                      "({} + 1) * 2",
                      "coalesce({}, 2)", "TRY_CAST({} AS DECIMAL(12,1))", f"year({row}.d)",
                      f"month({row}.ts)", f"day({row}.d)",
                      "{} + " + other, "{} - " + other, f"length({row}.s)", "{} / 4", "{} + 0.5"]  # fmt: skip
            return rng.choice(shapes).format(column), kind
        if kind == "text":
            shapes = ["{}", "lower({})", "upper({})", "trim({})", "lower(trim({}))", "coalesce({}, 'a')"]
            if rng.random() < 0.1:
                return f"CAST({row}.a AS VARCHAR)", kind
            return rng.choice(shapes).format(f"{row}.{rng.choice('su')}"), kind
        if kind == "DATE":
            return rng.choice(
                [
                    "{}",
                    "{} + 30",
                    "{} - 1",
                    f"CAST({row}.ts AS DATE)",
                    f"coalesce({{}}, CAST({row}.ts AS DATE))",
                    "make_date(year({}), month({}), 28)",
                ]
            ).format(*[f"{row}.d"] * 2), kind
        return rng.choice(["{}", "{} + INTERVAL '1 hour'", "{} - INTERVAL '1 month'"]).format(f"{row}.ts"), kind

    def literal(self, kind: str) -> str:
        chosen = {"number": "BIGINT", "text": "VARCHAR"}.get(kind, kind)
        written = self.rng.choice([*VALUES[chosen], *(VALUES["DECIMAL(8,2)"] if kind == "number" else [])])
        return f"{kind} {written}" if kind in ("DATE", "TIMESTAMP") else written

    def operator(self) -> str:
        return self.rng.choice(["=", "=", "<>", "<", "<=", ">", ">="])

    def alone(self, row: str, depth: int = 0) -> str:
        """A condition over one row."""
        rng, x = self.rng, self.rng.random()
        if depth < 2 and x < 0.15:
            word = rng.choice([" OR ", " AND "])
            return f"({self.alone(row, depth + 1)}{word}{self.alone(row, depth + 1)})"
        if depth < 2 and x < 0.22:
            return f"NOT ({self.alone(row, depth + 1)})"
        term, kind = self.term(row)
        no = rng.choice(["", "NOT "])
        if x < 0.4:
            return f"{term} IS {no}NULL"
        if x < 0.55:
            return f"{term} {no}IN ({', '.join(self.literal(kind) for _ in range(rng.randint(1, 3)))})"
        if x < 0.65:
            return f"{term} {no}BETWEEN {self.literal(kind)} AND {self.literal(kind)}"
        if kind == "text" and x < 0.8:
            pattern = rng.choice(["a%", "%b%", "_", "%"])
            return f"{term} {no}LIKE '{pattern}'"
        return f"{term} {self.operator()} {self.literal(kind)}"

    def between(self) -> str:
        """A comparison of two rows."""
        rng = self.rng
        left, kind = self.term("t1")
        right, _ = self.term("t2", kind)
        if rng.random() < 0.25 and kind in ("number", "DATE"):
            column = rng.choice("ab") if kind == "number" else "d"
            return f"t1.{column} - t2.{column} {self.operator()} {rng.choice(['0', '1', '30', '60'])}"
        return f"{left} {self.operator()} {right}" if rng.random() < 0.5 else f"{right} {self.operator()} {left}"

    def rule(self) -> tuple[str, str]:
        rng, x = self.rng, self.rng.random()
        if x < 0.15:
            condition = self.alone("t1")
            return f"CHECK ({condition})", f"NOT ({condition})"
        if x < 0.3:
            condition, key = self.alone("t1"), rng.choice("asd")
            held = f"({condition}) AND ({condition.replace('t1.', 't2.')})"
            if rng.random() < 0.5:
                return f"UNIQUE({key}) WHERE {condition}", f"t1.{key} = t2.{key} AND {held}"
            return f"{condition}: {key} -> b", f"t1.{key} = t2.{key} AND t1.b <> t2.b AND {held}"
        if x < 0.4:
            parts = [self.alone("t1") for _ in range(rng.randint(1, 2))]
        else:
            parts = [self.between(), *(self.between() for _ in range(rng.randint(0, 2)))]
            parts += [self.alone(rng.choice(["t1", "t2"])) for _ in range(rng.randint(0, 1))]
        return f"not({rng.choice([' & ', ' and ']).join(parts)})", " AND ".join(parts)


def table(database: Database, rng: random.Random) -> Source:
    rows = [[rng.choice([*VALUES[kind], "NULL"]) for kind in COLUMNS.values()] for _ in range(9)]
    cells = ", ".join(f"({place}, {', '.join(row)})" for place, row in enumerate(rows))
    casts = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, kind in COLUMNS.items())
    database.execute(
        f"CREATE OR REPLACE TABLE raw AS SELECT place, {casts} FROM (VALUES {cells}) v(place, {', '.join(COLUMNS)})"
    )
    return Source("test", TableSchema(tuple(Column(*item) for item in COLUMNS.items())), exp.to_table("raw"))


def conflicts(database: Database, part: LocalSlice) -> tuple[int, list[tuple[int, int]]]:
    """Rows in conflict with themselves, and the edges as pairs of places in the table."""
    if not part.pairwise:
        return part.self_conflicts, []
    assert part.edges.node_count == part.node_count  # materializes the edges
    found = database.rows(
        f"SELECT least(a.source_row, b.source_row), greatest(a.source_row, b.source_row) "
        f"FROM {part.table('conflict_edge').sql('duckdb')} e JOIN {part.tuples.sql('duckdb')} a ON a.id = e.u "
        f"JOIN {part.tuples.sql('duckdb')} b ON b.id = e.v ORDER BY ALL"
    )
    return part.self_conflicts, found


def check(database: Database, seed: str, rules: int) -> tuple[int, int]:
    """Compare so many constraints over one table; how many there were, and how many pairs in conflict."""
    rng = random.Random(seed)
    source, pairs = table(database, rng), 0
    drawn = {parse_constraint(text)[0]: (text, sql) for text, sql in (Rules(rng).rule() for _ in range(rules))}
    opened = LocalTable(database, source, TableSpec(None, list(drawn)))
    for position, bound in enumerate(opened.constraints):
        text, sql = next(found for dc, found in drawn.items() if str(dc) == str(bound.constraint))
        part = opened.slice(position=position, keep_source_row=True)
        try:
            alone, edges = conflicts(database, part)
            bound_of_degrees = part.degree_bound() if part.pairwise else 0
        finally:
            part.close()
        if bound.constraint.is_single_tuple:
            row = sql.replace("t2.", "t1.")
            assert (alone, edges) == (database.value(f"SELECT count(*) FROM raw t1 WHERE {row}"), []), text
        else:
            expected = database.rows(
                "SELECT DISTINCT least(t1.place, t2.place), greatest(t1.place, t2.place) FROM raw t1, raw t2 "
                f"WHERE t1.place <> t2.place AND ({sql}) ORDER BY ALL"
            )
            assert edges == expected, text
            ends = [end for pair in edges for end in pair]
            assert max(map(ends.count, ends), default=0) <= bound_of_degrees, text
        pairs += len(edges) + alone
    return len(opened.constraints), pairs


@pytest.mark.heavy(family="alone")
def test_random_conditions_and_terms_mean_what_sql_says(database: Database) -> None:
    found = [check(database, f"conditions {number}", 25) for number in fifth(range(10))]
    assert sum(rules for rules, _ in found) > of_all(200)
    assert sum(pairs for _, pairs in found) > of_all(330)


@pytest.mark.slow
def test_two_thousand_constraints_mean_what_sql_says(database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    found = [check(database, f"long {number}", 27) for number in range(80)]
    with capsys.disabled():
        print(f"\n{sum(rules for rules, _ in found)} constraints, {sum(pairs for _, pairs in found)} conflicts")
    assert sum(rules for rules, _ in found) >= 2_000


# -- computed columns ----------------------------------------------------------------------------------------------


def opened(database: Database, rows: str, constraints: list[str], **columns: str) -> LocalTable:
    database.execute(f"CREATE OR REPLACE TABLE raw AS SELECT * FROM (VALUES {rows}) AS v({', '.join(columns)})")
    schema = TableSchema(tuple(Column(*item) for item in columns.items()))
    return LocalTable(database, Source("test", schema, exp.to_table("raw")), TableSpec(None, constraints))


def degree_bound(table: LocalTable) -> int:
    part = table.slice()
    try:
        return part.degree_bound()
    finally:
        part.close()


def test_groups_are_those_of_the_computed_column(database: Database) -> None:
    rule = ["not(lower(t1.s) = lower(t2.s) & t1.b != t2.b)"]
    two = opened(database, "('a', 1), ('A', 2), ('b', 3)", rule, s="VARCHAR", b="INTEGER")
    assert degree_terms(two.constraints).terms[0].columns == ("lower(s)",)  # type: ignore[union-attr]
    assert degree_bound(two) == 1
    assert (
        degree_bound(opened(database, "('a', 1), ('A', 2), ('aA', 3), ('A', 9)", rule, s="VARCHAR", b="INTEGER")) == 2
    )


def test_names_differ_where_the_database_would_take_them_for_one(database: Database) -> None:
    rules = ["not(t1.s = 'x' OR t1.s IS NULL)", "not(t1.s = 'X' OR t1.s IS NULL)", "not(t1.b + 1 > t2.b + 2)"]
    found = opened(
        database, "('x', 1, 0), ('X', 5, 0), ('y', 9, 0)", rules, s="VARCHAR", b="INTEGER", **{'"B + 1"': "INTEGER"}
    )
    counts = []
    for position in range(3):
        part = found.slice(position=position)
        counts.append((part.self_conflicts, part.edges.node_count))
        part.close()
    assert counts == [(1, 2), (1, 2), (0, 3)]
    assert [str(dc.constraint) for dc in found.constraints] == [str(parse_constraint(rule)[0]) for rule in rules]


def test_the_order_of_constraints_does_not_change_the_order_of_columns(database: Database) -> None:
    rules = ["not(t1.b + 2 > t2.b)", "NOT NULL (s)", "not(lower(t1.s) = lower(t2.s))"]
    for given in (rules, rules[::-1]):
        part = opened(database, "('x', 1)", given, s="VARCHAR", b="INTEGER").slice()
        assert part.columns == ("b", "b + 2", "lower(s)", "s IS NULL")
        part.close()


def test_a_column_may_be_called_as_the_places_of_rows_are(database: Database) -> None:
    table = opened(database, "(1), (5)", ["CHECK (source_row + 1 > 3)"], source_row="INTEGER")
    part = table.slice(keep_source_row=True)
    assert part.self_conflicts == 1
    part.close()


def test_collations_of_the_source_do_not_decide(database: Database) -> None:
    database.execute("CREATE OR REPLACE TABLE raw (s VARCHAR COLLATE NOCASE)")
    database.execute("INSERT INTO raw VALUES ('a'), ('A')")
    source = Source("test", TableSchema((Column("s", "VARCHAR"),)), exp.to_table("raw"))
    part = LocalTable(database, source, TableSpec(None, ["CHECK (s IN ('A', 'B'))"])).slice()
    assert part.self_conflicts == 1
    part.close()


def test_times_beyond_the_calendar_violate_nothing(database: Database) -> None:
    last = "TIMESTAMP '294247-01-10 04:00:54'"
    rules = ["not(t1.ts + INTERVAL '1 hour' > t2.z)", "not(t1.ts - INTERVAL '300000 years' < t2.z)"]
    table = opened(
        database,
        f"({last}, TIMESTAMPTZ '2020-01-01'), (NULL, NULL)",
        rules,
        ts="TIMESTAMP",
        z="TIMESTAMP WITH TIME ZONE",
    )
    part = table.slice()
    assert len(list(part.edges.batches())) == 0
    part.close()


REFUSED = [
    ("CHECK (b + 1 > 'x')", "cannot compare 'b \\+ 1'"),
    ("CHECK (s + 1 > 2)", "'s \\+ 1' is not defined for VARCHAR and HUGEINT"),
    ("CHECK (lower(b) = 'x')", "lower needs text; 'b' is INTEGER"),
    ("CHECK (max(b) > 1)", "is not allowed; allowed are"),
    ("CHECK (b > random())", "is not allowed"),
    ("CHECK (b + random() > 1)", "is not allowed"),
    ("not(now() > t1.b & t1.b + 1 > 2)", "is not allowed"),
    ("CHECK (frobnicate(b) = 1)", "is not allowed"),
    ("CHECK (sum(b) OR b IS NULL)", "is not allowed|expected a condition"),
    ("CHECK (b IN (NULL))", "a part of it is NULL whatever the row holds"),
    ("not(t1.b + 1 > 2 & (t1.b IS NULL OR TRUE))", "true whatever the row holds"),
    ("CHECK (t + 1 > 2)", "nobody has given it a type.*--schema 't DOUBLE'"),
    ("not(lower(t1.t) < lower(t2.t))", "nobody has given it a type.*--schema 't DOUBLE'"),
    ("not(lower(t1.t) = 5)", "nobody has given it a type"),
    ("CHECK (b" + " + 1" * 60 + " > 1)", "nested more than 40 deep"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "problem"), REFUSED)
def test_what_has_no_meaning_is_refused_in_one_line(database: Database, text: str, problem: str) -> None:
    columns = (Column("b", "INTEGER"), Column("s", "VARCHAR"), Column("t", "VARCHAR", TypeOrigin.TEXT_CELLS))
    source = Source("test", TableSchema(columns), exp.to_table("nowhere"))
    with pytest.raises((ConstraintTypeError, ParameterError), match=problem) as caught:
        LocalTable(database, source, TableSpec(None, text))
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(("CHECK (", "not("))


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["TIME", "TIMESTAMP", "TIMESTAMPTZ", "DATE"])
def test_literals_of_times_mean_in_constraints_what_they_mean_in_where(kind: str) -> None:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(
            f"CREATE TABLE t AS SELECT (TIMESTAMP '2020-01-01 00:00:00' + INTERVAL (n) HOUR)::{kind} AS v, n AS b "
            "FROM range(48) AS r(n)"
        )
        text = {"TIME": "10:00:00", "DATE": "2020-01-02"}.get(kind, "2020-01-01 10:00:00")
        text += "+00" if kind == "TIMESTAMPTZ" else ""
        literal = f"{kind} '{text}'"
        expected = connection.execute(f"SELECT count(*) FROM t WHERE v < {literal}").fetchone()
        for rule in (
            f"not(t1.v < {literal})",
            f"CHECK (v >= {literal})",
            f"v >= {literal}",
            f"not(t1.b + 0 >= 0 & t1.v < {literal})",
        ):
            found = exact_measures(connection, rule, table="t", non_private=True, measures=["drastic"])
            assert (found.self_conflicts,) == expected
        kept = exact_measures(connection, "UNIQUE(b)", table="t", where=f"v < {literal}", non_private=True)
        assert (kept.rows,) == expected
