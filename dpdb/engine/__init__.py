"""The engine: the one place where SQL runs.

Other rooms import from here, and from no module below: `dpdb.opening.open_table` gives a `Table`, `Table.slice` a
`Slice` (see `interface`). Constraints become sqlglot trees (`sql.bind`), trees become DuckDB SQL inside `Database`, and
the conflict table leaves this room only as ordered Arrow batches and integers. No noise is drawn and no budget is known
here.

Names are imported when they are first used: who asks for a type loads no database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.engine.closed_forms import (
        GroupForm,
        RuleStatistic,
        SortedForm,
        StatisticKind,
        SteppedForm,
        exact_statistic,
    )
    from dpdb.engine.count_all import key_histogram, load_counting, of_key
    from dpdb.engine.count_classes import HASH, Hashes, histogram_of
    from dpdb.engine.dependency_counts import DependencyCounts, Direction, PairCounts, count_dependencies
    from dpdb.engine.for_owner import (
        arrow_forgets,
        count_cells,
        export_edges,
        listed_rows,
        read_rows,
        source_rows,
        suggestions,
        violating_pairs,
        write_rows,
    )
    from dpdb.engine.interface import Edges, Engine, Partners, Progress, Slice, Table, Thinning, no_progress
    from dpdb.engine.owners import (
        OwnerQuestion,
        disjoint_pairs,
        holds,
        is_of_pairs,
        key_of,
        questions_columns,
        sharing_queries,
    )
    from dpdb.engine.parents.across import BoundInclusion
    from dpdb.engine.parents.declared import DeclaredParent, ParentFiles, refuse_second_names, same_name
    from dpdb.engine.parents.opened import FoundParents, ParentTable, folded_parents, refuse_undeclared, spelled_as
    from dpdb.engine.slice import LocalSlice, explained_constraint
    from dpdb.engine.sql.bind import BoundConstraint, BoundPredicate, coincidences
    from dpdb.engine.sql.class_histograms import ClassHistogram, class_histograms, has_class_histogram
    from dpdb.engine.sql.comparison import untyped_problem
    from dpdb.engine.sql.input_rows import CHILD_ROW, PARENT_ROW, AcrossColumn, KeyPair
    from dpdb.engine.sql.joins import NESTED_LOOP_ROWS, CrossTerm, GroupTerm, degree_terms, refuse_nested_loops
    from dpdb.engine.sql.rule_counts import group_count, stepped_count
    from dpdb.engine.sql.where import WherePredicate, comparable_column, unit_column
    from dpdb.engine.table import BoundTable, LocalEngine, LocalTable, described, own_database
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
    from dpdb.engine.unit_rows import (
        ChildKey,
        child_key,
        kept_children,
        kept_children_sql,
        kept_rows,
        kept_rows_sql,
        limited_keys,
    )
else:
    __getattr__, __all__ = lazy_names(__name__)
