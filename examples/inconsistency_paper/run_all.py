"""All figures and tables of paper A, in one process, so that figures of the same experiment share its runs.

python run_all.py FOLDER --quick      # within 5 minutes on two cores
python run_all.py FOLDER --quick --rows 1000000    # with the last point of Figure 7
python run_all.py FOLDER              # says first how long it will take, from measured samples of the work

Ends with the list of the paper's statements that the run does not confirm, also in statements.csv.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Sequence

from common import Statement, options, report, write_csv
from estimate import estimated_seconds

SCRIPTS = (
    *(f"table_{number}" for number in (2, 3, 4, 5, 1)),
    *(f"figure_{number}" for number in (3, 4, 5, 6, 7, 8, 9)),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every script with the same arguments."""
    chosen = options(__doc__, arguments)
    if not chosen.quick:
        print("measuring samples of the work, itself some minutes ...", file=sys.stderr)
        print(f"this will take about {estimated_seconds(chosen) / 60:.0f} minutes", flush=True)
    passed = sys.argv[1:] if arguments is None else arguments
    began = time.perf_counter()
    statements: list[Statement] = []
    for number, name in enumerate(SCRIPTS, start=1):
        print(f"[{number}/{len(SCRIPTS)}] {name}, after {time.perf_counter() - began:.0f} s", file=sys.stderr)
        statements += importlib.import_module(name).main(passed)
    print("\n== statements of the paper that this run does not confirm ==")
    report([one for one in statements if one.confirmed is False])
    untested = [one for one in statements if one.confirmed is None]
    if untested:
        print("\n== not tested in this run ==")
        report(untested)
    print(f"\nconfirmed: {sum(one.confirmed is True for one in statements)} of {len(statements)} statements")
    write_csv(chosen.out / "statements.csv", statements)
    print(f"all done in {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
