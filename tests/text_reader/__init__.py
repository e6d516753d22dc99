"""A second reader of WHERE clauses, the oracle beside `dpdb.predicates`: it knows no engine and needs no types."""

from __future__ import annotations

from text_reader.reader import parse_counting_query, parse_where

__all__ = ["parse_counting_query", "parse_where"]
