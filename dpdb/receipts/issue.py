"""`Issuer`: receipts of one ledger, signed; and the refusal to sign for a ledger that went back."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dpdb.errors import LedgerError, RollbackError
from dpdb.ledger import LedgerReading
from dpdb.receipts.keys import SigningKey, signing
from dpdb.receipts.merkle import Tree
from dpdb.receipts.notes import Checkpoint, sign_checkpoint, signature
from dpdb.receipts.statement import PAYLOAD_TYPE, canonical, envelope, pae, salts, stated
from dpdb.stopping import Closing


class LedgerTree(Closing):
    """The Merkle tree over the lines of a ledger, followed; every line is hashed once."""

    def __init__(self, ledger: LedgerReading) -> None:
        self.ledger = ledger
        self.log = ledger.log()
        self.tree = Tree()
        self.origin = f"dpdb.ledger/{self.log.id}"
        self.refresh()

    def refresh(self) -> None:
        """Read the lines that were added."""
        self.tree.extend(self.log.read())

    @property
    def newest(self) -> Checkpoint:
        """The log as it was read last."""
        return self.at(self.tree.size)

    def at(self, size: int) -> Checkpoint:
        """Return the first `size` of the lines that were read."""
        return Checkpoint(self.origin, size, self.tree.root(size))

    def holds(self, known: Checkpoint) -> bool:
        """Return whether the log begins with what a checkpoint of it names."""
        return known.origin == self.origin and known.size <= self.tree.size and known.root == self.tree.root(known.size)

    def refuse_rollback(self, known: Iterable[Checkpoint], keeper: object) -> None:
        """Raise `RollbackError` unless the ledger begins with the lines that checkpoints name; others' are passed over.

        Parameters
        ----------
        known
            What receipts, witnesses or the key's own memory have seen.
        """
        for one in known:
            if one.origin == self.origin and not self.holds(one):
                has = "fewer" if one.size > self.tree.size else "other"
                raise RollbackError(
                    f"{self.ledger.shown}: the ledger has {has} lines than {keeper} has seen ({one.size} then, "
                    f"{self.tree.size} now): an old copy was put back, or it was forked; nothing was released or "
                    "signed. Put the newest ledger back"
                )

    def found(
        self, *, run_id: str | None = None, suite: str | None = None, release_id: str | None = None
    ) -> tuple[int, str | None]:
        """Return the debit of a run or of a release, and the run if it is one of a kept `suite`."""
        self.refresh()
        found = self.log.debit_of(run_id=run_id, suite=suite, release_id=release_id)
        if found is None:
            raise LedgerError(f"{self.ledger.shown}: no debit of {run_id or release_id!r}, so there is no receipt")
        return found

    def salts(self, number: int, run: str | None = None, *, size: int | None = None) -> dict[str, str]:
        """Return the salts of a debit's releases or other answer, by their names in its receipt.

        For whoever may have the answer: with its salt an answer is found in the receipt, without it nothing is.

        Parameters
        ----------
        run
            Of a kept suite, the run that is meant.
        size
            How many lines of the log count; by default all.
        """
        return salts(self.log, self.log.debit(number, self.tree.size if size is None else size, run))

    def close(self) -> None:
        """Close the ledger."""
        self.ledger.close()


class Issuer(LedgerTree):
    """Opens a ledger and signs receipts about its debits.

    Raises
    ------
    LedgerError
        The ledger cannot be used; `RollbackError` if the key has signed lines that it does not have.
    ParameterError
        The key lies in the ledger's folder.
    """

    def __init__(self, ledger: str | Path, key: SigningKey) -> None:
        key.refuse_beside(Path(ledger))
        self._key = key
        super().__init__(LedgerReading.open(ledger))
        try:
            with signing(key) as signed:
                self.refresh()
                self.refuse_rollback(signed.last(self.origin), signed.path)
        except BaseException:
            self.close()
            raise

    def checkpoint(self) -> tuple[Checkpoint, str]:
        """Return the log as it is now, and its signed note; errors as those of the class."""
        with signing(self._key) as signed:
            self.refresh()
            self.refuse_rollback(signed.last(self.origin), signed.path)
            signed.keep(self.newest)
            return self.newest, sign_checkpoint(self.newest, self._key.seed, self._key.public)

    def own_debit(self, analyst: str, **named: str) -> int | None:
        """Return the debit of an analyst with rights of his own, by `run_id` or `release_id`; None if it is not his."""
        found = self.log.debit_of(**named)
        return found[0] if found is not None and self.log.asker(found[0]) == analyst else None

    def shows(self, number: int, size: int) -> bool:
        """Return whether the first `size` lines have a debit, and its answer if it has one by now."""
        return self.log.last_place(number) <= size

    def issue(
        self, number: int, run: str | None = None, after: Iterable[Checkpoint] = (), *, size: int | None = None
    ) -> bytes:
        """Return the receipt of a debit as one line of JSON. Spends nothing, and may be asked again.

        Parameters
        ----------
        run
            Of a kept suite, the run that is meant.
        after
            Checkpoints of this log that the receipt is shown to follow: those of the holder's earlier receipts.
        size
            How many lines the receipt shows, of those that were read before; by default all that there are now.

        Raises
        ------
        RollbackError
            The ledger does not have the lines that `after` or the key's memory names.
        """
        with signing(self._key) as signed:
            last = signed.last(self.origin)
            if size is None or any(one.size > self.tree.size for one in last):
                self.refresh()
            earlier = [one for one in {*after, *last} if one.origin == self.origin]
            self.refuse_rollback(last, signed.path)
            self.refuse_rollback(earlier, "an earlier receipt or a witness")
            shown = self.newest if size is None else self.at(size)
            statement = self._statement(number, run, shown, earlier)
            signed.keep(shown)
        payload = canonical(statement)
        sealed = signature(self._key.seed, pae(PAYLOAD_TYPE, payload))
        return canonical(envelope(PAYLOAD_TYPE, payload, sealed, self._key.note_key.vkey)) + b"\n"

    def _statement(
        self, number: int, run: str | None, shown: Checkpoint, earlier: Iterable[Checkpoint]
    ) -> dict[str, Any]:
        debit, size = self.log.debit(number, shown.size, run), shown.size
        links = sorted({(one.size, one.root) for one in earlier if 0 < one.size < size})
        proofs = {
            "checkpoint": sign_checkpoint(shown, self._key.seed, self._key.public),
            "key": {"vkey": self._key.note_key.vkey, "follows": list(self._key.earlier)},
            "lines": [
                {
                    "kind": kind,
                    "place": place,
                    "leaf": self.tree.leaf(place - 1).hex(),
                    "inclusion": coded(self.tree.inclusion(place - 1, size)),
                }
                for kind, place in debit.lines
            ],
            "consistency": [
                {"size": first, "root": coded([root])[0], "proof": coded(self.tree.consistency(first, size))}
                for first, root in links
            ],
        }
        return stated(self.log, debit, self.origin, self.tree.leaf(debit.lines[0][1] - 1), proofs)


def coded(nodes: Iterable[bytes]) -> list[str]:
    """Write hashes in base64, as checkpoints do."""
    return [base64.b64encode(node).decode() for node in nodes]
