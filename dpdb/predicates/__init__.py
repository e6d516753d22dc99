"""Predicates: one tree of a WHERE clause gives both the rows that are read and the rows that are charged.

`parse` takes text, `bind` types it with what the engine knows, `sql` writes it for the engine, `covered` finds the
region that the accountant charges, as boxes over columns. Pure: no database is asked here, and no row is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.predicates.bind import refuse_unknown_parts
    from dpdb.predicates.nodes import (
        TRUE,
        And,
        Arithmetic,
        Call,
        Column,
        Comparison,
        Constant,
        Flag,
        Like,
        Literal,
        LiteralValue,
        Membership,
        Node,
        Not,
        NullTest,
        Or,
        Term,
        TermComparison,
        Value,
        all_of,
        columns_in,
        columns_of,
    )
    from dpdb.predicates.region import (
        Box,
        Region,
        covered,
        covered_groups,
        hull,
        meet,
        region_from_text,
        region_to_text,
    )
    from dpdb.predicates.sql import condition, data_type, in_type, literal_sql, term_sql
    from dpdb.predicates.terms import (
        LONGEST_ENUM,
        enum_type,
        enum_values,
        equality_type,
        is_enum,
        orders_alike,
        type_words,
    )
    from dpdb.predicates.value_sets import Cut, ValueSet

__all__ = [
    "LONGEST_ENUM",
    "TRUE",
    "And",
    "Arithmetic",
    "Box",
    "Call",
    "Column",
    "Comparison",
    "Constant",
    "Cut",
    "Flag",
    "Like",
    "Literal",
    "LiteralValue",
    "Membership",
    "Node",
    "Not",
    "NullTest",
    "Or",
    "Region",
    "Term",
    "TermComparison",
    "Value",
    "ValueSet",
    "all_of",
    "columns_in",
    "columns_of",
    "condition",
    "covered",
    "covered_groups",
    "data_type",
    "enum_type",
    "enum_values",
    "equality_type",
    "hull",
    "in_type",
    "is_enum",
    "literal_sql",
    "meet",
    "orders_alike",
    "refuse_unknown_parts",
    "region_from_text",
    "region_to_text",
    "term_sql",
    "type_words",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "bind": "refuse_unknown_parts",
            "nodes": (
                "And Arithmetic Call Column Comparison Constant Flag Like Literal LiteralValue Membership "
                "Node Not NullTest Or TRUE Term TermComparison Value all_of columns_in columns_of"
            ),
            "region": "Box Region covered covered_groups hull meet region_from_text region_to_text",
            "sql": "condition data_type in_type literal_sql term_sql",
            "terms": "LONGEST_ENUM enum_type enum_values equality_type is_enum orders_alike type_words",
            "value_sets": "Cut ValueSet",
        },
    )
