"""Statements that an analyst may well write. All are answered.

Each has the releases that it needs, in the order of the text, as (kind, epsilon), and its rows when the noise adds
nothing (None: rows are checked for shape only). Kinds are those of `KINDS`. The private table is called `visits`;
`states` (state, people) holds CA 39, NY 19, TX 29 and is public, and so is `rates` (state, rate), without TX.

Without noise: 6 rows, 3 pairs in conflict, 5 rows in a conflict, repair 2; by state CA 2, NY 3, TX 1.
"""

# ruff: noqa: E501 - one statement with its answer per line
from __future__ import annotations

from typing import NamedTuple

from private_rows import NIGHTLY

# What a release of each kind is, as a call of the session.
KINDS: dict[str, tuple[str, dict[str, object]]] = {
    "count": ("dp_count", {}),
    "CA": ("dp_count", {"where": "state = 'CA'"}),
    "NY": ("dp_count", {"where": "state = 'NY'"}),
    "old": ("dp_count", {"where": "age > 30"}),
    "by state": ("dp_count", {"by": "state", "keys": ["CA", "NY", "TX"]}),
    "repair": ("dp_inconsistency", {"measure": "repair"}),
    "greedy": ("dp_inconsistency", {"measure": "repair", "mechanism": "greedy"}),
    "repair NY": ("dp_inconsistency", {"measure": "repair", "where": "state = 'NY'"}),
    "repair by state": ("dp_inconsistency", {"measure": "repair", "by": "state", "keys": ["CA", "NY"]}),
    "pairs": ("dp_inconsistency", {"measure": "minimal_inconsistency"}),
    "problematic": ("dp_inconsistency", {"measure": "problematic"}),
    "all": ("dp_inconsistency", {"measure": "all"}),
    "nightly": ("check", {"suite": NIGHTLY}),
}


class Case(NamedTuple):
    sql: str
    releases: list[tuple[str, float]]
    rows: list[tuple[object, ...]] | None


ONE = [("count", 1.0)]
REPAIR = [("repair", 0.5)]

