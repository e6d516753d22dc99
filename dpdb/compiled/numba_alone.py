"""numba, without the settings file that it looks for in the current folder: anybody may have written that file.

`.numba_config.yaml` would decide how code is compiled and where compiled code is read from. Its variables
(`NUMBA_CACHE_DIR`) stay the caller's word. Where somebody else has imported numba before, nothing is changed.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

__all__ = ["njit", "types"]


def _import_numba() -> None:
    modules: dict[str, Any] = sys.modules
    hidden = modules.get("yaml")
    modules["yaml"] = None  # cannot be imported: so numba reads no such file
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it cannot
            import numba.core.config
        numba.core.config._config_fname = os.devnull  # looked for again whenever something is compiled
    finally:
        del modules["yaml"]
        if hidden is not None:
            modules["yaml"] = hidden


if "numba" not in sys.modules:
    _import_numba()

from numba import njit, types  # noqa: E402
