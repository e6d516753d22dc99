"""Cells that are text, in columns of a declared type: which texts are values, and what is told of the others."""