FORMS = [
    Case("SELECT * FROM dp_inconsistency('visits', measure := 'repair', epsilon := 0.5)", REPAIR, None),
    Case("SELECT * FROM dp_inconsistency('visits', measure := 'repair', epsilon := 0.5);", REPAIR, None),
    Case("SELECT (dp_inconsistency('visits', epsilon := 0.5)).value", REPAIR, [(2.0,)]),
    Case("SELECT dp_inconsistency('visits', epsilon := 0.5).value", REPAIR, [(2.0,)]),
    Case("FROM dp_inconsistency('visits', epsilon := 0.5)", REPAIR, None),
    Case("FROM dp_inconsistency('visits', epsilon := 0.5) SELECT value", REPAIR, [(2.0,)]),
    Case("FROM dp_count('visits', epsilon := 1) AS c SELECT c.value WHERE c.value > 1", ONE, [(6.0,)]),
    Case("CALL dp_count('visits', epsilon := 1)", ONE, None),
    Case("call dp_inconsistency('visits', epsilon := 0.5);", REPAIR, None),
    Case("TABLE states", [], [("CA", 39), ("NY", 19), ("TX", 29)]),
    Case("FROM states", [], [("CA", 39), ("NY", 19), ("TX", 29)]),
    Case("(SELECT value FROM dp_count('visits', epsilon := 1))", ONE, [(6.0,)]),
    Case("SELECT value FROM dp_count('visits', 0.25)", [("count", 0.25)], [(6.0,)]),
    Case("SELECT value FROM dp_count('visits', epsilon => 0.25)", [("count", 0.25)], [(6.0,)]),
    Case("SELECT value FROM dp_count('visits', epsilon = 0.25)", [("count", 0.25)], [(6.0,)]),
    Case("SELECT value FROM dp_count(table_name := 'visits', epsilon := '0.25')", [("count", 0.25)], [(6.0,)]),
    Case("SELECT value FROM dp_count(epsilon := 0.25, table_name := 'visits')", [("count", 0.25)], [(6.0,)]),
    Case("SELECT value FROM dp_inconsistency('visits', 'problematic', 2)", [("problematic", 2.0)], [(4.0,)]),
    Case("SELECT value FROM dp_inconsistency('VISITS', 'minimal_inconsistency', epsilon := 1)", [("pairs", 1.0)], [(2.0,)]),
    Case("select VALUE from DP_COUNT('visits', EPSILON := 1)", ONE, [(6.0,)]),
    Case('SELECT "value" FROM "dp_count"(\'visits\', 1)', ONE, [(6.0,)]),
    Case('SELECT r."value" FROM "DP_Count"(\'visits\', "epsilon" := 1) AS "r"', ONE, [(6.0,)]),
    Case("SELECT dp_count.value FROM dp_count('visits', epsilon := 1)", ONE, [(6.0,)]),
    Case("SELECT r.* FROM dp_count('visits', epsilon := 1) r", ONE, None),
    Case("SELECT kind FROM dp_count('visits', epsilon := 1) AS r(kind)", ONE, [("count",)]),
    Case("SELECT r.value AS v FROM (dp_count('visits', epsilon := 1)) r", ONE, [(6.0,)]),
    Case("SELECT dp_count('visits', epsilon := 1)", ONE, None),
    Case("SELECT dp_count('visits', epsilon := 1) AS r", ONE, None),
    Case("SELECT dp_count('visits', epsilon := 1)['value']", ONE, [(6.0,)]),
    Case("SELECT struct_extract(dp_count('visits', epsilon := 1), 'value')", ONE, [(6.0,)]),
    Case("SELECT n: dp_count('visits', epsilon := 1).value", ONE, [(6.0,)]),
    Case("SELECT value, FROM dp_count('visits', epsilon := 1)", ONE, [(6.0,)]),
    Case("SELECT value -- how many\nFROM dp_count('visits', epsilon := 1) -- rows", ONE, [(6.0,)]),
    Case("/* how many */ SELECT /* ; */ value FROM dp_count(/* which */ 'visits', epsilon := 1)", ONE, [(6.0,)]),
    Case("SELECT * EXCLUDE (guarantee, release_id) FROM dp_count('visits', epsilon := 1)", ONE, None),
    Case("SELECT * REPLACE (round(value, -1) AS value) FROM dp_count('visits', epsilon := 1)", ONE, None),
    Case("SELECT * RENAME (value AS n) FROM dp_count('visits', epsilon := 1)", ONE, None),
    Case("WITH c AS (SELECT value FROM dp_count('visits', epsilon := 1)) SELECT value FROM c", ONE, [(6.0,)]),
    Case("WITH c AS MATERIALIZED (FROM dp_count('visits', epsilon := 1)) SELECT c.value FROM c", ONE, [(6.0,)]),
    Case("WITH c(n) AS (SELECT value FROM dp_count('visits', epsilon := 1)) SELECT n + n FROM c", ONE, [(12.0,)]),
    Case("WITH a AS (SELECT 2 AS x), b AS (SELECT x * 3 AS y FROM a) SELECT y FROM b", [], [(6,)]),
    Case("SELECT (WITH c AS (FROM dp_count('visits', epsilon := 1)) SELECT value FROM c)", ONE, [(6.0,)]),
    Case("SELECT (SELECT (SELECT value FROM dp_count('visits', epsilon := 1)))", ONE, [(6.0,)]),
    Case("SELECT v FROM (SELECT value AS v FROM (FROM dp_count('visits', epsilon := 1)))", ONE, [(6.0,)]),
    Case("SELECT r.value, s.twice FROM dp_count('visits', epsilon := 1) r, LATERAL (SELECT r.value * 2 AS twice) s", ONE, [(6.0, 12.0)]),
    Case("SELECT 1", [], [(1,)]),
    Case("VALUES (1, 'a'), (2, 'b')", [], [(1, "a"), (2, "b")]),
    Case("SELECT x FROM (VALUES (1), (2)) t(x) ORDER BY x DESC", [], [(2,), (1,)]),
]  # fmt: skip

