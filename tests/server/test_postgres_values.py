"""Values and types between Arrow and PostgreSQL; parameters that become literals and nothing else."""

from __future__ import annotations

import random
import struct
from decimal import Decimal
from typing import Any

import duckdb
import pytest
from case_share import examples
from hypothesis import given, strategies as st
from psycopg.adapt import Transformer
from psycopg.pq import Format
from sqlglot import exp

from dpdb.bounded_parser import parse_duckdb
from dpdb.doors.server.postgres.catalog import parsed
from dpdb.doors.server.postgres.parameters import read_value
from dpdb.doors.server.postgres.values import (
    columns_of,
    date_text,
    described_columns,
    encoded,
    numeric_bytes,
    timestamp_text,
)
from dpdb.doors.server.postgres.wire import WireError
from dpdb.doors.sql import Numeral, Template, Value
from dpdb.doors.sql.parse import parted_parameters
from dpdb.errors import StatementRefusedError

SCALARS = [
    "true", "1::TINYINT", "-1::SMALLINT", "2147483647", "(-9223372036854775808)::BIGINT", "1::HUGEINT",
    "170141183460469231731687303715884105727::UHUGEINT // 10", "255::UTINYINT", "65535::USMALLINT",
    "4294967295::UINTEGER", "18446744073709551615::UBIGINT", "0.1::FLOAT", "1e300", "'nan'::DOUBLE", "'-inf'::DOUBLE",
    "-1234567.00891::DECIMAL(20, 5)", "0::DECIMAL(4, 2)", "99.99::DECIMAL(4, 2)", "'a''b\\n'", "''",
    "DATE '2020-02-29'", "TIME '23:59:59.000001'", "TIMESTAMP '1969-12-31 23:59:59.5'", "TIMESTAMP_S '2020-01-01'",
    "TIMESTAMP_MS '2020-01-01'", "TIMESTAMP_NS '2020-01-01'", "TIMESTAMPTZ '2020-01-01 00:00:00+00'",
    "INTERVAL '1 year 2 days 03:04:05.5'", "'a\\x00b'::BLOB", "'101'::BIT", "{'a': 1}", "MAP {'a': 1}", "'{}'::JSON",
    "'6ffb3c9e-8d5c-4a8f-8f0e-1f2a3b4c5d6e'::UUID", "TIMETZ '01:02:03+01'",
]  # fmt: skip
# Python has no value for these.
BEYOND = [
    "DATE '0044-03-15 (BC)'", "DATE '12345-01-01'", "'infinity'::DATE", "TIMESTAMP '0044-03-15 (BC) 01:00:00'",
    "'-infinity'::TIMESTAMP", "NULL",
]  # fmt: skip
LISTS = ["[]", "[[1]]", "[{'a': 1}]", "array_value(1, 2)", "['a,b', '', 'null', '\"']"]


@pytest.mark.heavy
@pytest.mark.parametrize("text", SCALARS + BEYOND + LISTS + [f"[{one}, NULL]" for one in SCALARS + BEYOND])
def test_description_and_result_agree_and_every_value_can_be_written(text: str) -> None:
    """Text and binary are one value to psycopg."""
    with duckdb.connect() as connection:
        query = f"SELECT {text} AS a UNION ALL SELECT NULL"
        described = described_columns(connection.sql(f"DESCRIBE {query}").to_arrow_table())
        found = connection.sql(query).to_arrow_table()
    [column] = columns_of(found.schema)
    assert [column] == described
    shown, packed = (encoded(found, [column], [form])[0] for form in (0, 1))
    assert shown[1] is packed[1] is None
    if any(one in text for one in BEYOND):
        assert (shown[0] is None) == (packed[0] is None) == (text == "NULL")
        return
    assert shown[0] is not None
    assert packed[0] is not None
    loaded = [
        Transformer().get_loader(column.type.oid, form).load(value)
        for form, value in ((Format.TEXT, shown[0]), (Format.BINARY, packed[0]))
    ]
    if "FLOAT" in text:
        assert repr(loaded).count("0.1") == 2
    else:
        assert repr(loaded[0]) == repr(loaded[1])


@given(st.decimals(allow_nan=False, allow_infinity=False) | st.integers(-(10**38), 10**38))
@examples(300)
def test_numbers_in_binary_are_those_of_psycopg(value: Decimal | int) -> None:
    if isinstance(value, Decimal) and abs(int(value.as_tuple().exponent)) > 300:
        return
    found = Transformer().get_loader(1700, Format.BINARY).load(numeric_bytes(value))
    assert found == value
    if isinstance(value, int) or int(value.as_tuple().exponent) <= 0:
        text = str(value) if isinstance(value, int) else format(value if value else abs(value), "f")
        assert read_value(numeric_bytes(value), 1700, 1) == text


