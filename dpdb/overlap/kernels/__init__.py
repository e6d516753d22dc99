"""Compiled loops of the overlap solver. Importing one of these modules imports numba: do it inside functions.

Each module is self-contained: numba's disk cache looks at the file of a kernel, not at the files of what it calls.
"""
