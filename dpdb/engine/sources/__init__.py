"""Kinds of sources, one file each: where their rows are and how they become rows of one scan or stream."""
