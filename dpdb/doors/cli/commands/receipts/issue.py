"""`dpdb receipts issue`."""

from __future__ import annotations

import argparse
from typing import Any

from dpdb.doors.cli.shared_options import command
from dpdb.doors.cli.streams import show
from dpdb.errors import ParameterError

__all__ = ["add_issue"]


def add_issue(actions: Any) -> None:
    """Add `dpdb receipts issue`."""
    text = "print the receipt of a run or of a release that was spent for before; spends nothing"
    example = "dpdb receipts issue visits.ledger --run-id monday --receipt-key keys/receipts.key"
    parser = command(actions, "issue", _issue, text, example)
    parser.add_argument("ledger", metavar="LEDGER", help="file of the ledger")
    parser.add_argument("--receipt-key", metavar="KEY", required=True, help="private key of receipts")
    parser.add_argument("--run-id", metavar="ID", help="the run")
    parser.add_argument("--suite", metavar="NAME", help="the kept suite that the run is of")
    parser.add_argument("--release", metavar="ID", help="the release")
    parser.add_repeated(
        "--after", metavar="FILE", help="receipts, or a witness's file: shown to be of the same log; repeatable"
    )


def _issue(options: argparse.Namespace) -> int:
    """Print one receipt."""
    from dpdb.receipts import Issuer, load_key, load_public, open_receipt, read_checkpoints, read_receipts

    if (options.run_id is None) == (options.release is None):
        raise ParameterError("give --run-id ID or --release ID")
    key = load_key(options.receipt_key)
    known = [key.note_key, *map(load_public, key.earlier)]
    after = []
    for path in options.after:
        lines = read_receipts(path)
        if lines[0].startswith(b"{"):
            after += [open_receipt(line, known).checkpoint for line in lines]
        else:
            after += read_checkpoints(path, known)
    with Issuer(options.ledger, key) as issuer:
        found = issuer.found(run_id=options.run_id, suite=options.suite, release_id=options.release)
        show(issuer.issue(*found, after).decode().removesuffix("\n"))
    return 0
