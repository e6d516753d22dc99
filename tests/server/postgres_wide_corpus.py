"""More statements for PostgreSQL and us over the tables of `postgres_corpus`: every form of a kind with every value.

Those of `answers` read a release, which PostgreSQL has as a table of the same rows.
"""

# ruff: noqa: E501 - many statements
from __future__ import annotations

from collections.abc import Iterator
from itertools import product

__all__ = ["answers", "wide_statements"]

_DATES = ("date '2020-02-29'", "date '1999-12-31'", "day")
_MOMENTS = ("timestamp '2020-02-29 12:30:15'", "timestamp '1999-12-31 23:59:59.5'", "at")
_SPANS = (
    "interval '1 day'",
    "interval '1 month'",
    "interval '-2 days'",
    "interval '1 year 2 months'",
    "interval '90 minutes'",
    "interval '36:15:30'",
    "interval '1 week'",
)
_FIELDS = (
    "century",
    "day",
    "decade",
    "dow",
    "doy",
    "epoch",
    "hour",
    "isodow",
    "isoyear",
    "microseconds",
    "millennium",
    "milliseconds",
    "minute",
    "month",
    "quarter",
    "second",
    "week",
    "year",
    "julian",
)
_UNITS = (
    "microseconds",
    "milliseconds",
    "second",
    "minute",
    "hour",
    "day",
    "week",
    "month",
    "quarter",
    "year",
    "decade",
    "century",
    "millennium",
)
_OF_MOMENTS = (
    "{0} + interval '1 day'", "{0} - interval '1 month'", "{0} + interval '1 month' * 2", "{0} = {0}", "{0} < '2021-01-01'",
    "{0} BETWEEN '2000-01-01' AND '2021-01-01'", "{0} IN ('2020-02-29', '2024-01-01')", "coalesce({0}, '2000-01-01')", "greatest({0}, '2000-01-01')",
    "nullif({0}, '2020-02-29')", "{0}::text", "{0} || ''", "concat({0}, '.')", "{0}::date", "{0}::timestamp", "{0}::time", "{0}::timestamptz", "{0} IS NULL",
    "CASE WHEN {0} > '2000-01-01' THEN 'new' ELSE 'old' END", "length({0}::text)", "to_char({0}, 'YYYY')", "age({0}, '2000-01-01')", "{0} - '2000-01-01'",
    "('2000-01-01', interval '1 day') OVERLAPS ({0}, interval '1 day')", "isfinite({0})", "{0} AT TIME ZONE 'UTC'", "year({0})", "month({0})", "day({0})",
    "date_diff('day', {0}, {0})", "datediff('day', {0}, {0})", "last_day({0})", "dayname({0})", "strftime({0}, '%Y')", "date_part('dow', {0})",
    "date_part('epoch', {0})", "date_bin('15 minutes', {0}, timestamp '2001-01-01')", "make_timestamp(2020, 1, 1, 0, 0, 0)", "{0} + 1", "1 + {0}", "{0} - 1", "{0} + '1 day'",
    "{0} + time '10:00'", "extract(year from {0}) + 1", "extract(year from {0})::text", "extract(epoch from {0})::int", "round(extract(epoch from {0}) / 3600)",
    "extract(month from {0}) || '-' || extract(day from {0})", "date_trunc('month', {0})::date", "date_trunc('month', {0}) + interval '1 month' - interval '1 day'", "to_char({0}, 'YYYY-MM')",
)  # fmt: skip
_OF_SPANS = (
    "{0}", "{0} * 2", "{0} / 2", "- {0}", "{0} + interval '1 hour'", "{0} = interval '24 hours'", "{0} < interval '1 month'", "{0}::text", "extract(day from {0})",
    "extract(hour from {0})", "extract(month from {0})", "extract(epoch from {0})", "date '2020-01-31' + {0}", "timestamp '2020-01-31 10:00' - {0}", "date '2020-03-31' - {0}", "justify_hours({0})",
    "time '10:00' + {0}", "make_interval(days => 3)", "{0} * 1.5", "greatest({0}, interval '1 hour')",
)  # fmt: skip
_CHAR_FORMS = (
    "YYYY-MM-DD", "YYYY/MM/DD HH24:MI:SS", "DD.MM.YYYY", "MM", "HH12:MI AM", "HH:MI", "Mon", "Month", "MONTH", "Day", "Dy", "D", "DDD", "WW", "IW", "IYYY", "Q", "CC", "J", "YY", "Y,YYY", "MS", "US",
    "FMMonth", "FMDD", "YYYY\"y\"MM", "\"at\" HH24", "TZ", "AD", "month", "YYYYMMDD", "YYYY-MM-DD\"T\"HH24:MI:SS", "SSSS", "DDth", "HH24MISS", "", "YYYY-MM-DD HH24:MI:SS.MS", "yyyy-mm-dd", "MI", "x",
)  # fmt: skip
_NUMBER_FORMS = ("999", "000", "9.99", "999,999", "FM999", "S999", "999.9", "0.00", "L99", "99PR", "EEEE", "RN")
_VALUES = (
    ("int", ("7", "-7", "0", "2147483647", "NULL")),
    ("bigint", ("7", "-9223372036854775808", "1000000000000")),
    ("smallint", ("7", "-32768")),
    ("numeric", ("2.5", "-2.5", "0.05", "12345678.99", "3.50")),
    ("numeric(10,2)", ("2.555", "-2.545", "0.005")),
    ("float8", ("2.5", "-2.5", "0.1", "1e20", "1e-7", "'NaN'", "'Infinity'", "3.5")),
    ("real", ("2.5", "0.1", "16777217")),
    ("boolean", ("true", "false", "'on'", "'off'", "'1'", "'y'", "'T'", "NULL")),
    ("text", ("'7'", "' 7 '", "'2.5'", "'true'", "'2020-02-29'", "''", "'x'", "'1e3'", "'10:30:00'", "'1 day'", "'2020-02-29 10:30:00'", "'Infinity'", "'-0'")),
    ("date", ("'2020-02-29'", "'1999-12-31'", "'0044-03-15'")),
    ("timestamp", ("'2020-02-29 12:30:15.25'", "'1999-12-31'")),
    ("time", ("'12:30:15'", "'00:00'")),
    ("interval", ("'1 day'", "'2 hours'", "'1 month'")),
)  # fmt: skip
_INTO = (
    "int",
    "bigint",
    "smallint",
    "numeric",
    "numeric(6,1)",
    "float8",
    "real",
    "boolean",
    "text",
    "varchar",
    "varchar(3)",
    "date",
    "timestamp",
    "time",
    "interval",
    "timestamptz",
    "decimal",
    "double precision",
    "char(3)",
)
_TEXTS = ("'apple'", "'Hello, World'", "'ÄÖü'", "''", "' a b '", "'a.b.c'", "t", "NULL::text")
_OF_TEXTS = (
    "upper({0})", "lower({0})", "initcap({0})", "length({0})", "char_length({0})", "character_length({0})", "octet_length({0})", "bit_length({0})", "reverse({0})", "ascii({0})", "md5({0})", "trim({0})",
    "trim(both from {0})", "trim(trailing 'e' from {0})", "ltrim({0}, 'a')", "rtrim({0}, 'e')", "btrim({0}, 'ae')", "left({0}, 0)", "left({0}, 3)", "left({0}, -1)", "right({0}, 3)", "right({0}, -1)", "right({0}, 0)", "substr({0}, 3)",
    "substr({0}, 2, 0)", "substr({0}, 1, 100)", "substr({0}, -2, 4)", "substring({0} from 3)", "substring({0} for 3)", "substring({0} from '[a-c]+')", "substring({0} from 2 for 3)", "overlay({0} placing 'xx' from 2 for 1)", "position('l' in {0})",
    "position('' in {0})", "strpos({0}, 'b')", "strpos({0}, '')", "replace({0}, 'l', 'L')", "replace({0}, 'a', '')", "translate({0}, 'abc', 'xy')", "lpad({0}, 8)", "lpad({0}, 3, 'ab')", "lpad({0}, 0, 'a')", "rpad({0}, 8, 'ab')", "rpad({0}, -1, 'a')",
    "lpad({0}, 8, '')", "repeat({0}, 0)", "repeat({0}, -1)", "repeat({0}, 3)", "split_part({0}, '.', 2)", "split_part({0}, '', 1)", "split_part({0}, 'l', -1)", "concat({0}, {0})", "concat_ws(',', {0}, {0})", "concat_ws(NULL, {0}, 'a')", "concat()",
    "{0} || {0}", "{0} || 1", "{0} || 1.50", "{0} || true", "{0} || NULL", "1 || {0}", "starts_with({0}, 'a')", "starts_with({0}, '')", "{0} ^@ 'a'", "ends_with({0}, 'e')", "contains({0}, 'a')", "quote_literal({0})", "quote_ident({0})", "quote_nullable({0})",
    "format('%s-%s', {0}, 1)", "regexp_replace({0}, '[aeiou]', '*', 'g')", "regexp_replace({0}, 'l+', 'L')", "regexp_match({0}, 'l')", "regexp_count({0}, 'l')", "regexp_like({0}, 'l')", "regexp_split_to_array({0}, ',')", "string_to_array({0}, '.')",
    "unnest(string_to_array({0}, '.'))", "array_to_string(string_to_array({0}, '.'), '-')", "(string_to_array({0}, '.'))[1]", "to_hex(255)", "chr(8364)", "{0} < 'b'", "{0} > 'B'", "{0} >= ''", "{0} = 'apple '", "{0} <> 'apple'", "{0} IS DISTINCT FROM NULL",
    "coalesce({0}, '-')", "nullif({0}, 'apple')", "greatest({0}, 'b', NULL)", "least({0}, 'b', NULL)", "{0} IN ('apple', NULL)", "{0} NOT IN ('apple', 'x')", "{0} NOT IN ('apple', NULL)", "{0} BETWEEN 'a' AND 'i'", "{0} NOT BETWEEN 'a' AND 'i'",
    "{0} LIKE '_p%'", "{0} LIKE '%.%'", "{0} NOT ILIKE '%A%'", "{0} ~ '^[a-z]+$'", "{0} ~* 'APPLE'", "{0} !~* 'x'", "{0} SIMILAR TO '%(p|l)%'", "{0} NOT SIMILAR TO 'a%'", "{0} ~~ 'a%'", "{0} !~~ 'a%'", "{0} ~~* 'A%'", "max({0})", "count(DISTINCT {0})",
    "cast({0} as varchar(2))", "{0}::varchar", "{0}::char(2)", "{0}::name", "{0}::bytea", "length({0} || 'é')", "upper(left({0}, 1)) || lower(substr({0}, 2))", "instr({0}, 'p')", "levenshtein({0}, 'a')", "to_number('12', '99')", "normalize({0})",
    "CASE {0} WHEN 'apple' THEN 1 WHEN '' THEN 2 ELSE 3 END", "hash({0})", "string_split({0}, '.')", "list_value({0})", "{0}[1]", "{0} COLLATE \"C\"", "parse_ident('a.b')", "unicode({0})", "array_length(string_to_array({0}, '.'), 1)",
)  # fmt: skip
_PATTERNS = (
    "a%",
    "%c",
    "_",
    "a_b%",
    "100\\%",
    "100!%",
    "a\\_b%",
    "%\\\\%",
    "%\\\\c",
    "",
    "%",
    "__%",
    "a!_b%",
    "[a]%",
    "A%",
    "%ä%",
    "B__",
    "!!",
    "a#%",
    "\\a%",
    "%!",
)
_ESCAPES = ("", " ESCAPE '!'", " ESCAPE '#'", " ESCAPE ''", " ESCAPE '\\'", " ESCAPE '!!'")
_NUMERIC = (
    "{0} + 1", "{0} * 1.0", "{0} / 3", "{0} % 2", "- {0}", "+ {0}", "abs({0})", "{0}::text", "{0} || ''", "round({0})", "round({0}, 1)", "round({0}::numeric, 2)", "trunc({0})", "trunc({0}::numeric, 1)", "ceil({0})", "floor({0})", "sign({0})", "{0} ^ 2", "sqrt(abs({0}))",
    "power({0}, 2)", "{0} = 2.5", "{0} <> 0", "{0} > '2'", "{0} IN (7, 2.5)", "{0} BETWEEN 0 AND 10", "greatest({0}, 0)", "least({0}, 0.5)", "coalesce({0}, 0)", "nullif({0}, 0)", "mod({0}::numeric, 2)", "div({0}::numeric, 2)", "{0}::int", "{0}::numeric(12,1)", "{0}::float8", "{0} / 2.0",
    "{0} / 2::float8", "1 / nullif({0}, 0)", "{0}::bigint / 2", "100 * {0} / 7", "{0} * {0}", "{0} - {0}", "exp({0} / 1e21)", "ln(abs({0}) + 1)", "log(abs({0}) + 1)", "log(2, abs({0}::numeric) + 1)", "cbrt({0})", "degrees({0})", "sin({0})", "atan2({0}, 1)", "asind(0.5)", "sinh(0.5)", "random() < 2", "width_bucket({0}, 0, 10, 5)",
    "scale({0}::numeric)", "trim_scale({0}::numeric)", "round({0}, 0)", "round({0}::int, -1)", "trunc({0}::int, -1)", "to_char({0}, '999D99')", "({0} > 0)::int", "({0} > 0)::text", "CASE WHEN {0} > 0 THEN {0} ELSE 0 END", "CASE WHEN {0} > 0 THEN 1 ELSE 0.5 END", "bit_count({0})", "{0} & 1", "{0} << 1", "{0} // 2", "@ {0}", "|/ abs({0})", "ceiling({0} / 2)", "isnan({0})", "{0} IS NAN", "even({0})", "fmod({0}, 2)", "lcm({0}::int, 4)", "gcd({0}::int, 4)", "factorial(3)", "gamma(3)", "pi() * {0}", "setseed(0.1)", "numeric '1.10' + {0}",
)  # fmt: skip
_NUMBERS = ("n", "x", "d", "id", "7", "-2.5", "2.5::float8", "0.1::real", "3::smallint", "NULL::numeric")
_MIXED = (
    "1",
    "2.5",
    "2.5::float8",
    "'a'",
    "'7'",
    "NULL",
    "true",
    "date '2020-01-01'",
    "timestamp '2020-01-01 10:00'",
    "n",
    "x",
    "d",
    "t",
    "interval '1 day'",
)
_SETS = (
    "b",
    "b, n > 2",
    "ROLLUP (b)",
    "ROLLUP (b, n > 2)",
    "CUBE (b, n > 2)",
    "GROUPING SETS ((b), ())",
    "GROUPING SETS ((b), (n > 2), ())",
    "GROUPING SETS ((b, n > 2), (b))",
    "()",
    "1",
    "b, ROLLUP (n > 2)",
    "DISTINCT b",
)
_OF_SETS = (
    "count(*)",
    "sum(n)",
    "avg(d)",
    "max(t)",
    "count(DISTINCT id)",
    "grouping(b)",
    "sum(n) FILTER (WHERE id < 5)",
    "string_agg(t, '|' ORDER BY id)",
    "array_agg(id ORDER BY id)",
    "sum(sum(n)) OVER ()",
    "count(*) * 2",
    "min(day)",
    "max(at)",
    "bool_or(b)",
)
_WINDOW_CALLS = (
    "sum(n)",
    "count(*)",
    "count(n)",
    "avg(n)",
    "min(n)",
    "max(d)",
    "first_value(n)",
    "last_value(n)",
    "nth_value(n, 2)",
    "lag(n)",
    "lag(n, 2)",
    "lag(n, 1, 0)",
    "lead(t)",
    "row_number()",
    "rank()",
    "dense_rank()",
    "percent_rank()",
    "cume_dist()",
    "ntile(3)",
    "string_agg(t, ',')",
    "array_agg(id)",
    "sum(n) FILTER (WHERE n > 0)",
    "bool_and(b)",
    "stddev(n)",
)
_OVERS = (
    "()",
    "(ORDER BY id)",
    "(PARTITION BY b ORDER BY id)",
    "(ORDER BY b)",
    "(ORDER BY b DESC, id)",
    "(ORDER BY n NULLS FIRST)",
    "(ORDER BY n DESC)",
    "(ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)",
    "(ORDER BY id ROWS UNBOUNDED PRECEDING)",
    "(ORDER BY id RANGE BETWEEN 2 PRECEDING AND CURRENT ROW)",
    "(ORDER BY id GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING)",
    "(ORDER BY b, id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)",
    "(ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING)",
    "(ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW)",
)
_BY_ROW = ("first_value", "last_value", "nth_value", "lag", "lead", "row_number", "ntile", "string_agg", "array_agg")
_KEYS = ("n", "b", "t", "x", "day")
_WAYS = ("", " DESC", " NULLS FIRST", " DESC NULLS LAST")
_ARRAYS = (
    "ARRAY[1, 2, 3]",
    "ARRAY[1, NULL]",
    "ARRAY['a', 'b']",
    "ARRAY[n, id]",
    "'{1,2}'::int[]",
    "ARRAY[]::int[]",
    "ARRAY[[1, 2], [3, 4]]",
    "ARRAY[1.5, 2]",
    "ARRAY[true, false]",
    "NULL::int[]",
)
_OF_ARRAYS = (
    "{0}",
    "({0})[1]",
    "({0})[0]",
    "({0})[9]",
    "({0})[1:2]",
    "({0})[2:]",
    "array_length({0}, 1)",
    "array_length({0}, 2)",
    "cardinality({0})",
    "array_upper({0}, 1)",
    "array_lower({0}, 1)",
    "array_ndims({0})",
    "array_dims({0})",
    "{0}::text",
    "array_to_string({0}, ',')",
    "array_to_string({0}, ',', '*')",
    "{0} || {0}",
    "{0} || 4",
    "array_append({0}, 4)",
    "array_prepend(0, {0})",
    "array_cat({0}, {0})",
    "array_position({0}, 2)",
    "array_remove({0}, 2)",
    "array_replace({0}, 1, 9)",
    "{0} = {0}",
    "{0} < ARRAY[2]",
    "{0} @> ARRAY[1]",
    "{0} <@ ARRAY[1, 2, 3]",
    "{0} && ARRAY[1]",
    "1 = ANY({0})",
    "1 = ALL({0})",
    "2 > ANY({0})",
    "unnest({0})",
    "(SELECT count(*) FROM unnest({0}) AS u)",
    "(SELECT sum(u) FROM unnest({0}) AS u)",
    "{0} IS NULL",
    "array_agg({0})",
    "trim_array({0}, 1)",
    "list_sort({0})",
    "len({0})",
    "array_sort({0})",
    "array_contains({0}, 1)",
)
_SERIES = (
    "1, 3",
    "3, 1",
    "1, 10, 4",
    "10, 1, -3",
    "1, 1",
    "0, 1, 0",
    "1, NULL",
    "1.5, 3",
    "1, 2, 0.5",
    "date '2020-01-01', date '2020-01-03', interval '1 day'",
    "timestamp '2020-01-01', timestamp '2020-01-02', '6 hours'",
    "-1, 1",
    "1::bigint, 3",
)
_OF_SERIES = (
    "SELECT generate_series({0})",
    "SELECT * FROM generate_series({0})",
    "SELECT g FROM generate_series({0}) AS g",
    "SELECT g.* FROM generate_series({0}) AS g (v)",
    "SELECT count(*) FROM generate_series({0}) AS g",
    "SELECT sum(g) FROM generate_series({0}) g",
    "SELECT g, state FROM generate_series({0}) AS g, states WHERE people < 20 ORDER BY 1",
    "SELECT g + 1 FROM generate_series({0}) AS g",
    "SELECT * FROM generate_series({0}) WITH ORDINALITY",
    "SELECT g FROM states, LATERAL generate_series({0}) AS g WHERE state = 'CA'",
    "SELECT generate_series({0}) AS a, 1 AS b",
    "WITH s AS (SELECT generate_series({0}) AS v) SELECT max(v), min(v) FROM s",
)
_JOINS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT OUTER JOIN", "INNER JOIN", "FULL OUTER JOIN")
_ONS = (
    "ON a.id = b.id",
    "ON a.n = b.id",
    "ON a.n < b.n",
    "USING (id)",
    "ON a.t = b.t AND a.id <> 3",
    "ON a.b = b.b AND a.id = b.id",
    "ON a.n IS NOT DISTINCT FROM b.n",
    "ON true AND a.id = 1",
    "ON a.id = b.id AND b.n > 2",
    "USING (id, n)",
)
_SETTINGS = ("UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL", "UNION DISTINCT")
_SIDES = (
    "SELECT n FROM goods",
    "SELECT id FROM goods",
    "SELECT people FROM states",
    "SELECT NULL",
    "SELECT 2.5",
    "SELECT b::int FROM goods",
    "VALUES (7), (7), (NULL)",
    "SELECT x FROM goods WHERE x < 100",
    "SELECT '7'",
)
_COMPARED = (
    "id",
    "n",
    "x",
    "d",
    "t",
    "b",
    "day",
    "at",
    "2",
    "2.5",
    "'2'",
    "'apple'",
    "NULL",
    "true",
    "'2020-02-29'",
    "date '2020-02-29'",
)
_SIGNS = ("=", "<>", "<", ">=", "IS DISTINCT FROM")
_SUBQUERIES = (
    "SELECT id FROM goods WHERE n {0} (SELECT max(people) FROM states) ORDER BY id", "SELECT id FROM goods WHERE n {0} ALL (SELECT people FROM states) ORDER BY id", "SELECT id FROM goods WHERE n {0} ANY (SELECT id FROM goods) ORDER BY id",
    "SELECT id, (SELECT count(*) FROM states WHERE people {0} g.n) FROM goods g ORDER BY id", "SELECT id FROM goods g WHERE EXISTS (SELECT 1 FROM states WHERE people {0} g.n) ORDER BY id", "SELECT id FROM goods g WHERE NOT EXISTS (SELECT FROM states WHERE people {0} g.n) ORDER BY id",
    "SELECT g.id, s.state FROM goods g LEFT JOIN LATERAL (SELECT state FROM states WHERE people {0} g.n ORDER BY state LIMIT 1) s ON true ORDER BY g.id", "SELECT id FROM goods WHERE (n {0} 2) IS NOT TRUE ORDER BY id", "SELECT id, n {0} NULL FROM goods ORDER BY id", "SELECT count(*) FILTER (WHERE n {0} 2) FROM goods", "SELECT (n, id) {0} (2, 7) FROM goods ORDER BY id", "SELECT id FROM goods WHERE NOT n {0} 2 ORDER BY id",
)  # fmt: skip
_AGGREGATES = (
    "string_agg({0}::text, ',' ORDER BY {0})",
    "string_agg({0}::text, '' ORDER BY {0} DESC NULLS LAST)",
    "string_agg(DISTINCT {0}::text, ',')",
    "array_agg(DISTINCT {0} ORDER BY {0})",
    "array_agg({0} ORDER BY {0} DESC)",
    "array_agg({0} ORDER BY id) FILTER (WHERE {0} IS NOT NULL)",
    "count({0}) FILTER (WHERE {0} IS NULL)",
    "min({0})::text",
    "max({0}) = min({0})",
    "(array_agg({0} ORDER BY {0}))[1]",
    "percentile_cont(0.25) WITHIN GROUP (ORDER BY {0} DESC)",
    "percentile_disc(0.9) WITHIN GROUP (ORDER BY {0})",
    "percentile_cont(ARRAY[0.25, 0.75]) WITHIN GROUP (ORDER BY {0})",
    "mode() WITHIN GROUP (ORDER BY {0} DESC)",
    "count(DISTINCT ({0}, id))",
    "any_value({0})",
    "sum({0}) / 2",
    "avg({0}) * 2",
    "round(avg({0}), 2)",
    "round(avg({0})::numeric, 1)",
    "stddev_samp({0})",
    "var_samp({0})",
    "covar_pop({0}, id)",
    "covar_samp({0}, id)",
    "regr_count({0}, id)",
    "regr_r2({0}, id)",
    "regr_intercept({0}, id)",
    "bit_and(id)",
    "bit_or(id)",
    "bit_xor(id)",
    "json_agg({0})",
    "xmlagg(NULL)",
    "string_agg({0}, ',')",
    "sum({0}::numeric)",
    "sum({0}::int)",
    "max({0}::text)",
    "rank(2) WITHIN GROUP (ORDER BY {0})",
    "range_agg(NULL)",
    "coalesce(sum({0}), 0)",
    "sum({0}) IS NULL",
    "count(*) FILTER (WHERE {0} > 0) * 1.0 / count(*)",
    "100.0 * count({0}) / count(*)",
    "min(DISTINCT {0})",
    "avg(DISTINCT {0})",
    "sum({0} * 2)",
    "sum(CASE WHEN {0} > 0 THEN 1 ELSE 0 END)",
    "sum(({0} > 0)::int)",
    "list({0})",
    "arg_max(id, {0})",
    "group_concat({0})",
    "quantile_cont({0}, 0.5)",
    "histogram({0})",
    "approx_count_distinct({0})",
    "sum_no_overflow(id)",
    "last({0})",
    "kurtosis({0})",
)
_ANSWERS = (
    "SELECT * FROM {answer} AS r", "SELECT count(*) FROM {answer} AS r", "SELECT value FROM {answer} AS r ORDER BY value DESC", "SELECT r.value, s.state FROM {answer} AS r JOIN states AS s ON s.state = r.key ORDER BY s.state", "SELECT s.state, r.value FROM states s LEFT JOIN {answer} r ON r.key = s.state AND r.value > 1 ORDER BY 1",
    "SELECT key, value / 2, value::int, round(value), value * 100 / sum(value) OVER () FROM {answer} AS r ORDER BY key", "SELECT key, rank() OVER (ORDER BY value DESC) FROM {answer} AS r ORDER BY key", "SELECT sum(value), avg(value), max(value) FROM {answer} AS r", "SELECT key || ': ' || round(value)::text FROM {answer} AS r ORDER BY 1",
    "WITH r AS (SELECT * FROM {answer} AS q) SELECT a.key, b.key FROM r a JOIN r b ON a.value < b.value ORDER BY 1, 2", "SELECT upper(key), value IS NULL, epsilon FROM {answer} AS r ORDER BY 1", "SELECT key, value, people, value / people FROM {answer} AS r JOIN states ON state = key ORDER BY people DESC", "SELECT CASE WHEN value > 1 THEN 'many' ELSE 'few' END, count(*) FROM {answer} AS r GROUP BY 1 ORDER BY 1",
    "SELECT key FROM {answer} AS r WHERE value = (SELECT max(value) FROM {answer} AS q)", "SELECT key FROM {answer} AS r UNION SELECT state FROM states ORDER BY 1", "SELECT state FROM states WHERE state IN (SELECT key FROM {answer} AS r WHERE value > 0) ORDER BY 1", "SELECT string_agg(key, ',' ORDER BY key) FROM {answer} AS r", "SELECT max(epsilon) FROM {answer} AS r GROUP BY measure", "SELECT value FROM {answer} AS r ORDER BY key LIMIT 1 OFFSET 1", "SELECT key, value FROM {answer} AS r WHERE key LIKE 'C%'",
    "SELECT key, row_number() OVER (ORDER BY value), lag(value) OVER (ORDER BY key) FROM {answer} AS r ORDER BY key", "SELECT count(*) FROM {answer} AS r, states", "SELECT ROUND(value::numeric, 2) FROM {answer} AS r ORDER BY 1", "SELECT value % 2 FROM {answer} AS r ORDER BY key", "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY value) FROM {answer} AS r",
)  # fmt: skip


