"""Synthetic tables that satisfy a set of constraints, to plan with instead of a private table.

Pure and seeded, for evaluation only: nothing here reads a table or makes a release.
"""

from dpdb.owner.synthetic.allowed import allowed_domains
from dpdb.owner.synthetic.table import SyntheticTable, synthesize

__all__ = ["SyntheticTable", "allowed_domains", "synthesize"]
