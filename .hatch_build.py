"""What a wheel carries beside the sources: the kernels, compiled as far as that is the same on all machines.

Needs numba where the wheel is built. Where it cannot be had (`--no-build-isolation` without it), or for an editable
installation, nothing is carried, and kernels are compiled from their sources at first use.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_PROGRAM = """
import sys
from pathlib import Path
from dpdb.compiled import written_to
from dpdb.graph import load_all_kernels
from dpdb.overlap import load_search
with written_to(Path(sys.argv[1])):
    load_all_kernels()
    load_search()
"""


class PortableKernels(BuildHookInterface):
    """Writes the kernels' intermediate code into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Run numba in a process of its own, without optimizing and without keeping anything else."""
        if version == "editable":
            return
        self._folder = Path(mkdtemp())
        kernels = self._folder / "kernels"
        kernels.mkdir()
        # pip's environment for builds is in PYTHONPATH.
        path = os.pathsep.join(filter(None, [self.root, os.environ.get("PYTHONPATH")]))
        environment = {"PYTHONPATH": path, "NUMBA_OPT": "0", "NUMBA_CACHE_DIR": str(self._folder / "cache")}
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM, str(kernels)],
            env={**os.environ, **environment}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            self.app.display_warning(f"kernels will be compiled at first use: {done.stderr[-500:]}")
        else:
            build_data["force_include"][str(kernels)] = "dpdb/compiled/portable"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove what is in the wheel now."""
        if version != "editable":
            shutil.rmtree(self._folder, ignore_errors=True)
