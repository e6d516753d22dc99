"""The receipts of a job: one for each release, check and diagnosis of a run, in the file that the job names.

A run that is repeated has the receipts that the file has; a run that was killed before a receipt has it afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dpdb.errors import ParameterError

if TYPE_CHECKING:  # jobs without receipts need no signatures
    from dpdb.doors.jobs.job_file import Job
    from dpdb.receipts import ReceiptFile, SigningKey

__all__ = ["check_receipts", "open_receipts"]


def check_receipts(job: Job) -> None:
    """Refuse a key that cannot be used, without touching the file of receipts."""
    _key(job)


@contextmanager
def open_receipts(job: Job) -> Iterator[ReceiptFile | None]:
    """Open the file of receipts; None for a job without.

    Raises
    ------
    ParameterError
        The key or the file cannot be used.
    LedgerError
        The ledger has not what the key has signed, or what the file holds.
    """
    key = _key(job)
    if key is None or job.receipt is None:
        yield None
        return
    from dpdb.receipts import ReceiptFile

    with ReceiptFile(job.receipt, key, job.ledger) as opened:
        yield opened


def _key(job: Job) -> SigningKey | None:
    if job.receipt_key is None and job.receipt is None:
        return None
    if job.receipt_key is None or job.receipt is None:
        raise ParameterError(
            f"{job.path}: the keys 'receipt' and 'receipt_key' (--receipt FILE, --receipt-key KEY) go together; "
            "`dpdb receipts key KEY` makes the key"
        )
    from dpdb.receipts import load_key

    key = load_key(job.receipt_key)
    key.refuse_beside(job.ledger)
    return key
