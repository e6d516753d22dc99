"""The session room: one table, its constraints, its budget; every release goes through here.

The order is always: check everything public, debit the budget, compute, draw noise, keep the release.
"""

from dpdb.release.budget import Budget
from dpdb.release.change import Change
from dpdb.release.release import Release, Releases, recorded_releases
from dpdb.release.session import Session, open_session

__all__ = [
    "Budget",
    "Change",
    "Release",
    "Releases",
    "Session",
    "open_session",
    "recorded_releases",
]
