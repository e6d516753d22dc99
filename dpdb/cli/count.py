"""`dpdb count`."""

from __future__ import annotations

import argparse

from dpdb.cli.measure import as_tuple, print_releases
from dpdb.cli.options import csv_schema, keys
from dpdb.session import Session

__all__ = ["run_count"]


def run_count(options: argparse.Namespace) -> int:
    """Release the number of rows of the table, of a slice, or of one slice per key."""
    with Session(
        options.source,
        table=options.table,
        csv_schema=csv_schema(options),
        budget=None if options.ledger else options.epsilon,
        ledger=options.ledger,
        rows_per_person=options.rows_per_person,
        unit=options.unit,
        max_rows=options.max_rows,
        memory_limit=options.memory_limit,
        temp_directory=options.temp_directory,
        threads=options.threads,
    ) as session:
        released = session.dp_count(
            options.epsilon,
            rho=options.rho,
            where=options.where,
            by=options.by,
            keys=keys(options),
            confidence=options.confidence,
            run_id=options.run_id,
        )
    print_releases(as_tuple(released), options.format)
    return 0
