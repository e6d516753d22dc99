"""Count exact statistics of rules over a Parquet file beside the plain GROUP BY, and print processor seconds as JSON.

Arguments: file, rules (a JSON list), and the columns x and y of the plain GROUP BY, or nothing.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable

from peak import peak_gigabytes

from dpdb.engine import exact_statistic
from dpdb.opening import open_table

REPEATED = 3


def seconds(work: Callable[[], object]) -> float:
    """Return the processor seconds of the fastest of some runs."""

    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return usage.ru_utime + usage.ru_stime

    found = []
    for _ in range(REPEATED if columns else 1):
        start = used()
        work()
        found.append(used() - start)
    return min(found)


path, rules, *columns = sys.argv[1:]
with open_table(path, constraints=json.loads(rules)) as table:
    asked = [exact_statistic([rule], table.schema) for rule in table.constraints]
    known = [one for one in asked if one is not None]
    result: dict[str, float] = {"rules": len(known), "counted": seconds(lambda: table.count_all(None, known))}
    if columns:
        x, y = columns
        plain = f"SELECT count(*) FROM (SELECT {x}, {y}, count(*) FROM '{path}' GROUP BY {x}, {y})"
        result["plain"] = seconds(lambda: table.database.value(plain))  # type: ignore[attr-defined]
print(json.dumps({**result, "peak GB": peak_gigabytes()}))
