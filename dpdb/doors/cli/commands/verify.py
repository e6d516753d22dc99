"""`dpdb verify`."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.shared_options import command, format_option
from dpdb.doors.cli.streams import one_line, say, show

if TYPE_CHECKING:
    from dpdb.receipts import Receipt, Verified

__all__ = ["add_verify"]


def add_verify(commands: Any) -> None:
    """Add `dpdb verify`."""
    text = "verify receipts: signatures, inclusion and order in the log, sums; with the ledger every charge, too"
    parser = command(commands, "verify", _verify, text, "dpdb verify receipts.jsonl --key receipts.key.pub")
    parser.add_argument("receipts", metavar="RECEIPTS", nargs="+", help="files with one receipt on each line")
    parser.add_argument(
        "--key", metavar="PUB", action="append", required=True, help="public key of receipts; repeatable"
    )
    parser.add_argument("--ledger", metavar="FILE", help="the ledger, for its owner or an auditor; read, never changed")
    parser.add_repeated("--witness", metavar="FILE", help="a witness's file; repeatable")
    parser.add_argument("--witness-key", metavar="PUB", help="the witness's public key: he must have cosigned all")
    format_option(parser)


def _verify(options: argparse.Namespace) -> int:
    """Verify, and tell by the exit code: 1 if something is refused, 5 if something could not be shown."""
    from dpdb.receipts import NOT_PROVEN, load_public, read_checkpoints, read_receipts, verify

    keys = [load_public(each) for each in options.key]
    his = None if options.witness_key is None else load_public(options.witness_key)
    lines = [
        (f"{path}, receipt {number}", line)
        for path in options.receipts
        for number, line in enumerate(read_receipts(path), 1)
    ]
    witnessed = [one for path in options.witness for one in read_checkpoints(path, keys, his)]
    found = verify(lines, keys, ledger=options.ledger, witnessed=witnessed)
    if options.format == "json":
        show(json.dumps(_object(found) | {"not_proven": NOT_PROVEN}, indent=2))
    else:
        show("\n".join([*map(_words, found.receipts), *found.found, *found.open, NOT_PROVEN]))
    for problem in found.refused:
        say(f"refused: {one_line(problem)}")
    return found.exit_code


def _words(one: tuple[str, Receipt | None]) -> str:
    place, receipt = one
    if receipt is None:
        return f"refused  {place}"
    sums, loss = receipt.claims["accounting"], receipt.claims["privacy_loss"]
    [(parameter, value)] = loss["privacy_parameters"].items()
    answered = "" if receipt.claims["debit"]["answered"] else ", not answered"
    scale, unit = sums["unit"].split(" ", 1)

    def amount(units: int) -> str:
        return f"{units * float(scale):.9g}"

    settled = "" if sums["settled"] is None else f", settled from {amount(sums['charge'])}"
    sum_ = " = ".join([f"{amount(sums['spent_before'])} + {amount(sums['charge'])}", amount(sums["spent_after"])])
    spent = f"{sum_} {unit} ({sums['scope']})"
    return one_line(
        f"holds    {place}: debit {receipt.claims['debit']['entry']} of {receipt.checkpoint.origin}, line "
        f"{receipt.place} of {receipt.checkpoint.size}, {parameter} {value:.9g}{settled}{answered}; spent {spent}"
    )


def _object(found: Verified) -> dict[str, Any]:
    return {
        "receipts": [
            {"place": place, "holds": receipt is not None, "statement": None if receipt is None else receipt.statement}
            for place, receipt in found.receipts
        ],
        "holds": found.found,
        "not_shown": found.open,
        "refused": found.refused,
    }
