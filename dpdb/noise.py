"""The former name of `dpdb.owner.dirt`, for one release."""

from __future__ import annotations

import warnings

from dpdb.owner.dirt import NoiseSummary, conoise, rnoise, write_noisy

__all__ = ["NoiseSummary", "conoise", "rnoise", "write_noisy"]

warnings.warn("dpdb.noise is dpdb.owner.dirt now; the old name goes away", DeprecationWarning, stacklevel=2)
