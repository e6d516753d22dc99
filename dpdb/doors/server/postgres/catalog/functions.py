"""PostgreSQL's functions that ask the catalog, as macros of DuckDB over the content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dpdb.doors.server.postgres.catalog.content import Content, formatted, function_arguments, function_names, pg_types
from dpdb.doors.server.postgres.session import SETTINGS

PREFIX = "of_pg_"

# The most arguments, and what it is: arguments are called a, b, c ...; {...} is a choice by `_choices`.
FUNCTIONS: Mapping[str, tuple[int, str]] = {
    "format_type": (2, "CASE WHEN a = 1700 AND b >= 4 THEN 'numeric(' || ((b - 4) >> 16)::VARCHAR || ',' || "
                    "((b - 4) & 65535)::VARCHAR || ')' ELSE CASE a{types} END END"),
    "regclass": (1, "coalesce({names_of_classes}, a)), a::VARCHAR)"),
    "regtype": (1, "coalesce({names_of_types}, a)), a::VARCHAR)"),
    "regproc": (1, "CASE a{functions} ELSE a::VARCHAR END"),
    "regnamespace": (1, "CASE a WHEN 11 THEN 'pg_catalog' WHEN 2200 THEN 'public' WHEN 13000 THEN 'information_schema' "
                     "ELSE a::VARCHAR END"),
    "pg_get_function_arguments": (1, "CASE a{arguments} END"),
    "pg_get_function_identity_arguments": (1, "CASE a{arguments} END"),
    "pg_get_function_result": (1, "CASE WHEN a IS NULL THEN NULL ELSE 'SETOF record' END"),
    "pg_get_function_sqlbody": (1, "NULL::VARCHAR"),
    "pg_get_functiondef": (1, "NULL::VARCHAR"),
    "pg_get_function_arg_default": (2, "NULL::VARCHAR"),
    "obj_description": (2, "CASE a{texts} END"),
    "col_description": (2, "NULL::VARCHAR"),
    "shobj_description": (2, "NULL::VARCHAR"),
    "pg_get_userbyid": (1, "CASE a WHEN 10 THEN 'dpdb' ELSE {analyst} END"),
    **dict.fromkeys(("pg_get_expr", "pg_get_constraintdef", "pg_get_indexdef", "pg_get_viewdef", "pg_get_ruledef",
                     "pg_get_triggerdef", "pg_get_serial_sequence", "pg_get_partkeydef", "pg_get_statisticsobjdef",
                     "pg_get_statisticsobjdef_columns", "pg_get_partition_constraintdef", "pg_tablespace_location"),
                    (3, "NULL::VARCHAR")),
    "pg_table_is_visible": (1, "a NOT IN ({hidden})"),
    **dict.fromkeys(("pg_function_is_visible", "pg_type_is_visible", "pg_operator_is_visible",
                     "pg_opclass_is_visible", "pg_collation_is_visible",
                     "pg_conversion_is_visible", "pg_statistics_obj_is_visible", "pg_ts_config_is_visible",
                     "pg_ts_dict_is_visible", "pg_opfamily_is_visible", "pg_ts_parser_is_visible",
                     "pg_ts_template_is_visible"),
                    (1, "a IS NOT NULL")),
    **dict.fromkeys(("has_table_privilege", "has_any_column_privilege", "has_column_privilege"),
                    (4, "upper(coalesce(c, b, '')::VARCHAR) = 'SELECT'")),
    **dict.fromkeys(("has_schema_privilege", "has_database_privilege", "has_function_privilege", "has_type_privilege",
                     "has_tablespace_privilege", "has_language_privilege", "has_sequence_privilege",
                     "has_server_privilege", "has_foreign_data_wrapper_privilege", "pg_has_role"),
                    (3, "upper(coalesce(c, b, '')::VARCHAR) <> 'CREATE'")),
    **dict.fromkeys(("pg_relation_is_publishable", "pg_is_in_recovery", "pg_is_other_temp_schema",
                     "row_security_active"),
                    (1, "false")),
    **dict.fromkeys(("pg_total_relation_size", "pg_relation_size", "pg_table_size", "pg_indexes_size",
                     "pg_database_size", "pg_tablespace_size", "pg_my_temp_schema", "txid_current", "inet_server_port"),
                    (2, "0::BIGINT")),
    "pg_size_pretty": (1, "NULL::VARCHAR"),
    # Locks are of nobody here, and so none are left.
    **dict.fromkeys(("pg_advisory_unlock_all",), (0, "''")),
    "pg_backend_pid": (0, "1"),
    "pg_encoding_to_char": (1, "CASE a WHEN 6 THEN 'UTF8' ELSE '' END"),
    "pg_char_to_encoding": (1, "6"),
    **dict.fromkeys(("pg_client_encoding", "getdatabaseencoding"), (0, "'UTF8'")),
    "pg_stat_get_numscans": (1, "0::BIGINT"),
    "pg_partition_ancestors": (1, "NULL::BIGINT"),  # no table is a partition
    "pg_relation_filenode": (1, "NULL::BIGINT"),
    "pg_relation_is_updatable": (2, "0"),
    "pg_column_is_updatable": (3, "false"),
    "to_regclass": (1, "{classes_by_name}, regexp_replace(replace(a, '\"', ''), '^[^.]*\\.([^.]*\\.)', '\\1')))"),
    "to_regtype": (1, "{types_by_name}, regexp_replace(replace(a, '\"', ''), '^(.*\\.)?pg_catalog\\.', '')))"),
    "to_regnamespace": (1, "CASE a WHEN 'pg_catalog' THEN 11 WHEN 'public' THEN 2200 END"),
    "version": (0, "'PostgreSQL 15.0 (dpdb: releases, no rows)'"),
    "current_schema": (0, "'public'"),
    "current_schemas": (1, "CASE WHEN a THEN ['pg_catalog', 'public'] ELSE ['public'] END"),
    **dict.fromkeys(("current_database", "current_catalog"), (0, "{database}")),
    **dict.fromkeys(("current_user", "session_user", "user", "current_role"), (0, "{analyst}")),
    "current_setting": (2, "CASE lower(a){settings} END"),
    "set_config": (3, "CASE WHEN lower(a) LIKE 'dpdb.%' "
                   "THEN error('set_config sets no run: write SET dpdb.run_id = ...') ELSE b END"),
    "quote_ident": (1, "CASE WHEN regexp_full_match(a, '[a-z_][a-z0-9_]*') THEN a "
                    "ELSE '\"' || replace(a, '\"', '\"\"') || '\"' END"),
    "quote_literal": (1, "'''' || replace(a, '''', '''''') || ''''"),
    "parse_ident": (1, "string_split(a, '.')"),
    "array_upper": (2, "nullif(len(a), 0)"),
    "array_lower": (2, "CASE WHEN len(a) > 0 THEN 1 END"),
    "array_to_string": (3, "array_to_string(a::VARCHAR[], b)"),
    "array_position": (2, "list_position(a, b)"),
    "cardinality": (1, "len(a)"),
    "_pg_expandarray": (1, "unnest(list_transform(range(1, len(a) + 1), lambda i: {{'x': a[i], 'n': i}}))"),
    "generate_subscripts": (2, "unnest(range(1, len(a) + 1))"),
    "_pg_truetypid": (2, "NULL::BIGINT"),
    "_pg_char_max_length": (2, "NULL::INTEGER"),
    "_pg_numeric_precision": (2, "CASE WHEN a = 1700 AND b >= 4 THEN ((b - 4) >> 16) END"),
    "_pg_numeric_scale": (2, "CASE WHEN a = 1700 AND b >= 4 THEN ((b - 4) & 65535) END"),
    "pg_get_keywords": (0, "NULL"),
    "encode": (2, "hex(a)"),
    "oidvectortypes": (1, "array_to_string(list_transform(a, lambda i: CASE i{types} END), ', ')"),
    "pg_show_all_settings": (0, "NULL"),
    **dict.fromkeys(("now", "clock_timestamp", "statement_timestamp", "transaction_timestamp"), (0, "now()")),
    "current_date": (0, "now()::TIMESTAMP::DATE"),
    "localtimestamp": (0, "now()::TIMESTAMP"),
    **dict.fromkeys(("current_time", "localtime"), (0, "now()::TIMESTAMP::TIME")),
    "pg_postmaster_start_time": (0, "NULL::TIMESTAMP"),
    "inet_server_addr": (0, "NULL::VARCHAR"),
    "inet_client_addr": (0, "NULL::VARCHAR"),
}  # fmt: skip


def macros(content: Content, analyst: str, database: str, names: Iterable[str]) -> str:
    """Return the SQL that defines the functions of these names."""
    chosen = sorted(set(names))
    if not chosen:
        return ""
    told = {**_choices(content), "analyst": _text(analyst), "database": _text(database)}
    defined = []
    for name in chosen:
        most, body = FUNCTIONS[name]
        defined.append(f"CREATE MACRO {PREFIX}{name}({', '.join('abcd'[:most])}) AS {body.format(**told)};\n")
    return "".join(defined)


def _choices(content: Content) -> dict[str, str]:
    types = {one.oid: formatted(one.name) for one in pg_types().values()}
    classes = [(oid, name) for name, _schema, oid, _columns, _text in content.classes()]
    texts = [(oid, text) for _name, _schema, oid, _columns, text in content.classes() if text]
    names = {name: one.oid for one in pg_types().values() for name in (one.name, formatted(one.name))}
    schemas = {f"{schema}.{name}": oid for name, schema, oid, _columns, _text in content.classes()}
    settings = [(name.lower(), value) for name, value in SETTINGS.items()]
    hidden = [oid for _name, schema, oid, _columns, _text in content.classes() if schema == "information_schema"]
    return {
        "hidden": ", ".join(map(str, hidden)),
        "types": _choice(types.items()),
        "functions": _choice((oid, _quoted(name)) for oid, name in function_names().items()),
        "names_of_classes": _looked_up((oid, _quoted(name)) for oid, name in classes),
        "names_of_types": _looked_up(types.items()),
        "texts": _choice(texts),
        "arguments": _choice(function_arguments().items()),
        "settings": _choice(settings),
        "classes_by_name": _looked_up([*((name, oid) for oid, name in classes), *schemas.items()]),
        "types_by_name": _looked_up(names.items()),
    }


def _choice(pairs: Iterable[tuple[object, object]]) -> str:
    # A first case that is never taken gives the choice its type, also where there are no pairs.
    return "".join(f" WHEN {_text(one)} THEN {_text(other)}" for one, other in pairs) or " WHEN NULL THEN NULL"


def _looked_up(pairs: Iterable[tuple[object, object]]) -> str:
    """Return the start of a look-up, which computes once what is looked up: CASE computes it for every WHEN."""
    known, found = zip(*pairs, strict=True)
    return f"list_extract([{', '.join(map(_text, found))}], list_position([{', '.join(map(_text, known))}]"


def _text(value: object) -> str:
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


def _quoted(name: str) -> str:
    is_plain = name.isascii() and name.replace("_", "a").isalnum() and name == name.lower() and not name[0].isdigit()
    return name if is_plain else '"' + name.replace('"', '""') + '"'
