"""Statements that mean the same to PostgreSQL and to us, or are refused here; over two public tables.

`states` (state text, people bigint) and `goods` (id integer, n bigint, x double precision, d numeric(10,2), t text,
b boolean, day date, at timestamp), which has NULLs in all columns but `id`.
"""

# ruff: noqa: E501 - many statements
from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from itertools import product

__all__ = ["GOODS", "STATES", "statements"]

STATES = [("CA", 39), ("NY", 19), ("TX", 29)]
_DAY, _AT = datetime.date, datetime.datetime
GOODS = [
    (1, 7, 2.5, Decimal("2.50"), "apple", True, _DAY(2020, 2, 29), _AT(2020, 2, 29, 12, 30)),
    (2, -7, -2.5, Decimal("-2.50"), "Bär", False, _DAY(1999, 12, 31), _AT(1999, 12, 31, 23, 59, 59, 500_000)),
    (3, None, None, None, None, None, None, None),
    (4, 0, 0.0, Decimal("0.00"), "", True, _DAY(2024, 1, 1), _AT(2024, 1, 1)),
    (5, 3, 1e20, Decimal("12345678.99"), "100%", False, _DAY(1970, 1, 1), _AT(1970, 1, 1, 0, 0, 1)),
    (6, 10**12, 0.1, Decimal("0.05"), "a_b\\c", None, _DAY(2021, 7, 15), _AT(2021, 7, 15, 8, 5, 3)),
    (7, 2, 3.5, Decimal("3.55"), " x ", True, _DAY(2023, 3, 12), _AT(2023, 3, 12, 2, 30)),
]
_INTEGERS, _DOUBLES, _NUMERICS = ("7", "-7", "2", "0"), ("2.5::float8", "-0.5::float8"), ("2.5", "-0.5", "3.50")
_NUMBERS = (*_INTEGERS[:3], *_DOUBLES[:1], *_NUMERICS[:1], "n", "x", "d", "id", "NULL::int")
_TEXTS = ("'apple'", "t", "'Straße'", "''", "NULL::text")
_OF_NUMBERS = ("abs", "sign", "floor", "ceil", "ceiling", "round", "trunc", "sqrt", "exp", "ln", "log", "cbrt", "degrees",
               "radians", "sin", "cos", "tan", "atan")  # fmt: skip
_OF_TEXTS = ("upper", "lower", "length", "char_length", "reverse", "trim", "btrim", "ltrim", "rtrim", "initcap", "md5",
             "ascii", "octet_length")  # fmt: skip