ARGUMENTS = [
    Case("SELECT value FROM dp_count('visits', where := 'state = ''CA''', epsilon := 1)", [("CA", 1.0)], [(2.0,)]),
    Case("SELECT value FROM dp_count('visits', \"where\" := 'state = ''CA''', epsilon := 1)", [("CA", 1.0)], [(2.0,)]),
    Case("SELECT value FROM dp_count('visits', where_ := 'state = ''CA''', epsilon := 1)", [("CA", 1.0)], [(2.0,)]),
    Case("SELECT value FROM dp_count('visits', where_clause => 'state = ''CA''', epsilon := 1)", [("CA", 1.0)], [(2.0,)]),
    Case("SELECT value FROM dp_count('visits', 1, 'age > 30')", [("old", 1.0)], [(4.0,)]),
    Case("SELECT \"where\", value FROM dp_count('visits', where := 'age > 30', epsilon := 1)", [("old", 1.0)], [("age > 30", 4.0)]),
    Case(
        "SELECT value FROM dp_count('visits', by_column := 'state', group_keys := ['CA', 'NY', 'TX'], epsilon := 1)",
        [("by state", 1.0)],
        [(2.0,), (3.0,), (1.0,)],
    ),
    Case("SELECT sum(value) FROM dp_count('visits', by := 'state', keys := ['CA', 'NY', 'TX'], epsilon := 1)", [("by state", 1.0)], [(6.0,)]),
    Case(
        "SELECT k, value FROM (SELECT unnest(['CA', 'NY', 'TX']) AS k) "
        "POSITIONAL JOIN dp_count('visits', by := 'state', keys := ['CA', 'NY', 'TX'], epsilon := 1)",
        [("by state", 1.0)],
        [("CA", 2.0), ("NY", 3.0), ("TX", 1.0)],
    ),
    Case(
        "SELECT \"where\" FROM dp_inconsistency('visits', by := 'state', keys := ['CA', 'NY'], epsilon := 0.5)",
        [("repair by state", 0.5)],
        [("state = 'CA'",), ("state = 'NY'",)],
    ),
    Case("SELECT value FROM dp_inconsistency('visits', where := 'state = ''NY''', epsilon := 1)", [("repair NY", 1.0)], None),
    Case("SELECT mechanism FROM dp_inconsistency('visits', mechanism := 'greedy', epsilon := 1)", [("greedy", 1.0)], [("greedy",)]),
    Case("SELECT confidence FROM dp_count('visits', confidence := 0.95, epsilon := 1)", ONE, [(0.95,)]),
    Case("SELECT epsilon FROM dp_count('visits', epsilon := 1e-1)", [("count", 0.1)], [(0.1,)]),
    Case("SELECT epsilon FROM dp_count('visits', epsilon := (.5))", [("count", 0.5)], [(0.5,)]),
    Case("SELECT value FROM dp_count('visits', where := NULL, run_id := NULL, epsilon := 1)", ONE, [(6.0,)]),
    Case("SELECT value FROM dp_inconsistency('visits', max_degree := 1_000, epsilon := 0.5)", REPAIR, None),
    Case("SELECT measure, value FROM dp_inconsistency('visits', 'all', 3) ORDER BY ALL", [("all", 3.0)], None),
    Case("SELECT count(*) FROM dp_inconsistency('visits', measure := 'all', epsilon := 3)", [("all", 3.0)], [(3,)]),
]  # fmt: skip

