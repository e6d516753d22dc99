"""Predicates: one tree of a WHERE clause gives both the rows that are read and the rows that are charged.

`parse` takes text, `bind` types it with what the engine knows, `sql` writes it for the engine, `covered` finds the
region that the accountant charges, as boxes over columns. Pure: no database is asked here, and no row is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.predicates.bind import literal_value as literal_value, refuse_unknown_parts as refuse_unknown_parts
    from dpdb.predicates.formats import re2_problem as re2_problem
    from dpdb.predicates.nodes import (
        TRUE as TRUE,
        And as And,
        Arithmetic as Arithmetic,
        Call as Call,
        CheckDigits as CheckDigits,
        Column as Column,
        Comparison as Comparison,
        Constant as Constant,
        Flag as Flag,
        Like as Like,
        Literal as Literal,
        LiteralValue as LiteralValue,
        Matches as Matches,
        Membership as Membership,
        Node as Node,
        Not as Not,
        NullTest as NullTest,
        Or as Or,
        Term as Term,
        TermComparison as TermComparison,
        Value as Value,
        all_of as all_of,
        columns_in as columns_in,
        columns_of as columns_of,
    )
    from dpdb.predicates.region import (
        Box as Box,
        Region as Region,
        covered as covered,
        covered_groups as covered_groups,
        hull as hull,
        meet as meet,
        region_from_text as region_from_text,
        region_to_text as region_to_text,
    )
    from dpdb.predicates.sql import (
        condition as condition,
        data_type as data_type,
        in_type as in_type,
        literal_sql as literal_sql,
        parse as parse,
        term_sql as term_sql,
    )
    from dpdb.predicates.terms import (
        IN_NANOSECONDS as IN_NANOSECONDS,
        LONGEST_ENUM as LONGEST_ENUM,
        MOMENTS as MOMENTS,
        NANOSECONDS as NANOSECONDS,
        ZONED as ZONED,
        ZONED_NANOSECONDS as ZONED_NANOSECONDS,
        cast_advice as cast_advice,
        enum_type as enum_type,
        enum_values as enum_values,
        equality_type as equality_type,
        is_enum as is_enum,
        orders_alike as orders_alike,
        text_problem as text_problem,
        type_words as type_words,
    )
    from dpdb.predicates.value_sets import Cut as Cut, ValueSet as ValueSet
else:
    __getattr__, __all__ = lazy_names(__name__)
