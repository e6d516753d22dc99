"""All figures and Table 1 of paper B, in one process, so that figures of the same experiment share its runs.

python run_all.py FOLDER --quick      # within 5 minutes on two cores
python run_all.py FOLDER              # hours: every experiment says its longest possible time before it starts
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Sequence

from common import options

SCRIPTS = (
    "comparison",
    "table_1",
    "figure_4",
    "figure_5",
    "figure_6",
    "figure_1",
    "figure_2",
    "figure_3",
    "figure_7",
    "figure_9",
    "figure_10",
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every script with the same folder."""
    chosen = options(__doc__, arguments)
    passed = [str(chosen.out), *(["--quick"] if chosen.quick else [])]
    began = time.perf_counter()
    for number, name in enumerate(SCRIPTS, start=1):
        print(f"[{number}/{len(SCRIPTS)}] {name}, after {time.perf_counter() - began:.0f} s", file=sys.stderr)
        importlib.import_module(name).main(passed)
    print(f"\nall done in {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