ONCE = [
    Case("SELECT dp_count('visits', epsilon := 1).value - dp_count('visits', epsilon := 1).value", ONE, [(0.0,)]),
    Case("SELECT a.value - b.value FROM dp_count('visits', epsilon := 1) a, dp_count('visits', epsilon := 1.0) b", ONE, [(0.0,)]),
    Case("SELECT a.value = b.value FROM dp_count('visits', 0.5) a JOIN dp_count('VISITS', '0.50') b ON true", [("count", 0.5)], [(True,)]),
    Case("SELECT dp_count('visits', epsilon := 1).value, dp_count('visits', epsilon := 1).lower <= dp_count('visits', epsilon := 1).upper", ONE, [(6.0, True)]),
    Case("SELECT r.lower <= r.value FROM (SELECT dp_count('visits', epsilon := 1) AS r)", ONE, [(True,)]),
    Case("WITH c AS (FROM dp_count('visits', epsilon := 1)) SELECT a.release_id = b.release_id FROM c a, c b", ONE, [(True,)]),
    Case("SELECT value FROM dp_count('visits', epsilon := 1) UNION ALL SELECT value FROM dp_count('visits', epsilon := 1)", ONE, [(6.0,), (6.0,)]),
    Case("SELECT state, dp_count('visits', epsilon := 1).value AS n FROM states", ONE, [("CA", 6.0), ("NY", 6.0), ("TX", 6.0)]),
    Case("SELECT state FROM states WHERE people > dp_count('visits', epsilon := 1).value * 4", ONE, [("CA",), ("TX",)]),
    Case("SELECT CASE WHEN true THEN 1 ELSE dp_count('visits', epsilon := 1).value END", ONE, [(1.0,)]),
    Case("SELECT dp_count('visits', epsilon := 1).value FROM states WHERE false", ONE, []),
    Case("SELECT 1 LIMIT dp_count('visits', epsilon := 1).value::INT", ONE, [(1,)]),
    Case("SELECT x FROM (VALUES (dp_count('visits', epsilon := 1).value)) t(x)", ONE, [(6.0,)]),
    Case("SELECT 5 IN (SELECT value - 1 FROM dp_count('visits', epsilon := 1))", ONE, [(True,)]),
    Case("SELECT EXISTS (FROM dp_count('visits', epsilon := 1) WHERE value > 100)", ONE, [(False,)]),
    Case("SELECT max(value) FROM (FROM dp_count('visits', epsilon := 1) UNION ALL BY NAME FROM dp_count('visits', epsilon := 1))", ONE, [(6.0,)]),
    Case("SELECT [dp_count('visits', epsilon := 1).value, dp_count('visits', epsilon := 1).value]", ONE, None),
    Case("SELECT {'n': dp_count('visits', epsilon := 1).value}.n", ONE, [(6.0,)]),
    Case("SELECT sum(dp_count('visits', epsilon := 1).value) FROM states", ONE, [(18.0,)]),
    Case("SELECT count(*) FROM states GROUP BY people > dp_count('visits', epsilon := 1).value * 4 ORDER BY 1", ONE, [(1,), (2,)]),
]  # fmt: skip

TWO = [("repair", 1.0), ("count", 1.0)]

