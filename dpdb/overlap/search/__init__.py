"""Exact searches for the heaviest point: enumeration, branch and bound over queries, cliques and values."""