def _of_moments() -> Iterator[str]:
    for form, value in product(_OF_MOMENTS, (*_DATES, *_MOMENTS)):
        yield f"SELECT {form.format(value)} FROM goods ORDER BY id"
    for field, value in product(
        _FIELDS, (_DATES[0], _DATES[2], _MOMENTS[1], _MOMENTS[2], _SPANS[3], "time '10:20:30.5'")
    ):
        yield f"SELECT extract({field} FROM {value}) FROM goods ORDER BY id"
        yield f"SELECT date_part('{field}', {value}) FROM goods ORDER BY id"
    for unit, value in product(_UNITS, (_DATES[2], _MOMENTS[1], _MOMENTS[2], _SPANS[4])):
        yield f"SELECT date_trunc('{unit}', {value}) FROM goods ORDER BY id"
    for form, value in product(_CHAR_FORMS, (_DATES[2], _MOMENTS[1], _MOMENTS[2])):
        yield f"SELECT to_char({value}, '{form}') FROM goods ORDER BY id"
    for form, value in product(_NUMBER_FORMS, ("n", "2.5", "id")):
        yield f"SELECT to_char({value}, '{form}') FROM goods ORDER BY id"
    for form, span in product(_OF_SPANS, _SPANS):
        yield f"SELECT {form.format(span)}"
    for span, value, sign in product(_SPANS, (_DATES[0], _DATES[2], _MOMENTS[1], _MOMENTS[2]), "+-"):
        yield f"SELECT {value} {sign} {span} FROM goods ORDER BY id"
    for one, other in product((*_DATES, *_MOMENTS), repeat=2):
        yield f"SELECT {one} - {other} FROM goods ORDER BY id"
        yield f"SELECT {one} < {other}, {one} = {other} FROM goods ORDER BY id"