SEVERAL = [
    Case("SELECT dp_inconsistency('visits', epsilon := 1).value / dp_count('visits', epsilon := 1).value", TWO, [(2 / 6,)]),
    Case("SELECT r.value / c.value FROM dp_inconsistency('visits', epsilon := 1) r, dp_count('visits', epsilon := 1) c", TWO, [(2 / 6,)]),
    Case("SELECT r.value / c.value FROM dp_inconsistency('visits', epsilon := 1) r CROSS JOIN dp_count('visits', epsilon := 1) c", TWO, [(2 / 6,)]),
    Case("SELECT value FROM dp_inconsistency('visits', epsilon := 1) UNION ALL SELECT value FROM dp_count('visits', epsilon := 1) ORDER BY 1", TWO, [(2.0,), (6.0,)]),
    Case("SELECT value FROM dp_inconsistency('visits', epsilon := 1) UNION SELECT value FROM dp_count('visits', epsilon := 1) ORDER BY value", TWO, [(2.0,), (6.0,)]),
    Case("SELECT value FROM dp_inconsistency('visits', epsilon := 1) EXCEPT SELECT value FROM dp_count('visits', epsilon := 1)", TWO, [(2.0,)]),
    Case("SELECT value FROM dp_inconsistency('visits', epsilon := 1) INTERSECT SELECT value FROM dp_count('visits', epsilon := 1)", TWO, []),
    Case(
        "WITH r AS (FROM dp_inconsistency('visits', epsilon := 1)), c AS (FROM dp_count('visits', epsilon := 1)) "
        "SELECT 100 * r.value / c.value AS percent FROM r JOIN c ON r.version = c.version",
        TWO,
        [(100 * 2 / 6,)],
    ),
    Case("SELECT a.value, b.value FROM dp_count('visits', 0.5) a, dp_count('visits', 0.25) b", [("count", 0.5), ("count", 0.25)], [(6.0, 6.0)]),
    Case(
        "SELECT s.state, r.value FROM states s JOIN "
        "(SELECT 'CA' AS state, * FROM dp_count('visits', where := 'state = ''CA''', epsilon := 1) UNION ALL "
        "SELECT 'NY', * FROM dp_count('visits', where := 'state = ''NY''', epsilon := 1)) r USING (state) ORDER BY s.state",
        [("CA", 1.0), ("NY", 1.0)],
        [("CA", 2.0), ("NY", 3.0)],
    ),
    Case("SELECT greatest(dp_inconsistency('visits', epsilon := 1).value, dp_count('visits', epsilon := 1).value)", TWO, [(6.0,)]),
    Case("SELECT measure, value FROM dp_inconsistency('visits', epsilon := 1) r FULL JOIN dp_count('visits', epsilon := 1) c USING (measure, value) ORDER BY value", TWO, [("repair", 2.0), ("count", 6.0)]),
    Case("SELECT r.value FROM dp_inconsistency('visits', epsilon := 1) r SEMI JOIN dp_count('visits', epsilon := 1) c ON r.value < c.value", TWO, [(2.0,)]),
    Case("SELECT r.value FROM dp_inconsistency('visits', epsilon := 1) r ANTI JOIN dp_count('visits', epsilon := 1) c ON r.value < c.value", TWO, []),
    Case("SELECT CASE WHEN dp_inconsistency('visits', epsilon := 1).value > dp_count('visits', epsilon := 1).value / 2 THEN 'bad' ELSE 'fair' END AS verdict", TWO, [("fair",)]),
]  # fmt: skip

PUBLIC = [
    Case("SELECT * FROM states WHERE people > 20 ORDER BY people", [], [("TX", 29), ("CA", 39)]),
    Case('SELECT "state" FROM "STATES" ORDER BY 1 LIMIT 1', [], [("CA",)]),
    Case("SELECT s.state, rate FROM states s LEFT JOIN rates r ON s.state = r.state ORDER BY ALL", [], [("CA", 0.5), ("NY", 0.25), ("TX", None)]),
    Case("SELECT state FROM states NATURAL JOIN rates ORDER BY state", [], [("CA",), ("NY",)]),
    Case("SELECT state FROM states WHERE state NOT IN (SELECT state FROM rates)", [], [("TX",)]),
    Case("SELECT sum(people), avg(people), min(people), max(people), count(*) FROM states", [], [(87, 29.0, 19, 39, 3)]),
    Case("SELECT people > 20 AS big, count(*) FROM states GROUP BY big HAVING count(*) > 1", [], [(True, 2)]),
    Case("SELECT people > 20 AS big, sum(people) FROM states GROUP BY ALL ORDER BY 1", [], [(False, 19), (True, 68)]),
    Case("SELECT state FROM states QUALIFY row_number() OVER (ORDER BY people DESC) = 1", [], [("CA",)]),
    Case("SELECT state, rank() OVER w FROM states WINDOW w AS (ORDER BY people) ORDER BY 2", [], [("NY", 1), ("TX", 2), ("CA", 3)]),
    Case("SELECT sum(people) OVER (ORDER BY state ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM states ORDER BY 1", [], [(39,), (48,), (58,)]),
    Case("SELECT lag(state) OVER (ORDER BY state) FROM states ORDER BY state", [], [(None,), ("CA",), ("NY",)]),
    Case("SELECT DISTINCT people > 20 FROM states ORDER BY 1", [], [(False,), (True,)]),
    Case("SELECT DISTINCT ON (people > 20) state FROM states ORDER BY people > 20, state", [], [("NY",), ("CA",)]),
    Case("SELECT count(*) FILTER (WHERE people > 20), count(DISTINCT state) FROM states", [], [(2, 3)]),
    Case("SELECT string_agg(state, '-' ORDER BY state) FROM states", [], [("CA-NY-TX",)]),
    Case("SELECT median(people), quantile_cont(people, 0.5), stddev_pop(people) > 0 FROM states", [], [(29.0, 29.0, True)]),
    Case("SELECT arg_max(state, people), bool_and(people > 1), any_value(1) FROM states", [], [("CA", True, 1)]),
    Case("SELECT state FROM states ORDER BY people DESC LIMIT 1 OFFSET 1", [], [("TX",)]),
    Case("SELECT state, sum(people) FROM states GROUP BY ROLLUP (state) ORDER BY 2 DESC LIMIT 1", [], [(None, 87)]),
    Case("SELECT a.state FROM states a JOIN states b ON a.people > b.people GROUP BY a.state ORDER BY count(*) DESC", [], [("CA",), ("TX",)]),
    Case("SELECT list(state ORDER BY state)[1] FROM states", [], [("CA",)]),
    Case("WITH states AS (SELECT 'own' AS state) SELECT state FROM states", [], [("own",)]),
]  # fmt: skip

