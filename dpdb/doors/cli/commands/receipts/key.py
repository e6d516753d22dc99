"""`dpdb receipts key`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dpdb.doors.cli.shared_options import command
from dpdb.doors.cli.streams import show

__all__ = ["add_key"]


def add_key(actions: Any) -> None:
    """Add `dpdb receipts key`."""
    text = "make a private key of receipts (mode 0600), and its public key beside it as KEY.pub"
    parser = command(actions, "key", _key, text, "dpdb receipts key keys/receipts.key --name example.org/visits")
    parser.add_argument("key", metavar="KEY", help="new file, in another folder than any ledger")
    parser.add_argument("--name", metavar="NAME", default="dpdb.receipts", help="of the key, one word (dpdb.receipts)")
    parser.add_repeated("--follows", metavar="PUB", help="public key that was lost or retired; repeatable")


def _key(options: argparse.Namespace) -> int:
    """Make the key and print the public one."""
    from dpdb.receipts import load_public, new_key_file

    earlier = tuple(load_public(each).vkey for each in options.follows)
    show(new_key_file(Path(options.key), options.name, earlier).vkey)
    return 0