_WITH_TEXTS = (
    "substr({0}, -1)", "substr({0}, 2)", "substr({0}, 0, 3)", "substr({0}, -1, 4)", "substring({0} from 2 for 2)",
    "substring({0}, 2, 2)", "left({0}, 2)", "left({0}, -2)", "right({0}, 2)", "right({0}, -2)", "lpad({0}, 7, '*')",
    "rpad({0}, 3, 'xy')", "replace({0}, 'a', 'zz')", "strpos({0}, 'p')", "position('p' in {0})", "{0} || '!'",
    "split_part({0}, 'p', 1)", "split_part({0}, 'p', -1)", "split_part({0}, 'p', 9)", "concat({0}, 1, NULL, true)",
    "concat_ws('-', {0}, NULL, 'z')", "starts_with({0}, 'a')", "trim(both 'a' from {0})", "trim(leading 'a' from {0})",
    "translate({0}, 'ap', 'xy')", "repeat({0}, 2)", "{0} LIKE 'a%'", "{0} NOT LIKE '%p_e'", "{0} ILIKE 'A%'",
    "{0} LIKE '%\\%'", "{0} LIKE '%!%' ESCAPE '!'", "{0} SIMILAR TO '(a|S)%'", "{0} SIMILAR TO 'a'", "{0} ~ '^a'",
    "{0} ~* '^A'", "{0} !~ 'p+'", "regexp_replace({0}, 'p', 'q')", "regexp_replace({0}, 'p', 'q', 'g')",
    "{0} = 'apple'", "{0} < 'b'", "{0} IN ('apple', 'x')", "{0}::varchar(3)", "{0} IS NULL", "quote_literal({0})",
    "coalesce({0}, 'none')", "nullif({0}, '')", "greatest({0}, 'b')", "least({0}, 'b')", "{0} IS DISTINCT FROM 'apple'",
    "string_to_array({0}, 'p')", "format('%s', {0})", "to_char(5, '999')", "{0} LIKE ANY (ARRAY['a%', 'b%'])",
    "{0} BETWEEN 'a' AND 'b'", "{0}::int", "regexp_matches({0}, 'p')", "chr(65)", "{0} COLLATE \"C\" < 'a'",
)  # fmt: skip
_WITH_TIMES = (
    "extract(year from {0})", "extract(month from {0})", "extract(dow from {0})", "extract(doy from {0})",
    "extract(epoch from {0})", "extract(isodow from {0})", "extract(week from {0})", "extract(quarter from {0})",
    "date_part('year', {0})", "date_trunc('month', {0})", "date_trunc('week', {0})", "{0} + interval '1 day'",
    "{0} - interval '1 month'", "{0}::text", "{0}::date", "{0}::timestamp", "{0} > '2020-01-01'", "{0} - {0}",
    "to_char({0}, 'YYYY-MM-DD')", "age({0})", "{0} = '2020-02-29'", "{0}::date + 1", "{0}::date - 1",
    "{0}::date - '2000-01-01'::date", "extract(second from {0})", "extract(century from {0})", "{0} IS NULL",
)  # fmt: skip
_AGGREGATES = (
    "count(*)", "count({0})", "count(DISTINCT {0})", "sum({0})", "avg({0})", "min({0})", "max({0})", "stddev({0})",
    "stddev_pop({0})", "variance({0})", "var_pop({0})", "percentile_cont(0.5) WITHIN GROUP (ORDER BY {0})",
    "percentile_disc(0.5) WITHIN GROUP (ORDER BY {0})", "mode() WITHIN GROUP (ORDER BY {0})", "corr({0}, id)",
    "sum({0}) FILTER (WHERE id > 2)", "array_agg({0} ORDER BY id)", "string_agg({0}::text, ',' ORDER BY id)",
    "sum(DISTINCT {0})", "regr_slope({0}, id)", "median({0})", "first({0})", "bool_and({0} > 0)", "every({0} > 0)",
)  # fmt: skip
_WINDOWS = (
    "row_number() OVER (ORDER BY id)", "rank() OVER (ORDER BY b)", "dense_rank() OVER (ORDER BY n DESC)",
    "lag(t) OVER (ORDER BY id)", "lead(n, 2, 0) OVER (ORDER BY id)", "sum(n) OVER (ORDER BY id)", "ntile(3) OVER (ORDER BY id)",
    "first_value(n) OVER (ORDER BY n)", "last_value(n) OVER (ORDER BY id)", "count(*) OVER (PARTITION BY b)",
    "percent_rank() OVER (ORDER BY id)", "cume_dist() OVER (ORDER BY id)", "nth_value(n, 2) OVER (ORDER BY id)",
    "avg(n) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)", "max(x) OVER w", "rank() OVER (ORDER BY n)",
)  # fmt: skip
_CASTS = (
    "1.5::int", "2.5::int", "-2.5::int", "2.5::float8::int", "3.5::float8::int", "'7'::int", "' 7 '::int", "'7.5'::int",
    "'x'::int", "1::boolean", "0::boolean", "'yes'::boolean", "'t'::boolean", "true::int", "true::text", "false::text",
    "1e20::float8::text", "1.0::float8::text", "0.1::float8::text", "1e-7::float8::text", "1e15::float8::text",
    "1e16::float8::text", "123456789.123::float8::text", "'NaN'::float8", "'infinity'::float8", "'-inf'::float8::text",
    "1::float8::text", "1.50::text", "1.5::numeric(10,1)", "2.675::numeric(10,2)", "12345::numeric(4,1)",
    "'2020-01-01'::date", "'2020-13-01'::date", "'2020-1-1'::date", "'20200101'::date", "'Jan 1 2020'::date",
    "'2020-01-01 10:00'::timestamp", "'2020-01-01'::timestamp::text", "'10:00'::time", "'1 day'::interval",
    "'1 year 2 months'::interval", "'36 hours'::interval", "'1 day'::interval::text", "DATE '2020-02-30'", "ARRAY[1,2]",
    "ARRAY[1,2]::text", "'{1,2}'::int[]", "ARRAY['a', NULL]", "9999999999::int", "32768::smallint", "1::real / 3",
    "0.1::real::text", "0.1::real::float8", "2147483647 + 1", "9223372036854775807 + 1", "-(-5)", "- 5 % 3", "1/3",
    "1.0/3", "1/3.0::float8", "5.0 / 2.5", "10 / 4.0", "2 ^ 3", "2 ^ 3 ^ 2", "-2 ^ 2", "2 ** 3", "7 // 2", "@ -5",
    "|/ 25", "5 & 3", "5 | 3", "5 # 3", "~ 5", "1 << 3", "5 !", "1 = 1", "1 <> 1", "1 != 1", "NOT true", "true AND NULL",
    "NULL = NULL", "NULL IS NULL", "1 IS NOT NULL", "true IS TRUE", "NULL IS UNKNOWN", "1 IN (1, NULL)",
    "2 IN (1, NULL)", "2 NOT IN (1, NULL)", "1 BETWEEN 0 AND 2", "1 BETWEEN SYMMETRIC 2 AND 0", "(1, 2) = (1, 2)",
    "(1, 2) < (1, 3)", "ROW(1, 2)", "1 = ANY(ARRAY[1, 2])", "1 <> ALL(ARRAY[2, 3])", "1 = ANY('{1,2}'::int[])",
    "greatest(1, NULL, 3)", "least(NULL, 2)", "coalesce(NULL, 1)", "nullif(1, 1)", "CASE WHEN true THEN 1 END",
    "CASE 2 WHEN 1 THEN 'a' ELSE 'b' END", "E'a\\nb'", "E'it\\'s'", "E'\\x41'", "E'\\u0041'", "$$it's$$",
    "$a$x$$y$a$", "'a\\nb'", "'it''s'", "'a' 'b'", "U&'\\0041'", "B'101'", "X'1F'", "1_000", "0x1F", "1e3", ".5", "5.",
    "power(2, 3)", "power(2, 0.5)", "mod(7, -3)", "mod(-7, 3)", "mod(7.5, 2)", "div(7, 2)", "round(2.5)", "round(-2.5)",
    "round(2.567, 2)", "round(2.5::float8)", "round(1234, -2)", "trunc(2.567, 1)", "trunc(-2.5)", "log(2, 8)", "log(100)",
    "pi()", "exp(1)", "sqrt(2)", "sqrt(-1)", "ln(0)", "asin(2)", "atan2(1, 2)", "gcd(12, 18)", "factorial(5)",
    "width_bucket(5, 0, 10, 4)", "length('ä')", "ARRAY[1,2][1]", "(ARRAY[1,2,3])[2:3]", "array_length(ARRAY[1,2], 1)",
    "cardinality(ARRAY[1,2])", "unnest(ARRAY[1,2])", "generate_series(1, 3)", "1 AS Foo", '1 AS "Foo"', "1 foo",
    "'a' || 1", "'a' || NULL", "1 || 'a'", "'5' + 3", "'5' + '3'", "'a' < 'B'", "'a' = 'a '", "(SELECT 1)",
    "(SELECT max(people) FROM states)", "EXISTS (SELECT 1)", "EXISTS (SELECT FROM states)", "interval '1 day' * 2",
    "date '2020-01-31' + interval '1 month'", "timestamp '2020-01-01' - timestamp '2019-01-01'", "make_date(2020, 1, 1)",
    "isfinite(date '2020-01-01')", "to_date('2020-01-01', 'YYYY-MM-DD')", "to_timestamp(0)", "num_nulls(1, NULL)",
    "json_build_object('a', 1)", "'{\"a\": 1}'::json", "bool '1'", "int '5'", "float8 '1.5'", "cast(5 as text)", "null",
    "try_cast('x' as int)", "ifnull(1, 2)", "if(true, 1, 2)", "list_sum([1])", "[1, 2]", "{'a': 1}", "strlen('ä')",
    "fdiv(7, 2)", "even(3)", "7 / 2 * 2.0", "sum(1)", "count(*)", "max('a')", "avg(1)", "sum(NULL::int)", "min(NULL)",
)  # fmt: skip
_WHOLE = (
    "SELECT * FROM goods ORDER BY n", "SELECT id FROM goods ORDER BY n DESC", "SELECT id FROM goods ORDER BY n DESC NULLS LAST",
    "SELECT id FROM goods ORDER BY n NULLS FIRST", "SELECT id FROM goods ORDER BY b, id", "SELECT id FROM goods ORDER BY b DESC, id",
    "SELECT id FROM goods ORDER BY t COLLATE \"C\"", "SELECT id FROM goods ORDER BY x DESC, id LIMIT 3",
    "SELECT id FROM goods ORDER BY 1 DESC FETCH FIRST 2 ROWS ONLY", "SELECT id FROM goods ORDER BY id FETCH NEXT ROW ONLY",
    "SELECT id FROM goods ORDER BY id OFFSET 5", "SELECT id FROM goods ORDER BY id OFFSET 2 ROWS FETCH FIRST 2 ROWS ONLY",
    "SELECT id FROM goods ORDER BY id LIMIT ALL", "SELECT id FROM goods ORDER BY id LIMIT NULL", "SELECT id FROM goods ORDER BY id LIMIT 0",
    "SELECT id FROM goods ORDER BY id LIMIT 50%", "SELECT id FROM goods ORDER BY ALL", "SELECT b, count(*) FROM goods GROUP BY b ORDER BY b",
    "SELECT b, count(*) FROM goods GROUP BY 1 ORDER BY 2, 1", "SELECT b, sum(n) FROM goods GROUP BY b HAVING count(*) > 1 ORDER BY b",
    "SELECT b, count(*) FROM goods GROUP BY ALL ORDER BY 1", "SELECT b, count(*) FROM goods GROUP BY ROLLUP (b) ORDER BY b, 2",
    "SELECT b, grouping(b), count(*) FROM goods GROUP BY GROUPING SETS ((b), ()) ORDER BY 2, 1",
    "SELECT b, t IS NULL, count(*) FROM goods GROUP BY CUBE (b, t IS NULL) ORDER BY 1, 2, 3",
    "SELECT DISTINCT b FROM goods ORDER BY b", "SELECT DISTINCT ON (b) b, id FROM goods ORDER BY b, id DESC", "SELECT count(*) FROM goods WHERE n > 0",
    "SELECT id FROM goods WHERE NOT b ORDER BY id", "SELECT id FROM goods WHERE b IS NOT TRUE ORDER BY id", "SELECT id, n / 2 FROM goods ORDER BY id",
    "SELECT id, 7 / n FROM goods ORDER BY id", "SELECT id, n / 2.0 FROM goods ORDER BY id", "SELECT id, n % 2 FROM goods ORDER BY id",
    "SELECT id, x / 2 FROM goods ORDER BY id", "SELECT id, d / 3 FROM goods ORDER BY id", "SELECT id, d * 2 FROM goods ORDER BY id", "SELECT id, d + 0.001 FROM goods ORDER BY id",
    "SELECT id, d * d FROM goods ORDER BY id", "SELECT id, -x FROM goods ORDER BY id", "SELECT id, x::text, d::text, n::text, b::text FROM goods ORDER BY id",
    "SELECT id, x::int FROM goods WHERE x < 1000 ORDER BY id", "SELECT id, d::int FROM goods ORDER BY id", "SELECT id, d::bigint, d::float8 FROM goods ORDER BY id",
    "SELECT 1 UNION SELECT 1", "SELECT 1 UNION ALL SELECT 2 ORDER BY 1 DESC", "SELECT 1 AS a UNION SELECT NULL ORDER BY a", "SELECT 1 EXCEPT SELECT 2",
    "SELECT n FROM goods INTERSECT SELECT 7", "SELECT n FROM goods EXCEPT ALL SELECT 7 ORDER BY 1", "VALUES (1, 'a'), (2, 'b')", "SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v",
    "SELECT * FROM (VALUES (1, 'a')) AS v (x, y)", "SELECT column2 FROM (VALUES (1, 'a')) AS v", "WITH v AS (VALUES (3)) SELECT * FROM v", "TABLE states",
    "WITH s AS (SELECT people AS p FROM states) SELECT sum(p) FROM s", "WITH s (a, b) AS (SELECT * FROM states) SELECT b FROM s ORDER BY a", "WITH s AS MATERIALIZED (SELECT 1) SELECT * FROM s",
    'SELECT "state" FROM "public"."states" ORDER BY 1', "SELECT STATE, PEOPLE FROM STATES ORDER BY 1", 'SELECT "STATE" FROM states', "SELECT public.states.people FROM public.states ORDER BY 1",
    "SELECT s.state FROM states AS s ORDER BY s.people", "SELECT s.* FROM states s ORDER BY 2", "SELECT states FROM states ORDER BY 1", "SELECT s FROM states s ORDER BY people",
    "SELECT g.id, s.state FROM goods g LEFT JOIN states s ON s.people = g.n ORDER BY 1", "SELECT * FROM states JOIN states AS o USING (state) ORDER BY 1", "SELECT * FROM states NATURAL JOIN states AS o ORDER BY 1",
    "SELECT count(*) FROM states, goods", "SELECT count(*) FROM states CROSS JOIN goods", "SELECT * FROM states FULL JOIN (SELECT 1 AS one) AS o ON false ORDER BY 1", "SELECT * FROM states s, LATERAL (SELECT s.people + 1 AS more) AS l ORDER BY 2",
    "SELECT * FROM states WHERE people > (SELECT avg(people) FROM states) ORDER BY 1", "SELECT state FROM states s WHERE EXISTS (SELECT FROM goods WHERE n < s.people) ORDER BY 1", "SELECT state FROM states WHERE people IN (SELECT n FROM goods)",
    "SELECT state FROM states WHERE people NOT IN (SELECT n FROM goods)", "SELECT state FROM states WHERE people > ALL (SELECT n FROM goods WHERE n < 20) ORDER BY 1", "SELECT state FROM states WHERE people = ANY (SELECT 19)",
    "SELECT count(*), count(n), COUNT(DISTINCT b), Sum(n) FROM goods", "SELECT max(t), min(t) FROM goods", "SELECT sum(n), avg(n), max(d) FROM goods WHERE false", "SELECT string_agg(state, ',' ORDER BY state DESC) FROM states",
    "SELECT max(x) OVER w FROM goods WINDOW w AS (PARTITION BY b ORDER BY id) ORDER BY 1", "SELECT state, people FROM states ORDER BY people DESC LIMIT 2 OFFSET 1", "SELECT people + 1 FROM states ORDER BY 1", "SELECT -people FROM states ORDER BY 1",
    "SELECT people::float8 / 2 FROM states ORDER BY 1", "SELECT people AS people2, people FROM states ORDER BY 1", "SELECT upper(state) FROM states GROUP BY upper(state) ORDER BY 1", "SELECT upper(state) AS u FROM states GROUP BY u ORDER BY u",
    "SELECT state FROM states WHERE state > 'M' ORDER BY state", "SELECT 1 WHERE false", "SELECT", "SELECT FROM states", "SELECT x FROM generate_series(1, 3) AS x", "SELECT * FROM unnest(ARRAY[1, 2]) AS u", "SELECT * FROM unnest(ARRAY[1, 2]) WITH ORDINALITY",
    "SELECT a, b FROM (SELECT 1 a, 2 b) q", "SELECT * FROM (SELECT 1)", "SELECT q.a FROM (SELECT 1 AS a) AS q", "FROM states", "FROM states SELECT state", "SELECT state FROM states WHERE alias > 1", "SELECT people AS p FROM states WHERE p > 20",
    "SELECT people AS p, p + 1 FROM states", "SELECT id, rank() OVER (ORDER BY n DESC) FROM goods ORDER BY id", "SELECT id FROM goods QUALIFY row_number() OVER (ORDER BY id) = 1", "SELECT * EXCLUDE (state) FROM states", "SELECT * REPLACE (1 AS people) FROM states",
    "SELECT state FROM states s JOIN goods g ON true WHERE g.id = 1 ORDER BY 1 DESC", "SELECT id, CASE WHEN n > 0 THEN 'pos' WHEN n < 0 THEN 'neg' END FROM goods ORDER BY id", "SELECT id FROM goods ORDER BY day DESC", "SELECT id FROM goods ORDER BY at", "SELECT day, at FROM goods ORDER BY id",
    "SELECT avg(d), sum(d), avg(x), sum(x) FROM goods WHERE x < 1000", "SELECT sum(id), avg(id), stddev(id) FROM goods", "SELECT array_agg(state ORDER BY people) FROM states", "SELECT array_agg(n) FROM goods WHERE false", "SELECT bool_and(b), bool_or(b) FROM goods",
    "SELECT count(*) FILTER (WHERE b) FROM goods", "SELECT id FROM goods WHERE t = '' ORDER BY id", "SELECT id FROM goods WHERE day = '2020-02-29'", "SELECT id FROM goods WHERE at >= '2021-01-01' ORDER BY id", "SELECT id FROM goods WHERE n = '7'", "SELECT id FROM goods WHERE x = 2.5",
    "SELECT id FROM goods WHERE x = 'NaN'", "SELECT id FROM goods WHERE b = 'yes' ORDER BY id", "SELECT id FROM goods WHERE b = 1", "SELECT id FROM goods WHERE t = 1", "SELECT id FROM goods WHERE n = 'x'", "SELECT sum(t) FROM goods", "SELECT id + t FROM goods", "SELECT id FROM goods WHERE n",
)  # fmt: skip


