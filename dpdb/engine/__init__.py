"""The engine: the one place where SQL runs.

Other packages import from here, and from no module below: `dpdb.opening.open_table` gives a `Table`, `Table.slice` a
`Slice` (see `interface`). Constraints become sqlglot trees (`sql.bind`), trees become DuckDB SQL inside `Database`, and
the conflict table leaves this package only as ordered Arrow batches and integers. No noise is drawn and no budget is
known here.

Names are imported when they are first used: who asks for a type loads no database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.engine.alike import (
        Alike as Alike,
        count_thinned as count_thinned,
        count_together as count_together,
        forms_alike as forms_alike,
        may_be_together as may_be_together,
    )
    from dpdb.engine.broken import (
        BrokenCounts as BrokenCounts,
        OwnersBroken as OwnersBroken,
        Told as Told,
        columns_of as columns_of,
        of_owners as of_owners,
        of_rows as of_rows,
    )
    from dpdb.engine.closed_forms import (
        Form as Form,
        GroupForm as GroupForm,
        KeysForm as KeysForm,
        RuleStatistic as RuleStatistic,
        SortedForm as SortedForm,
        StatisticKind as StatisticKind,
        SteppedForm as SteppedForm,
        exact_statistic as exact_statistic,
        why_no_decisions as why_no_decisions,
    )
    from dpdb.engine.compared import (
        ComparedColumn as ComparedColumn,
        ComparedColumns as ComparedColumns,
        Differences as Differences,
        Side as Side,
        count_differences as count_differences,
        write_compared as write_compared,
    )
    from dpdb.engine.count_all import (
        count_gathered as count_gathered,
        counted_in_any_case as counted_in_any_case,
        key_histogram as key_histogram,
        load_counting as load_counting,
        of_key as of_key,
        violating_alone as violating_alone,
    )
    from dpdb.engine.count_classes import HASH as HASH, Hashes as Hashes, histogram_of as histogram_of
    from dpdb.engine.dependency_counts import (
        DependencyCounts as DependencyCounts,
        Direction as Direction,
        PairCounts as PairCounts,
        count_dependencies as count_dependencies,
    )
    from dpdb.engine.for_owner import (
        arrow_forgets as arrow_forgets,
        cells_without_value as cells_without_value,
        count_cells as count_cells,
        export_edges as export_edges,
        listed_rows as listed_rows,
        read_rows as read_rows,
        source_rows as source_rows,
        suggestions as suggestions,
        violating_pairs as violating_pairs,
        write_rows as write_rows,
    )
    from dpdb.engine.interface import (
        Edges as Edges,
        Engine as Engine,
        Partners as Partners,
        Progress as Progress,
        Slice as Slice,
        Table as Table,
        Thinning as Thinning,
        no_progress as no_progress,
    )
    from dpdb.engine.owners import (
        OwnerQuestion as OwnerQuestion,
        disjoint_pairs as disjoint_pairs,
        holds as holds,
        is_of_pairs as is_of_pairs,
        key_of as key_of,
        questions_columns as questions_columns,
        sharing_queries as sharing_queries,
    )
    from dpdb.engine.parents.across import BoundInclusion as BoundInclusion
    from dpdb.engine.parents.declared import (
        DeclaredParent as DeclaredParent,
        MeasuredSource as MeasuredSource,
        ParentFiles as ParentFiles,
        refuse_second_names as refuse_second_names,
        same_name as same_name,
        table_beside as table_beside,
    )
    from dpdb.engine.parents.opened import (
        FoundParents as FoundParents,
        ParentTable as ParentTable,
        folded_parents as folded_parents,
        refuse_undeclared as refuse_undeclared,
        spelled_as as spelled_as,
    )
    from dpdb.engine.slice import (
        LocalSlice as LocalSlice,
        constrained_columns as constrained_columns,
        explained_constraint as explained_constraint,
        texts_compared_alone as texts_compared_alone,
    )
    from dpdb.engine.sql.bind import (
        BoundConstraint as BoundConstraint,
        BoundPredicate as BoundPredicate,
        coincidences as coincidences,
    )
    from dpdb.engine.sql.class_histograms import (
        ClassHistogram as ClassHistogram,
        class_histograms as class_histograms,
        has_class_histogram as has_class_histogram,
    )
    from dpdb.engine.sql.comparison import untyped_problem as untyped_problem
    from dpdb.engine.sql.decision_counts import count_decisions as count_decisions
    from dpdb.engine.sql.input_rows import (
        CHILD_ROW as CHILD_ROW,
        PARENT_ROW as PARENT_ROW,
        AcrossColumn as AcrossColumn,
        KeyPair as KeyPair,
    )
    from dpdb.engine.sql.joins import (
        NESTED_LOOP_ROWS as NESTED_LOOP_ROWS,
        CrossTerm as CrossTerm,
        GroupTerm as GroupTerm,
        degree_terms as degree_terms,
        refuse_nested_loops as refuse_nested_loops,
    )
    from dpdb.engine.sql.key_counts import sharing_rows as sharing_rows
    from dpdb.engine.sql.rule_counts import group_count as group_count, stepped_count as stepped_count
    from dpdb.engine.sql.where import (
        WherePredicate as WherePredicate,
        comparable_column as comparable_column,
        unit_column as unit_column,
    )
    from dpdb.engine.table import (
        BoundTable as BoundTable,
        LocalEngine as LocalEngine,
        LocalTable as LocalTable,
        described as described,
        own_database as own_database,
    )
    from dpdb.engine.table_spec import (
        LIMITS as LIMITS,
        SETTINGS as SETTINGS,
        MachineLimits as MachineLimits,
        ProtectedChange as ProtectedChange,
        PublicSizes as PublicSizes,
        TableSettings as TableSettings,
        TableSpec as TableSpec,
        with_settings as with_settings,
    )
    from dpdb.engine.unit_rows import (
        ChildKey as ChildKey,
        child_key as child_key,
        kept_children as kept_children,
        kept_children_sql as kept_children_sql,
        kept_rows as kept_rows,
        kept_rows_sql as kept_rows_sql,
        limited_keys as limited_keys,
    )
else:
    __getattr__, __all__ = lazy_names(__name__)
