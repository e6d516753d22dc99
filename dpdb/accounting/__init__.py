"""Accounting: what a set of releases really costs (paper B), as integers; no SQL runs on user tables here.

Predicates say which rows a release covers, the overlap solver bounds the largest total charge of any possible row, and
composition turns privacy parameters into charges. Nothing in this room draws random noise or looks at data.
"""

from __future__ import annotations

from dpdb.accounting.attribute_sets import ValueSet
from dpdb.accounting.bound import Bound, Witness
from dpdb.accounting.composition import GDP, NOTIONS, PURE, ZCDP, Notion
from dpdb.accounting.ledger import Ledger
from dpdb.accounting.ledger_lines import LedgerEntry, LedgerSummary, Reservation
from dpdb.accounting.marks import SourceMark
from dpdb.accounting.online import Decision, OverlapIndex
from dpdb.accounting.overlap import METHODS, maximum_overlap
from dpdb.accounting.predicates import Predicate, parse_counting_query, parse_where
from dpdb.accounting.report import OverlapReport, overlap_report

__all__ = [
    "GDP",
    "METHODS",
    "NOTIONS",
    "PURE",
    "ZCDP",
    "Bound",
    "Decision",
    "Ledger",
    "LedgerEntry",
    "LedgerSummary",
    "Notion",
    "OverlapIndex",
    "OverlapReport",
    "Predicate",
    "Reservation",
    "SourceMark",
    "ValueSet",
    "Witness",
    "maximum_overlap",
    "overlap_report",
    "parse_counting_query",
    "parse_where",
]
