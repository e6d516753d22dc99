"""Compiled loops over edges; see `dpdb.compiled`.

A kernel is compiled again if its file or the file of a kernel that it calls changes: they hold all that it uses.
"""