@pytest.mark.heavy(family="long")
@given(st.integers(-2_000_000, 100_000_000))
@examples(300)
def test_dates_are_those_of_duckdb(days: int) -> None:
    with duckdb.connect() as connection:
        [(text, stamp)] = connection.execute(
            "SELECT (DATE '1970-01-01' + $1::INT)::VARCHAR, (DATE '1970-01-01' + $1::INT)::TIMESTAMP::VARCHAR", [days]
        ).fetchall()
    assert date_text(days) == text.replace(" (BC)", " BC")
    assert timestamp_text(days * 86_400_000_000).replace(" BC", "") == stamp.replace(" (BC)", "")


@pytest.mark.heavy(family="long")
def test_values_of_clients_become_literals_and_nothing_else() -> None:
    """Whatever a client sends, the tree of the statement has one literal where the parameter was."""
    chance = random.Random(7)
    texts = ["x'); DROP TABLE a; --", "'", "''", "\\", "$1", "$$", "/*", "--", "1 OR 1=1", "\u2019",
             "NULL", "a" * 1000, "\U0001f600", "{a,b}", "E'\\''"]  # fmt: skip
    statement = "SELECT value, $1 FROM dp_count('visits', $2, where := $3) WHERE value > $4 AND -$4 < 5 LIMIT $5"
    template = Template(statement)
    assert template.types == ("TEXT", "DOUBLE", "TEXT", "DOUBLE", "BIGINT")
    for _ in range(200):
        one, two = chance.choice(texts), chance.choice(texts)
        number = struct.pack("!d", chance.choice([-1.5, 0.1, 1e-300, -1e300, 3]))
        values = [
            read_value(one.encode(), 25, 0), read_value(b" .5 ", 701, 0), read_value(two.encode(), 0, 1),
            read_value(number, 701, 1), read_value(struct.pack("!i", 7), 23, 1),
        ]  # fmt: skip
        [tree] = parse_duckdb(template.bound(values, template.types))
        assert tree is not None
        literals = [node for node in tree.find_all(exp.Literal) if node.is_string]
        assert {node.this for node in literals} == {"visits", one, two}
        assert sum(1 for _ in tree.find_all(exp.Literal)) == 8
    with pytest.raises(StatementRefusedError):
        Template("SELECT $0")
    with pytest.raises(StatementRefusedError):
        Template("SELECT $x")
    with pytest.raises(StatementRefusedError):
        Template("SELECT $1001")


@pytest.mark.parametrize(
    "text",
    ["SELECT $1,$2", "SELECT $1,'a$1,',$2", "SELECT ($1)+$2::INT", "SELECT * FROM dp_count($1,$2)", "SELECT $1, $2"],
)
def test_parameters_need_no_blanks(text: str) -> None:
    """JDBC writes `?,?` so."""
    assert len(Template(text).types) == 2
    values: list[Value] = ["x", Numeral("1")]
    assert "a$1 ," not in Template(text).bound(values, ["TEXT", "BIGINT"])
    assert parsed(text) is not None


def test_what_is_quoted_keeps_its_signs() -> None:
    for text in (
        "'$1,$2'",
        '"$1,$2"',
        "$a$$1,$2$a$",
        "$$ $1,$2$$",
        "-- $1,$2",
        "/* $1,\n$2*/",
        "E'\\'$1,$2'",
        "a$1,b$2",
    ):
        assert parted_parameters(text) == text
    assert parted_parameters("$1,'$3,'||$2)") == "$1 ,'$3,'||$2 )"
    assert parted_parameters("$1," * 20_000 + "'") == "$1 ," * 20_000 + "'"


KINDS = (0, 16, 17, 18, 19, 20, 21, 23, 25, 26, 114, 600, 700, 701, 1000, 1007, 1009, 1014, 1022, 1042, 1043, 1082,
         1083, 1114, 1184, 1186, 1231, 1700, 2950, 3802, 99999)  # fmt: skip


@pytest.mark.heavy(family="long")
@given(st.binary(max_size=40), st.sampled_from(KINDS), st.sampled_from([0, 1, 2, -1]))
@examples(2_000)
def test_any_bytes_are_a_value_or_refused(content: bytes, oid: int, form: int) -> None:
    try:
        value: Any = read_value(content, oid, form)
    except WireError as error:
        value = None if error.code in ("08P01", "0A000", "22021", "22P02", "22P03") else error
    for one in value if isinstance(value, list) else [value]:
        assert one is None or isinstance(one, (str, bool))
        if isinstance(one, Numeral):
            assert Decimal(one).is_finite()
            Template("SELECT $1").bound([one], ["DOUBLE"])
