"""The engine: the one place where SQL runs.

Other rooms import from here, and from no module below: `dpdb.opening.open_table` gives a `Table`, `Table.slice` a
`Slice` (see `interface`). Constraints become sqlglot trees (`sql.constraint_sql`), trees become DuckDB SQL inside
`Database`, and the conflict table leaves this room only as ordered Arrow batches and integers. No noise is drawn and no
budget is known here.

Names are imported when they are first used: who asks for a type loads no database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.engine.bound_table import BoundTable
    from dpdb.engine.closed_forms import (
        GroupForm,
        RuleStatistic,
        SortedForm,
        StatisticKind,
        SteppedForm,
        exact_statistic,
    )
    from dpdb.engine.count_all import key_histogram, load_counting, of_key
    from dpdb.engine.dependency_counts import DependencyCounts, Direction, PairCounts, count_dependencies
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
    from dpdb.engine.key_counts import HASH, Hashes, count_keys
    from dpdb.engine.owners import OwnerQuestion
    from dpdb.engine.parents.binding import BoundInclusion
    from dpdb.engine.parents.children import ChildKey, child_key, kept_children, kept_children_sql, limited_keys
    from dpdb.engine.parents.declared import DeclaredParent
    from dpdb.engine.parents.files import ParentFiles
    from dpdb.engine.parents.measured import same_name
    from dpdb.engine.parents.opened import ParentTable
    from dpdb.engine.parents.orphans import CHILD_ROW, PARENT_ROW, AcrossColumn, KeyPair
    from dpdb.engine.parents.rules import folded_parents, refuse_undeclared, resolved
    from dpdb.engine.setting_groups import ProtectedChange, PublicSizes, Setting, SettingKind
    from dpdb.engine.shared_keys import disjoint_pairs, key_of, sharing_queries
    from dpdb.engine.slice import LocalSlice
    from dpdb.engine.sql.bind import BoundConstraint, BoundPredicate
    from dpdb.engine.sql.class_histograms import ClassHistogram, class_histograms, has_class_histogram
    from dpdb.engine.sql.constraint_sql import coincidences
    from dpdb.engine.sql.degree_bound import CrossTerm, GroupTerm, degree_terms
    from dpdb.engine.sql.explained import explained_constraint
    from dpdb.engine.sql.for_owner.suggestions import suggestions
    from dpdb.engine.sql.for_owner.text_cells import count_cells
    from dpdb.engine.sql.for_owner.violations import export_edges, listed_rows, source_rows, violating_pairs
    from dpdb.engine.sql.joins import NESTED_LOOP_ROWS, refuse_nested_loops
    from dpdb.engine.sql.rule_counts import group_count
    from dpdb.engine.sql.untyped import untyped_problem
    from dpdb.engine.sql.where import WherePredicate, comparable_column, unit_column
    from dpdb.engine.steps.stepped_counts import stepped_count
    from dpdb.engine.table import LocalEngine, LocalTable, described, own_database
    from dpdb.engine.table_spec import LIMITS, SETTINGS, TableSettings, TableSpec, with_settings
    from dpdb.engine.unit_rows import kept_rows, kept_rows_sql
    from dpdb.engine.whole_table import arrow_forgets, read_rows, write_rows

__all__ = [
    "CHILD_ROW",
    "HASH",
    "LIMITS",
    "NESTED_LOOP_ROWS",
    "PARENT_ROW",
    "SETTINGS",
    "AcrossColumn",
    "BoundConstraint",
    "BoundInclusion",
    "BoundPredicate",
    "BoundTable",
    "ChildKey",
    "ClassHistogram",
    "CrossTerm",
    "DeclaredParent",
    "DependencyCounts",
    "Direction",
    "Edges",
    "Engine",
    "GroupForm",
    "GroupTerm",
    "Hashes",
    "KeyPair",
    "LocalEngine",
    "LocalSlice",
    "LocalTable",
    "OwnerQuestion",
    "PairCounts",
    "ParentFiles",
    "ParentTable",
    "Partners",
    "Progress",
    "ProtectedChange",
    "PublicSizes",
    "RuleStatistic",
    "Setting",
    "SettingKind",
    "Slice",
    "SortedForm",
    "StatisticKind",
    "SteppedForm",
    "Table",
    "TableSettings",
    "TableSpec",
    "Thinning",
    "WherePredicate",
    "arrow_forgets",
    "child_key",
    "class_histograms",
    "coincidences",
    "comparable_column",
    "count_cells",
    "count_dependencies",
    "count_keys",
    "degree_terms",
    "described",
    "disjoint_pairs",
    "exact_statistic",
    "explained_constraint",
    "export_edges",
    "folded_parents",
    "group_count",
    "has_class_histogram",
    "kept_children",
    "kept_children_sql",
    "kept_rows",
    "kept_rows_sql",
    "key_histogram",
    "key_of",
    "limited_keys",
    "listed_rows",
    "load_counting",
    "no_progress",
    "of_key",
    "own_database",
    "read_rows",
    "refuse_nested_loops",
    "refuse_undeclared",
    "resolved",
    "same_name",
    "sharing_queries",
    "source_rows",
    "stepped_count",
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
            "bound_table": "BoundTable",
            "closed_forms": "GroupForm RuleStatistic SortedForm StatisticKind SteppedForm exact_statistic",
            "count_all": "key_histogram load_counting of_key",
            "key_counts": "HASH Hashes count_keys",
            "dependency_counts": "DependencyCounts Direction PairCounts count_dependencies",
            "interface": "Edges Engine Partners Progress Slice Table Thinning no_progress",
            "owners": "OwnerQuestion",
            "parents.binding": "BoundInclusion",
            "parents.children": "ChildKey child_key kept_children kept_children_sql limited_keys",
            "parents.declared": "DeclaredParent",
            "parents.files": "ParentFiles",
            "parents.measured": "same_name",
            "parents.opened": "ParentTable",
            "parents.orphans": "CHILD_ROW PARENT_ROW AcrossColumn KeyPair",
            "parents.rules": "folded_parents refuse_undeclared resolved",
            "shared_keys": "disjoint_pairs key_of sharing_queries",
            "slice": "LocalSlice",
            "sql.bind": "BoundConstraint BoundPredicate",
            "sql.class_histograms": "ClassHistogram class_histograms has_class_histogram",
            "sql.constraint_sql": "coincidences",
            "sql.degree_bound": "CrossTerm GroupTerm degree_terms",
            "sql.explained": "explained_constraint",
            "sql.for_owner.suggestions": "suggestions",
            "sql.for_owner.text_cells": "count_cells",
            "sql.for_owner.violations": "export_edges listed_rows source_rows violating_pairs",
            "sql.joins": "NESTED_LOOP_ROWS refuse_nested_loops",
            "sql.rule_counts": "group_count",
            "steps.stepped_counts": "stepped_count",
            "sql.untyped": "untyped_problem",
            "sql.where": "WherePredicate comparable_column unit_column",
            "table": "LocalEngine LocalTable described own_database",
            "table_spec": "LIMITS SETTINGS TableSettings TableSpec with_settings",
            "setting_groups": "ProtectedChange PublicSizes Setting SettingKind",
            "unit_rows": "kept_rows kept_rows_sql",
            "whole_table": "arrow_forgets read_rows write_rows",
        },
    )