_MORE = (
    "SELECT sum(n) / 2, sum(n) / count(*), count(*) / 2, max(n) / 2, avg(n) / 2 FROM goods", "SELECT sum(id) / 2 FROM goods",
    "SELECT s / 2 FROM (SELECT sum(n) AS s FROM goods) AS q", "SELECT sum(n) % 5 FROM goods", "SELECT b, sum(n) / count(n) FROM goods WHERE n < 100 GROUP BY b ORDER BY b",
    "SELECT round(avg(n)) FROM (VALUES (2), (3)) AS v (n)", "SELECT round(5 / 2.0)", "SELECT round(2.5e0)", "SELECT (5 / 2.0)::int", "SELECT round(avg(people)) FROM states",
    "SELECT (10 / 4.0)::text", "SELECT avg(people)::text FROM states", "SELECT (d * 2)::text, d || '' FROM goods ORDER BY id", "SELECT x || 'a', b || 'a', n || 'a' FROM goods WHERE x < 100 ORDER BY id",
    "SELECT 'a' || b FROM goods ORDER BY id", "SELECT concat(x, b, d, day, at) FROM goods WHERE x < 100 ORDER BY id", "SELECT concat_ws(',', b, x) FROM goods WHERE x < 100 ORDER BY id",
    "SELECT 1e308::float8 * 10", "SELECT 1e308::float8 + 1e308::float8", "SELECT power(0, -1)", "SELECT power(-8, 1.0 / 3)", "SELECT sqrt(x) FROM goods WHERE x >= 0 ORDER BY id",
    "SELECT upper(state) AS people, count(*) FROM states GROUP BY people ORDER BY 1", "SELECT -people AS people FROM states WHERE people > 20 ORDER BY people",
    "SELECT -people AS people FROM states ORDER BY people + 0", "SELECT -people AS people, people + 1 AS x FROM states ORDER BY 2", "SELECT 1 UNION SELECT '2' ORDER BY 1", "SELECT 1 AS a UNION ALL SELECT 2.5 ORDER BY a",
    "SELECT CASE WHEN id = 1 THEN 1 ELSE 2.5 END FROM goods ORDER BY id", "SELECT coalesce(n, 0.5) FROM goods ORDER BY id", "SELECT split_part('a.b', '.', 0)", "SELECT replace('abc', '', 'x')", "SELECT 'a' LIKE 'a\\'", "SELECT 'a\\' LIKE 'a\\\\'",
    "SELECT 'a' LIKE ''", "SELECT '' LIKE '%'", "SELECT 'a%' LIKE 'a\\%'", "SELECT E'a\nb' LIKE 'a_b'", "SELECT E'a\nb' ~ 'a.b'", "SELECT 'ä' ~ '\\w'", "SELECT 'abc' ~ 'b|c'", "SELECT regexp_replace('abc', 'a|ab', 'x')",
    "SELECT regexp_replace('abcabc', 'b', '[\\&]')", "SELECT regexp_replace('abcabc', '(b)(c)', '\\2\\1', 'g')", "SELECT 'ab' SIMILAR TO 'a|ab'", "SELECT 'a.b' SIMILAR TO 'a.b'", "SELECT 'axb' SIMILAR TO 'a.b'", "SELECT 'abc' SIMILAR TO '[a-c]+'",
    "SELECT '2020-01-01 10:00+02'::timestamp", "SELECT '20-01-01'::date", "SELECT '2020/01/02'::date", "SELECT '2020-01-01 10:00:00.1234567'::timestamp", "SELECT 'epoch'::date", "SELECT '2020-01-01T10:00'::timestamp", "SELECT '10:00:00'::time", "SELECT '25:00'::time",
    "SELECT '1.5 days'::interval", "SELECT '1-2'::interval", "SELECT interval '1 year' + interval '1 day'", "SELECT interval '90 minutes'", "SELECT date '2020-01-01' + 30", "SELECT date_trunc('day', timestamp '2020-01-01 10:00')", "SELECT date_trunc('hour', at) FROM goods ORDER BY id",
    "SELECT max(at), date_trunc('year', max(at)) FROM goods", "SELECT extract(second FROM max(at)) FROM goods", "SELECT to_char(at, 'YYYY-MM-DD HH24:MI:SS') FROM goods ORDER BY id", "SELECT to_char(at, 'Mon YYYY') FROM goods", "SELECT to_char(at, 'DD.MM.YYYY') FROM goods ORDER BY id",
    "SELECT '12'::varchar(1)", "SELECT 'abc'::char(5)", "SELECT 'abc'::char", "SELECT x::varchar(2) FROM goods WHERE x < 100 ORDER BY id", "SELECT '1_000'::int", "SELECT '0x1F'::int", "SELECT ''::float8", "SELECT '1e3'::float8", "SELECT '1e3'::int", "SELECT ' 1.5 '::numeric(5,2)",
    "SELECT t::float8 FROM goods WHERE id = 5", "SELECT corr(n, n) FROM goods WHERE id = 1", "SELECT corr(n, id) OVER (ORDER BY id) FROM goods ORDER BY id", "SELECT stddev(n) FROM goods WHERE id = 1", "SELECT 7 / 2 / 2.0", "SELECT (7 / 2.0) / 2", "SELECT n / 2 / 2 FROM goods ORDER BY id", "SELECT 2 * n / 3 FROM goods ORDER BY id",
    "SELECT NULL / 2", "SELECT 1 / NULL::int", "SELECT -7 / 2", "SELECT 7 / -2", "SELECT 5 / 2 * 2", "SELECT id / 2::float8 FROM goods ORDER BY id", "SELECT count(*) * 100 / sum(people) FROM states", "SELECT 100 * count(*) / 7 FROM goods", "SELECT avg(people) / 2 FROM states", "SELECT lower('ÄÖÜẞ'), upper('äöüß')",
    "SELECT E'\\' || 'a'", "SELECT E'a\\' -- ' , 'b'", "SELECT $x$ -- no comment $x$", "SELECT 'a -- b'", "SELECT /* a */ 1 /* b */", "SELECT 1 -- c", "SELECT 'x' AS \"a b\", 2 AS \"A\"", "SELECT state AS State FROM states ORDER BY State", "SELECT count(*) AS Count FROM states HAVING count(*) > 1",
    "SELECT people FROM states ORDER BY state NULLS FIRST", "SELECT t FROM goods ORDER BY t", "SELECT t FROM goods ORDER BY t DESC", "SELECT t FROM goods ORDER BY lower(t)", "SELECT DISTINCT t FROM goods ORDER BY t DESC NULLS LAST", "SELECT min(t), max(t) FROM goods", "SELECT t FROM goods WHERE t < 'b' ORDER BY t",
    "SELECT array_agg(n ORDER BY n DESC) FROM goods", "SELECT string_agg(t, ',' ORDER BY t DESC) FROM goods", "SELECT n, row_number() OVER (ORDER BY n DESC) FROM goods ORDER BY 2", "SELECT first_value(n) OVER (ORDER BY n DESC) FROM goods", "SELECT n FROM goods UNION SELECT people FROM states ORDER BY 1 DESC",
)  # fmt: skip