def _of_values() -> Iterator[str]:
    for (kind, values), into in product(_VALUES, _INTO):
        for value in values:
            yield f"SELECT {value}::{kind}::{into}"
    for kind, values in _VALUES:
        for value in values:
            yield f"SELECT {value}::{kind}"
            yield f"SELECT CAST({value} AS {kind})"
            yield f"SELECT '[' || {value}::{kind} || ']'"
    for column, into in product(("id", "n", "x", "d", "t", "b", "day", "at"), _INTO):
        yield f"SELECT {column}::{into} FROM goods WHERE id NOT IN (5, 6) ORDER BY id"
    for form, number in product(_NUMERIC, _NUMBERS):
        yield f"SELECT {form.format(number)} FROM goods WHERE id <> 5 ORDER BY id"
    for one, other in product(_MIXED, repeat=2):
        yield f"SELECT CASE WHEN id < 3 THEN {one} ELSE {other} END FROM goods ORDER BY id"
        yield f"SELECT coalesce({one}, {other}) FROM goods ORDER BY id"
    for one, sign, other in product(_COMPARED, _SIGNS, _COMPARED):
        yield f"SELECT id FROM goods WHERE {one} {sign} {other} ORDER BY id"


def _of_texts() -> Iterator[str]:
    for form, text in product(_OF_TEXTS, _TEXTS):
        yield f"SELECT {form.format(text)} FROM goods" + ("" if "max(" in form or "count(" in form else " ORDER BY id")
    for pattern, escape in product(_PATTERNS, _ESCAPES):
        yield f"SELECT id FROM goods WHERE t LIKE '{pattern}'{escape} ORDER BY id"
        yield f"SELECT id, t NOT ILIKE '{pattern}'{escape} FROM goods ORDER BY id"
        yield f"SELECT 'a!b%c\\d' LIKE '{pattern}'{escape}"


