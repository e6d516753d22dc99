"""Exact statistics for owners and evaluation: covers, integer programs, maximal consistent subsets."""
