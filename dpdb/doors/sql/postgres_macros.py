"""Macros of DuckDB that compute what PostgreSQL does, or fail: a macro sees the types of its arguments."""

from __future__ import annotations

from collections.abc import Mapping

_ZERO = "CASE WHEN b = 0 THEN error('division by zero') ELSE"
_INTEGERS = "('TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT')"
_OTHER = "('HUGEINT', 'UHUGEINT', 'UBIGINT', 'INTERVAL')"
_IS_DOUBLE = "typeof(a) IN ('DOUBLE', 'FLOAT')"
_PLAIN_TEXT = (
    f"WHEN {_IS_DOUBLE} THEN CASE WHEN a::VARCHAR = 'inf' THEN 'Infinity' WHEN a::VARCHAR = '-inf' THEN '-Infinity' "
    "WHEN a::VARCHAR = 'nan' THEN 'NaN' WHEN regexp_full_match(a::VARCHAR, CASE typeof(a) WHEN 'FLOAT' "
    r"THEN '-?\d{7,}\.0' ELSE '-?\d{16}\.0' END) THEN error('so large a number has another text in PostgreSQL') "
    r"ELSE regexp_replace(a::VARCHAR, '\.0$', '') END "
    r"WHEN regexp_full_match(typeof(a), 'DECIMAL\(38,(1[5-9]|[23]\d)\)') "
    "THEN error('numeric has another text in PostgreSQL: round it to some places') "
    "WHEN regexp_matches(typeof(a), '\\[|^STRUCT|^INTERVAL|^MAP') "
    "THEN error('lists, structs and intervals have another text in PostgreSQL') ELSE a::VARCHAR END"
)
_UNSURE_TEXT = f"WHEN {_IS_DOUBLE} THEN error('numeric has another text in PostgreSQL: leave the cast out')"
_NOT = "CASE WHEN typeof(a) = 'VARCHAR' AND NOT regexp_full_match(a::VARCHAR, '(?is)"
_DAY = r"\s*\d{4}-\d{1,2}-\d{1,2}([ T]\d{1,2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?\s*"
_CLOCK = r"\s*\d{1,2}:\d{2}(:\d{2}(\.\d{1,6})?)?\s*"
_SPAN = r"(\s*[+-]?\d+\s+(year|mon|month|week|day|hour|min|minute|sec|second)s?)+\s*|\s*\d{1,2}:\d{2}(:\d{2})?\s*"