def statements() -> Iterator[str]:
    """Give each statement once."""
    found: dict[str, None] = {}
    for left, sign, right in product(
        ("7", "-7", "2.5", "2.5::float8", "n", "x", "d"), "+-*/%", ("2", "0", "2.5", "-3", "n", "0.0::float8")
    ):
        found[f"SELECT id, {left} {sign} {right} FROM goods WHERE id <> 4 ORDER BY id"] = None
    for name, number in product(_OF_NUMBERS, _NUMBERS):
        found[f"SELECT {name}({number}) FROM goods WHERE n > 0 ORDER BY id"] = None
    for name, text in product(_OF_TEXTS, _TEXTS):
        found[f"SELECT {name}({text}) FROM goods ORDER BY id"] = None
    for form, text in product(_WITH_TEXTS, _TEXTS[:4]):
        found[f"SELECT {form.format(text)} FROM goods ORDER BY id"] = None
    for form, time in product(_WITH_TIMES, ("day", "at")):
        found[f"SELECT {form.format(time)} FROM goods ORDER BY id"] = None
    for form, column in product(_AGGREGATES, ("n", "x", "d", "id", "t")):
        found[f"SELECT {form.format(column)} FROM goods WHERE id <> 5"] = None
        found[f"SELECT b, {form.format(column)} FROM goods WHERE id <> 5 GROUP BY b ORDER BY b"] = None
    for form in _WINDOWS:
        window = " WINDOW w AS (ORDER BY id)" if " OVER w" in form else ""
        found[f"SELECT id, {form} FROM goods{window} ORDER BY id"] = None
    found |= dict.fromkeys(f"SELECT {cast}" for cast in _CASTS)
    found |= dict.fromkeys((*_WHOLE, *_MORE))
    return iter(found)
