"""Covers of conflict graphs that lack some rows: which rows may be missing, and the proof of the same cover."""
