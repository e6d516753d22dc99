"""A table of 4,000 rows whose checks are far from their limits, so that every way of a suite must find them all."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from dpdb.ledger import Ledger

ROWS = 4_000
PLAIN_CHECKS = """\
plain: zip -> city  warn above 0, fail above 20 rows
clean: UNIQUE(id)  fail above 300 rows
share: not(t1.age < 0)  fail above 1%
known: not(t1.age > 90)  fail above 10% of non-null
many: row_count  fail below 100
few: row_count WHERE city = 'none'  fail below 300
twice: UNIQUE(pair)  fail above 300 duplicate values
"""


def table() -> pa.Table:
    row = range(ROWS)
    return pa.table(
        {
            "id": list(row),
            "zip": [k // 4 for k in row],
            "city": ["other" if k % 8 == 0 else f"c{k // 4}" for k in row],  # 500 rows to delete
            "age": [-1 if k < 400 else None if k < 800 else k % 90 for k in row],  # 400 of 4,000; none above 90
            "pair": [k // 2 if k < 1_200 else k for k in row],  # 600 values twice
        }
    )


def write_plain(suite: str, ledgers: dict[str, tuple[float, str]]) -> None:
    """Write ``t.parquet``, ``suite.txt`` and ledgers, each of a budget in a notion, here."""
    pq.write_table(table(), "t.parquet")
    Path("suite.txt").write_text(suite)
    for name, (budget, notion) in ledgers.items():
        Ledger.create(name, budget, notion=notion).close()
