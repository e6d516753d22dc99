"""Noise generators: dirty copies of a table for experiments (paper A, section 6.1).

A tool for the owner of the data, apart from everything private: its randomness is numpy's, seeded, and protects
nobody. Nothing that makes a release imports this package.
"""

from dpdb.owner.dirt.generators import conoise, rnoise
from dpdb.owner.dirt.write_noisy import NoiseSummary, write_noisy

__all__ = ["NoiseSummary", "conoise", "rnoise", "write_noisy"]
