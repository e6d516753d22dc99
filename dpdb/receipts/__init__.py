"""Receipts: what was spent, in which order, provable without the data and without trusting the owner's copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.receipts.issue import Issuer
    from dpdb.receipts.keys import SigningKey, load_key, load_public, new_key_file
    from dpdb.receipts.notes import Checkpoint, parse_checkpoint
    from dpdb.receipts.receipt import Receipt, ReceiptFile, open_receipt, read_receipts
    from dpdb.receipts.verification import NOT_PROVEN, Verified, verify
    from dpdb.receipts.witness import WitnessFile, read_checkpoints

__all__ = [
    "NOT_PROVEN", "Checkpoint", "Issuer", "Receipt", "ReceiptFile", "SigningKey", "Verified", "WitnessFile", "load_key",
    "load_public", "new_key_file", "open_receipt", "parse_checkpoint", "read_checkpoints", "read_receipts", "verify",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "issue": "Issuer",
            "keys": "SigningKey load_key load_public new_key_file",
            "notes": "Checkpoint parse_checkpoint",
            "receipt": "Receipt ReceiptFile open_receipt read_receipts",
            "verification": "NOT_PROVEN Verified verify",
            "witness": "WitnessFile read_checkpoints",
        },
    )
