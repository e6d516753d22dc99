"""`dpdb witness`."""

from __future__ import annotations

import argparse
from typing import Any

from dpdb.doors.cli.shared_options import command
from dpdb.doors.cli.streams import show
from dpdb.errors import ParameterError

__all__ = ["add_witness"]


def add_witness(commands: Any) -> None:
    """Add `dpdb witness`."""
    text = "keep a ledger's checkpoint in another place, and notice a ledger that went back or was forked"
    example = "dpdb witness /mnt/other/visits.witness --ledger visits.ledger --receipt-key keys/receipts.key"
    parser = command(commands, "witness", _witness, text, example)
    parser.add_argument("file", metavar="FILE", help="file of the witness, to which checkpoints are appended")
    parser.add_argument("receipts", metavar="RECEIPTS", nargs="*", help="receipts, where the ledger cannot be read")
    parser.add_repeated("--key", metavar="PUB", help="public key of receipts; repeatable")
    parser.add_argument("--ledger", metavar="FILE", help="the ledger, for its owner")
    parser.add_argument("--receipt-key", metavar="KEY", help="with --ledger: private key of receipts")
    parser.add_argument("--cosign", metavar="KEY", help="the witness's own private key: cosign what is kept")


def _witness(options: argparse.Namespace) -> int:
    """Keep what was shown to follow what is kept; otherwise refuse."""
    from dpdb.receipts import Issuer, WitnessFile, load_key, load_public, open_receipt, read_receipts

    own = None if options.cosign is None else load_key(options.cosign)
    keys = [load_public(each) for each in options.key]
    if options.ledger is not None:
        if options.receipt_key is None or options.receipts:
            raise ParameterError("with --ledger give --receipt-key KEY, and no receipts")
        signer = load_key(options.receipt_key)
        keys += [signer.note_key, *map(load_public, signer.earlier)]
        witness = WitnessFile(options.file, keys, own)
        with Issuer(options.ledger, signer) as issuer:
            kept = [witness.keep_ledger(issuer)]
    else:
        if not options.receipts or not keys:
            raise ParameterError("give RECEIPTS with --key PUB, or --ledger with --receipt-key")
        witness = WitnessFile(options.file, keys, own)
        lines = [line for path in options.receipts for line in read_receipts(path)]
        kept = witness.keep_receipts([open_receipt(line, keys) for line in lines])
    show("\n".join(f"{options.file}: {one.origin}, {one.size} lines, root {one.root.hex()}" for one in kept))
    return 0
