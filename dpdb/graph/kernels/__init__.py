"""Compiled loops over edges; see `dpdb.compiled`.

A kernel is compiled again when its file changes, or one with a kernel that it calls: what else it uses stands there.
"""
