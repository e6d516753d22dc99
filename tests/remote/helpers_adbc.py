"""Warehouses that are none: sqlglot reads their SQL, and DuckDB answers it. So far a spelling can be tried.

What it cannot say is what their servers do with it: nobody here has one.
"""

from __future__ import annotations

import json
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp

MACROS = (
    "CREATE MACRO hex_decode_string(x) AS decode(unhex(x))",
    "CREATE MACRO to_binary(x, form) AS unhex(x)",
    "CREATE MACRO from_hex(x) AS unhex(x)",
    "CREATE MACRO safe_convert_bytes_to_string(x) AS decode(x)",
    "CREATE MACRO is_nan(x) AS isnan(x)",
    "CREATE MACRO to_json_string(x) AS to_json(x)",
    "CREATE MACRO a_hash(x) AS (hash(x) >> 1)::BIGINT",
)
ADDRESSES = {
    "snowflake": "snowflake://owner:sesame%401@account/memory/main?warehouse=w",
    "bigquery": "bigquery://memory/main",
}


class Warehouse:
    """A driver, its connection and its cursor in one.

    Attributes
    ----------
    asked : list of str
        All statements, as they came.
    """

    def __init__(self, dialect: str) -> None:
        self.dialect, self.asked = dialect, list[str]()
        self._types: dict[str, list[tuple[str, str]]] = {}
        self._database = duckdb.connect()
        for macro in MACROS:
            self._database.execute(macro)
        self._answer = pa.table({})

    @property
    def address(self) -> str:
        return ADDRESSES[self.dialect]

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Let it be found as the driver of its address."""
        patch.setattr("dpdb.remote.foreign_sources.needed", lambda *_: self)

    def connect(self, **arguments: Any) -> Warehouse:
        self.arguments = arguments
        return self

    def cursor(self) -> Warehouse:
        return self

    def close(self) -> None:
        pass

    def commit(self) -> None:
        pass

    def adbc_cancel(self) -> None:
        self._database.interrupt()

    def execute(self, text: str) -> None:
        self.asked.append(text)
        if text.startswith("ALTER SESSION"):
            return
        tree = sqlglot.parse_one(text, read=self.dialect)
        if isinstance(tree, exp.Create):
            self._types[tree.this.this.name] = [
                (each.name, each.args["kind"].sql(self.dialect)) for each in tree.find_all(exp.ColumnDef)
            ]
        if "CURRENT_VERSION" in text or "without a version" in text:
            self._answer = pa.table({"version": ["0.0, of sqlglot"]})
        elif "INFORMATION_SCHEMA" in text:
            self._answer = self._described(tree)
        else:
            written = tree.transform(_in_duckdb).sql("duckdb")
            if isinstance(tree, exp.Query):
                self._answer = self._as_sent(self._database.sql(written).to_arrow_table())
            else:
                self._database.execute(written)

    def fetch_arrow_table(self) -> pa.Table:
        return self._answer

    def _described(self, tree: exp.Expr) -> pa.Table:
        name = next(each.expression.name for each in tree.find_all(exp.EQ) if each.this.name == "table_name")
        rows = []
        for own, kind in self._types.get(name, []):
            word, _, sizes = kind.rstrip(")").partition("(")
            digits = [int(each) for each in sizes.split(",") if each.strip()]
            told = {"DECIMAL": "NUMBER", "VARCHAR": "TEXT", "DOUBLE": "FLOAT", "VARBINARY": "BINARY", "INT": "NUMBER"}
            names = {"TIMESTAMPNTZ": "TIMESTAMP_NTZ", "TIMESTAMPTZ": "TIMESTAMP_TZ"}
            if self.dialect == "bigquery":
                rows.append((own, kind, None, None))
            else:
                precision, scale = [*digits, None, None][:2] if told.get(word) == "NUMBER" else (None, None)
                rows.append((own, told.get(word, names.get(word, word)), precision, scale))
        columns = list(zip(*rows, strict=True)) or [()] * 4
        kinds = (pa.string(), pa.string(), pa.int64(), pa.int64())
        arrays = [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)]
        return pa.table(arrays, ["column_name", "data_type", "precision", "scale"])

    def _as_sent(self, answer: pa.Table) -> pa.Table:
        """Send lists as JSON, as Snowflake does."""
        for place, field in enumerate(answer.schema):
            if self.dialect == "snowflake" and pa.types.is_list(field.type):
                texts = [None if each is None else json.dumps(each) for each in answer[place].to_pylist()]
                answer = answer.set_column(place, field.name, pa.array(texts, pa.string()))
        return answer


def _in_duckdb(node: exp.Expr) -> exp.Expr:
    """Put what DuckDB has for functions that sqlglot passes on."""
    if isinstance(node, exp.Collate):
        return node.this
    if isinstance(node, (exp.Anonymous, exp.Func)):
        name = node.name.upper() if isinstance(node, exp.Anonymous) else node.sql_name()
        parts = node.expressions if isinstance(node, exp.Anonymous) else [node.this]
        match name:
            case "COLLATE":
                return parts[0]
            case "HASH":
                return exp.Anonymous(this="a_hash", expressions=[exp.Anonymous(this="row", expressions=parts)])
            case "FARM_FINGERPRINT":
                return exp.Anonymous(this="a_hash", expressions=node.expressions or parts)
            case "BITXOR_AGG":
                return exp.Anonymous(this="bit_xor", expressions=parts)
    return node
