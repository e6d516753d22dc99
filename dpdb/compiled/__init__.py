"""Machine code for loops over arrays: numba compiles it once on a machine, llvmlite alone loads it afterwards.

Kernels get all their memory from the caller. Their machine code is kept in files of our own, so that a process which
finds them there never imports numba, whose import takes longer than most statistics.

Kernels do a bounded amount of work and return, so that Python can handle signals: see `dpdb.graph.steps`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.compiled.kernel import Kernel as Kernel, kernel as kernel
from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.compiled.object_file import (
        NotCompiledError as NotCompiledError,
        compiled_so_far as compiled_so_far,
        nothing_compiled as nothing_compiled,
        tell_when_long as tell_when_long,
    )
    from dpdb.compiled.portable_code import written_to as written_to
else:
    __getattr__, __all__ = lazy_names(__name__)
