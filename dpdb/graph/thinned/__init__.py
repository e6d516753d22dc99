"""Covers of conflict graphs of which some rows are missing: which rows may be, and the proof that none mattered."""