EXPRESSIONS = [
    Case("SELECT value + 1, value - 1, value * 2, value / 4, value // 4, value % 4, -value FROM dp_count('visits', epsilon := 1)", ONE, [(7.0, 5.0, 12.0, 1.5, 1.5, 2.0, -6.0)]),
    Case("SELECT value ** 2, value ^ 2, pow(value, 2), sqrt(value * 6) FROM dp_count('visits', epsilon := 1)", ONE, [(36.0, 36.0, 36.0, 6.0)]),
    Case("SELECT round(value / 4, 1), floor(value / 4), ceil(value / 4), abs(-value), sign(value) FROM dp_count('visits', epsilon := 1)", ONE, [(1.5, 1.0, 2.0, 6.0, 1)]),
    Case("SELECT coalesce(theta, -1), nullif(value, 6), ifnull(\"where\", 'all') FROM dp_count('visits', epsilon := 1)", ONE, [(-1, None, "all")]),
    Case("SELECT least(value, 3), greatest(value, 9), if(value > 3, 'a', 'b') FROM dp_count('visits', epsilon := 1)", ONE, [(3.0, 9.0, "a")]),
    Case("SELECT CASE measure WHEN 'count' THEN 1 ELSE 2 END FROM dp_count('visits', epsilon := 1)", ONE, [(1,)]),
    Case("SELECT value BETWEEN 1 AND 10, value IN (6, 7), value <> 6, NOT value > 6 FROM dp_count('visits', epsilon := 1)", ONE, [(True, True, False, True)]),
    Case("SELECT \"where\" IS NULL, upper IS NOT NULL, theta IS NOT DISTINCT FROM NULL FROM dp_count('visits', epsilon := 1)", ONE, [(True, True, True)]),
    Case("SELECT measure LIKE 'c%', measure ILIKE 'C%', measure NOT LIKE 'x' FROM dp_count('visits', epsilon := 1)", ONE, [(True, True, True)]),
    Case("SELECT measure || ': ' || value::INT FROM dp_count('visits', epsilon := 1)", ONE, [("count: 6",)]),
    Case("SELECT concat(measure, '=', value::INT), format('{} {}', measure, value::INT) FROM dp_count('visits', epsilon := 1)", ONE, [("count=6", "count 6")]),
    Case("SELECT upper(measure), length(measure), substring(measure, 1, 2), replace(measure, 'c', 'm') FROM dp_count('visits', epsilon := 1)", ONE, [("COUNT", 5, "co", "mount")]),
    Case("SELECT trim('  a '), left('abc', 2), right('abc', 2), lpad('7', 3, '0'), contains('abc', 'b')", [], [("a", "ab", "bc", "007", True)]),
    Case("SELECT CAST(value AS INTEGER), value::VARCHAR, TRY_CAST(measure AS DOUBLE) FROM dp_count('visits', epsilon := 1)", ONE, [(6, "6.0", None)]),
    Case("SELECT value::DECIMAL(10, 2) > 5, value::BIGINT FROM dp_count('visits', epsilon := 1)", ONE, [(True, 6)]),
    Case("SELECT (upper - lower) / 2 > 0 AS wide FROM dp_count('visits', epsilon := 1)", ONE, [(True,)]),
    Case("SELECT ln(exp(1)), log10(100), pi() > 3, isnan('nan'::DOUBLE)", [], [(1.0, 2.0, True, True)]),
    Case("SELECT DATE '2020-01-31' + INTERVAL 1 DAY > DATE '2020-01-31', year(DATE '2020-01-31')", [], [(True, 2020)]),
    Case("SELECT 'it''s', 'a;b', '--', '/* */', \"x;y\" FROM (SELECT 1 AS \"x;y\")", [], [("it's", "a;b", "--", "/* */", 1)]),
    Case("SELECT value > 3 AND measure = 'count' OR false FROM dp_count('visits', epsilon := 1)", ONE, [(True,)]),
]  # fmt: skip

