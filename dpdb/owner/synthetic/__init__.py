"""Synthetic tables that satisfy a set of constraints, to plan with instead of a private table.

Pure and seeded, for evaluation only: nothing here reads a table or makes a release.
"""
