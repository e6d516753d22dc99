"""The engine: the one place where SQL runs.

Other rooms import from here, and from no module below: `open_table` gives a `Table`, `Table.slice` a `Slice` (see
`interface`). Constraints become sqlglot trees (`sql.constraint_sql`), trees become DuckDB SQL inside `Database`, and
the conflict table leaves this room only as ordered Arrow batches and integers. No noise is drawn and no budget is
known here.

Names are imported when they are first used: who asks for a type loads no database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.engine.interface import (
        Edges,
        Engine,
        Partners,
        Progress,
        Slice,
        Table,
        Thinning,
        no_progress,
    )
    from dpdb.engine.opening import (
        declared_table,
        empty_table,
        has_tables,
        is_remote,
        open_local_table,
        open_table,
    )
    from dpdb.engine.parents.binding import BoundInclusion
    from dpdb.engine.parents.children import ChildKey, child_key, kept_children_sql
    from dpdb.engine.parents.declared import DeclaredParent, ParentsLike, declared_parents
    from dpdb.engine.parents.orphans import KeyPair
    from dpdb.engine.schema import Column, TableSchema, TypeOrigin, refuse_duplicate_names
    from dpdb.engine.slice import LocalSlice
    from dpdb.engine.sources.addresses.urls import is_address, refuse_url
    from dpdb.engine.sources.cells.json_lines import member_names
    from dpdb.engine.sources.csv.lines import Faults
    from dpdb.engine.sources.files import Files
    from dpdb.engine.sources.places import find_files
    from dpdb.engine.sources.source import SourceLike
    from dpdb.engine.sources.text_columns import column_definition
    from dpdb.engine.sql.bind import BoundConstraint, BoundPredicate
    from dpdb.engine.sql.class_histograms import ClassHistogram, class_histograms, has_class_histogram
    from dpdb.engine.sql.codes import coded_columns
    from dpdb.engine.sql.constraint_sql import may_coincide
    from dpdb.engine.sql.degree_bound import CrossTerm, DegreeTerms, GroupTerm, degree_terms
    from dpdb.engine.sql.explained import ExplainedConstraint, explained_constraint
    from dpdb.engine.sql.files import sql_file
    from dpdb.engine.sql.for_owner.suggestions import suggestions
    from dpdb.engine.sql.for_owner.text_cells import count_cells
    from dpdb.engine.sql.for_owner.violations import export_edges, listed_rows, source_rows, violating_pairs
    from dpdb.engine.sql.joins import NESTED_LOOP_ROWS, refuse_nested_loops
    from dpdb.engine.sql.untyped import untyped_problem
    from dpdb.engine.sql.where import WherePredicate, comparable_column, unit_column
    from dpdb.engine.table import LocalTable
    from dpdb.engine.table_spec import (
        LIMITS,
        SETTINGS,
        ProtectedChange,
        PublicSizes,
        Setting,
        SettingKind,
        TableSettings,
        TableSpec,
        with_settings,
    )
    from dpdb.engine.unit_rows import kept_rows_sql
    from dpdb.engine.whole_table import WRITTEN, arrow_forgets, read_rows, write_rows

__all__ = [
    "LIMITS",
    "NESTED_LOOP_ROWS",
    "SETTINGS",
    "WRITTEN",
    "BoundConstraint",
    "BoundInclusion",
    "BoundPredicate",
    "ChildKey",
    "ClassHistogram",
    "Column",
    "CrossTerm",
    "DeclaredParent",
    "DegreeTerms",
    "Edges",
    "Engine",
    "ExplainedConstraint",
    "Faults",
    "Files",
    "GroupTerm",
    "KeyPair",
    "LocalSlice",
    "LocalTable",
    "ParentsLike",
    "Partners",
    "Progress",
    "ProtectedChange",
    "PublicSizes",
    "Setting",
    "SettingKind",
    "Slice",
    "SourceLike",
    "Table",
    "TableSchema",
    "TableSettings",
    "TableSpec",
    "Thinning",
    "TypeOrigin",
    "WherePredicate",
    "arrow_forgets",
    "child_key",
    "class_histograms",
    "coded_columns",
    "column_definition",
    "comparable_column",
    "count_cells",
    "declared_parents",
    "declared_table",
    "degree_terms",
    "empty_table",
    "explained_constraint",
    "export_edges",
    "find_files",
    "has_class_histogram",
    "has_tables",
    "is_address",
    "is_remote",
    "kept_children_sql",
    "kept_rows_sql",
    "listed_rows",
    "may_coincide",
    "member_names",
    "no_progress",
    "open_local_table",
    "open_table",
    "read_rows",
    "refuse_duplicate_names",
    "refuse_nested_loops",
    "refuse_url",
    "source_rows",
    "sql_file",
    "suggestions",
    "unit_column",
    "untyped_problem",
    "violating_pairs",
    "with_settings",
    "write_rows",
]

if not TYPE_CHECKING:  # type checkers know the names above, and should know no others
    __getattr__ = lazy_names(
        __name__,
        {
            "interface": "Edges Engine Partners Progress Slice Table Thinning no_progress",
            "opening": "declared_table empty_table has_tables is_remote open_local_table open_table",
            "parents.binding": "BoundInclusion",
            "parents.children": "ChildKey child_key kept_children_sql",
            "parents.declared": "DeclaredParent ParentsLike declared_parents",
            "parents.orphans": "KeyPair",
            "schema": "Column TableSchema TypeOrigin refuse_duplicate_names",
            "slice": "LocalSlice",
            "sources.addresses.urls": "is_address refuse_url",
            "sources.cells.json_lines": "member_names",
            "sources.csv.lines": "Faults",
            "sources.files": "Files",
            "sources.places": "find_files",
            "sources.source": "SourceLike",
            "sources.text_columns": "column_definition",
            "sql.bind": "BoundConstraint BoundPredicate",
            "sql.class_histograms": "ClassHistogram class_histograms has_class_histogram",
            "sql.codes": "coded_columns",
            "sql.constraint_sql": "may_coincide",
            "sql.degree_bound": "CrossTerm DegreeTerms GroupTerm degree_terms",
            "sql.explained": "ExplainedConstraint explained_constraint",
            "sql.files": "sql_file",
            "sql.for_owner.suggestions": "suggestions",
            "sql.for_owner.text_cells": "count_cells",
            "sql.for_owner.violations": "export_edges listed_rows source_rows violating_pairs",
            "sql.joins": "NESTED_LOOP_ROWS refuse_nested_loops",
            "sql.untyped": "untyped_problem",
            "sql.where": "WherePredicate comparable_column unit_column",
            "table": "LocalTable",
            "table_spec": "LIMITS ProtectedChange PublicSizes SETTINGS Setting SettingKind TableSettings TableSpec "
            "with_settings",
            "unit_rows": "kept_rows_sql",
            "whole_table": "WRITTEN arrow_forgets read_rows write_rows",
        },
    )
