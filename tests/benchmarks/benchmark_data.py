"""The data sets of benchmarks: `examples/make_data.py` makes them once, in `build`, which git ignores."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@cache
def data_folder() -> Path:
    """Return the folder with the five data sets and their rules, Tax with a million rows."""
    folder = ROOT / "build" / "data"
    if not (folder / "flight_synthetic.parquet").exists():  # the last one that is made
        subprocess.run([sys.executable, str(ROOT / "examples" / "make_data.py"), str(folder)], check=True)
    return folder
