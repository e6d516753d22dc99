"""The session room: one table, its constraints, its budget; every release goes through here.

The order is always: check everything public, debit the budget, compute, draw noise, keep the release.
"""

from dpdb.session.budget import Budget
from dpdb.session.change import Change
from dpdb.session.release import Release
from dpdb.session.session import Session, dp_inconsistency, open_session

__all__ = ["Budget", "Change", "Release", "Session", "dp_inconsistency", "open_session"]
