"""Reading a WHERE clause without a schema, for lists of queries (`dpdb overlap`). Importing this loads sqlglot."""

from __future__ import annotations

from dpdb.predicates.text_reader.reader import parse_counting_query, parse_where

__all__ = ["parse_counting_query", "parse_where"]