def _of_rows() -> Iterator[str]:
    for sets, call in product(_SETS, _OF_SETS):
        yield f"SELECT b, {call} FROM goods GROUP BY {sets} ORDER BY 1, 2"
        yield f"SELECT {call} FROM goods GROUP BY {sets} HAVING count(*) > 1 ORDER BY 1"
    for call, over in product(_WINDOW_CALLS, _OVERS):
        if over != "(ORDER BY b)" or call.partition("(")[0] not in _BY_ROW:  # of equal rows none is the first
            yield f"SELECT id, {call} OVER {over} FROM goods ORDER BY id"
    for (one, other), way, further in product(product(_KEYS, repeat=2), _WAYS, _WAYS):
        if one != other:
            yield f"SELECT id FROM goods ORDER BY {one}{way}, {other}{further}, id"


def _of_tables() -> Iterator[str]:
    for form, array in product(_OF_ARRAYS, _ARRAYS):
        yield f"SELECT {form.format(array)} FROM goods WHERE id < 3" + ("" if "agg(" in form else " ORDER BY id")
    for form, series in product(_OF_SERIES, _SERIES):
        yield form.format(series)
    for kind, condition in product(_JOINS, _ONS):
        yield f"SELECT a.id, b.id, a.n, b.t FROM goods a {kind} goods b {condition} ORDER BY 1, 2, 3, 4"
        yield f"SELECT count(*), sum(a.n), sum(b.id) FROM goods a {kind} goods b {condition}"
        yield f"SELECT * FROM (SELECT id, n FROM goods) a {kind} (SELECT id, n, t, b FROM goods WHERE id > 2) b {condition} ORDER BY 1, 2, 3"
    for left, word, right in product(_SIDES, _SETTINGS, _SIDES):
        yield f"{left} {word} {right} ORDER BY 1"
    for form, sign in product(_SUBQUERIES, ("=", "<>", "<", ">=")):
        yield form.format(sign)
    for form, column in product(_AGGREGATES, ("n", "x", "d", "t", "b", "day", "at")):
        yield f"SELECT {form.format(column)} FROM goods WHERE id <> 5"
        yield f"SELECT {form.format(column)} FROM goods WHERE false"


def wide_statements() -> Iterator[str]:
    """Give each statement once."""
    return iter(dict.fromkeys([*_of_moments(), *_of_values(), *_of_texts(), *_of_rows(), *_of_tables()]))


def answers(release: str) -> list[str]:
    """Return the statements about a release by states: its call, or the table that holds its rows."""
    columns = """split_part("where", '''', 2) AS key, value, lower, upper, epsilon, measure"""
    return [text.format(answer=f"(SELECT {columns} FROM {release} AS whole)") for text in _ANSWERS]