FREE = [
    Case("EXPLAIN SELECT value FROM dp_count('visits', epsilon := 1)", [], None),
    Case("explain from dp_inconsistency('visits', 'all', 3)", [], None),
    Case("DESCRIBE SELECT value, measure FROM dp_count('visits', epsilon := 1)", [], None),
    Case("DESCRIBE FROM states", [], None),
]

NIGHT = [("nightly", 0.25)]  # the first share of epsilon 1: what a run costs that finds nothing
PASSED = [("zip_city", "pass"), ("zip_city", "pass"), ("row_count", "pass")]

CHECKS = [
    Case("FROM dp_check('nightly')", NIGHT, None),
    Case("SELECT name, verdict FROM dp_check('nightly')", NIGHT, PASSED),
    Case("SELECT name, verdict FROM dp_check(suite := 'nightly', epsilon := 0.5)", [("nightly", 0.125)], PASSED),
    Case("select NAME, c.\"verdict\" from DP_CHECK('nightly', 1, confidence := 0.99, certain := 'fail') as c", NIGHT, PASSED),
    Case("CALL dp_check('nightly', epsilon => '1')", NIGHT, None),
    Case("SELECT key, verdict FROM dp_check('nightly', \"where\" => 'age > 1', by => 'state', keys => ['CA']) WHERE severity = 'warn'", NIGHT, [("CA", "pass")]),
    Case("SELECT DISTINCT verdict FROM dp_check('nightly', date => '2026-11-21', where_clause => 'state <> ''CA'' ')", NIGHT, [("pass",)]),
    Case("SELECT dp_check.level, epsilon, epsilon_reserved, key FROM dp_check('nightly', label := 'of monday') LIMIT 1", NIGHT, [(23, 0.25, 1.0, None)]),
    Case("SELECT severity, \"limit\", direction, unit, statistic FROM dp_check('nightly') ORDER BY ALL LIMIT 1", NIGHT, [("fail", 20.0, "above", "rows", "violations")]),
    Case("SELECT count(*) FILTER (WHERE verdict = 'pass') FROM dp_check('nightly')", NIGHT, [(3,)]),
    Case("SELECT count(*) FROM dp_check('nightly') a JOIN dp_check('nightly', epsilon := 1.0) b USING (name, severity)", NIGHT, [(3,)]),
    Case("WITH c AS (FROM dp_check('nightly')) SELECT upper > 20, (SELECT count(*) FROM c) FROM c WHERE name = 'zip_city' AND severity = 'fail'", NIGHT, [(True, 3)]),
    Case("SELECT n.value, c.verdict FROM dp_check('nightly') c, dp_count('visits', epsilon := 1) n LIMIT 1", [*NIGHT, *ONE], [(6.0, "pass")]),
    Case("SELECT DISTINCT verdict FROM dp_check('nightly') UNION ALL SELECT state FROM states WHERE people > 30", NIGHT, [("pass",), ("CA",)]),
    Case("EXPLAIN FROM dp_check('nightly')", [], None),
    Case("DESCRIBE FROM dp_check('nightly')", [], None),
]  # fmt: skip

CASES: list[Case] = [*FORMS, *ARGUMENTS, *ONCE, *SEVERAL, *PUBLIC, *EXPRESSIONS, *FREE, *CHECKS]