# A double or real has as many digits as PostgreSQL takes along.
_DIGITS_OF = (
    "CASE WHEN typeof(a) = 'DOUBLE' THEN printf('%.15g', a::DOUBLE) WHEN typeof(a) = 'FLOAT' "
    "THEN printf('%.6g', a::DOUBLE) WHEN typeof(a) = 'BOOLEAN' THEN error('cannot cast type boolean to numeric') "
    "ELSE a::VARCHAR END"
)
_LOSES_PLACES = (
    r"regexp_matches(a::VARCHAR, '\.\d{16}') AND typeof(a) NOT IN ('DOUBLE', 'FLOAT') OR "
    f"abs({_DIGITS_OF}::DOUBLE) < 0.01 AND {_DIGITS_OF}::DECIMAL(38,15)::DOUBLE <> {_DIGITS_OF}::DOUBLE"
)
# Which of several is taken, the types of the arguments decide, as PostgreSQL's functions of one name are chosen.
MACROS: Mapping[str, str] = {
    # The list has the type of what is computed: whole numbers of integers, and doubles.
    "div": f"(a, b) AS CASE WHEN b = 0 THEN error('division by zero') WHEN typeof(a) IN {_OTHER} OR typeof(b) IN "
           f"{_OTHER} OR (typeof(a) = 'FLOAT') <> (typeof(b) = 'FLOAT') "
           "THEN error('cast what is divided to numeric or double precision') "
           f"ELSE list_extract(list_resize([a // b], 2, a / b), CASE WHEN typeof(a) IN {_INTEGERS} AND typeof(b) IN "
           f"{_INTEGERS} THEN 1 ELSE 2 END) END",
    "summed": "(a, b) AS CASE WHEN typeof(b) IN ('TINYINT', 'SMALLINT', 'INTEGER') "
              "THEN error('a sum of integers is a bigint, which divides as a whole number: cast what is summed') "
              "ELSE a::DOUBLE END",
    "mod": f"(a, b) AS {_ZERO} a % b END",
    "round": f"(a) AS CASE WHEN {_IS_DOUBLE} THEN round_even(a, 0) ELSE round(a) END",
    "round_sure": f"(a) AS CASE WHEN {_IS_DOUBLE} AND abs(a - trunc(a)) = 0.5 "
                  "THEN error('this is a tie, which numeric rounds otherwise than double precision: cast it') "
                  "ELSE a END",
    "finite": "(a) AS CASE WHEN a IS NULL OR isfinite(a) THEN a ELSE error('a value is out of range') END",
    "bounded": "(a) AS CASE WHEN typeof(a) IN ('DOUBLE', 'FLOAT') AND a::VARCHAR IN ('inf', '-inf', 'nan') "
               "THEN error('a value is out of range') WHEN typeof(a) = 'FLOAT' "
               "THEN error('cast real to double precision before you compute with it') ELSE a END",
    "split_part": "(a, b, c) AS CASE WHEN c = 0 THEN error('field position must not be zero') "
                  "WHEN b = '' THEN CASE WHEN c IN (1, -1) THEN a ELSE '' END ELSE split_part(a, b, c) END",
    "or_null": "(a) AS CASE WHEN isnan(a) THEN NULL ELSE a END",
    "upper": "(a) AS replace(upper(replace(a, 'ß', chr(1))), chr(1), 'ß')",
    "substr": "(a, b) AS substr(a, greatest(b, 1)), (a, b, c) AS CASE WHEN c < 0 "
              "THEN error('negative substring length not allowed') "
              "ELSE substr(a, greatest(b, 1), greatest(b + c - greatest(b, 1), 0)) END",
    "text": f"(a) AS CASE {_PLAIN_TEXT}",
    "text_sure": f"(a) AS CASE {_UNSURE_TEXT} {_PLAIN_TEXT}",
    "shown": f"(a) AS CASE WHEN typeof(a) = 'BOOLEAN' THEN left(a::VARCHAR, 1) {_PLAIN_TEXT}",
    "shown_sure": f"(a) AS CASE WHEN typeof(a) = 'BOOLEAN' THEN left(a::VARCHAR, 1) {_UNSURE_TEXT} {_PLAIN_TEXT}",
    "whole": rf"(a) AS {_NOT}\s*[+-]?\d+\s*') THEN error('invalid input syntax for type integer') ELSE a END",
    "number": rf"(a) AS {_NOT}\s*[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|inf|infinity)\s*') "
              "THEN error('invalid input syntax for a number') ELSE a END",
    "numeric": f"(a) AS CASE WHEN {_LOSES_PLACES} THEN error('a number with more than 15 places: cast it to "
               f"numeric(p, s)') ELSE {_DIGITS_OF}::DECIMAL(38,15) END",
    "numeric_of": f"(a) AS {_DIGITS_OF}",
    "flat": "(a) AS CASE WHEN ends_with(typeof(a), '][]') THEN error('arrays of arrays are not computed here') "
            "ELSE a END",
    # `string_agg` leaves NULLs out, and is NULL of nothing else.
    "joined": "(a, b) AS CASE WHEN list_aggregate(a, 'count') = 0 THEN NULL ELSE array_to_string(a, b) END",
    "day": f"(a) AS {_NOT}{_DAY}') THEN error('a date is written as 2020-12-31, a time as 2020-12-31 10:00:00') "
           "ELSE a END",
    "clock": f"(a) AS {_NOT}{_CLOCK}') THEN error('a time is written as 10:30:00') ELSE a END",
    "length": "(a) AS nullif(len(a), 0)",
    # Not the truncated quotient, which the last digit of a double may change.
    "whole_div": f"(a, b) AS CASE WHEN {_IS_DOUBLE} OR typeof(b) IN ('DOUBLE', 'FLOAT') "
                 "THEN error('div takes numerics: cast double precision') WHEN b = 0 THEN error('division by zero') "
                 "ELSE round((a - a % b) / b) END",
    "span": f"(a) AS {_NOT}{_SPAN}') THEN error('an interval is written as 1 day 2 hours') ELSE a END",
    "date_trunc": "(a, b DATE) AS date_trunc(a, b)::TIMESTAMP::TIMESTAMPTZ, (a, b TIMESTAMP) AS date_trunc(a, b)",
    "second": "(a) AS extract(microseconds FROM a) / 1000000",
}  # fmt: skip
