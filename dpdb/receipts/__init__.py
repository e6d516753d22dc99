"""Receipts: what was spent, in which order, provable without the data and without trusting the owner's copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.receipts.issue import Issuer as Issuer, LedgerTree as LedgerTree
    from dpdb.receipts.keys import (
        SigningKey as SigningKey,
        load_key as load_key,
        load_public as load_public,
        new_key_file as new_key_file,
    )
    from dpdb.receipts.notes import Checkpoint as Checkpoint, parse_checkpoint as parse_checkpoint
    from dpdb.receipts.receipt import (
        Receipt as Receipt,
        ReceiptFile as ReceiptFile,
        open_receipt as open_receipt,
        read_receipts as read_receipts,
    )
    from dpdb.receipts.statement import digest as digest
    from dpdb.receipts.verification import NOT_PROVEN as NOT_PROVEN, Verified as Verified, verify as verify
    from dpdb.receipts.witness import WitnessFile as WitnessFile, read_checkpoints as read_checkpoints
else:
    __getattr__, __all__ = lazy_names(__name__)
