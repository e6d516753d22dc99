"""Kernels of the overlap solver."""
