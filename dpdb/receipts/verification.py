"""`verify`: receipts against one another, against what witnesses keep, and against the ledger.

Without the ledger: every signature, inclusion in the log and sum, and that all checkpoints are of one log that only
grew. With the ledger (the owner, an auditor; without data) every stated field is derived again from its lines, and the
whole ledger is audited: every charge is derived again from its request, every recorded overlap from the debits.

A recorded overlap is a proven bound on what a row collects with its debit in its epoch. So some row that surely
collects more refutes it; where a row surely collects exactly as much, both are the least there is. Debits that were
settled count as settled from the start, which only lowers what a row surely collected: so no true record is refuted.

What no receipt proves: that the noise was drawn rightly, and that the table was the one named.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from dpdb.errors import LedgerError, ReceiptError
from dpdb.ledger import EntryLine, open_to_read
from dpdb.overlap import Decision, OverlapIndex
from dpdb.predicates import Region, region_from_text
from dpdb.privacy import PURE, ZCDP, Notion, parse_epsilon, parse_rho
from dpdb.receipts.issue import LedgerTree
from dpdb.receipts.notes import Checkpoint, NoteKey
from dpdb.receipts.receipt import Receipt, open_receipt
from dpdb.receipts.statement import claims, subjects

NOT_PROVEN = "not proven: that the noise was drawn rightly, and that the table was the one named"


@dataclass
class Verified:
    """What was verified.

    Attributes
    ----------
    receipts : list of (str, Receipt or None)
        Each by its place in its file, None if it was refused.
    refused : list of str
        What does not hold.
    open : list of str
        What could not be shown, with what would show it.
    """

    receipts: list[tuple[str, Receipt | None]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """1 if something is refused, 5 if something could not be shown, else 0."""
        return 1 if self.refused else 5 if self.open else 0


def verify(
    lines: Iterable[tuple[str, bytes]],
    keys: Sequence[NoteKey],
    *,
    ledger: str | Path | None = None,
    witnessed: Iterable[Checkpoint] = (),
) -> Verified:
    """Verify receipts; never raises for what they say.

    Parameters
    ----------
    lines
        Receipts, each with its place for messages.
    keys
        The public keys of those who may sign.
    ledger
        The ledger, if the caller may read it.

    Raises
    ------
    LedgerError
        The ledger cannot be used.
    """
    result, good = Verified(), []
    for place, line in lines:
        try:
            receipt = open_receipt(line, keys)
        except ReceiptError as error:
            result.receipts.append((place, None))
            result.refused.append(f"{place}: {error}")
        else:
            result.receipts.append((place, receipt))
            good.append((place, receipt))
    included = sum(len(receipt.lines) for _, receipt in good)
    result.found.append(f"signatures and sums of {len(good)} receipts, {included} lines included in the log")
    _compare(good, result)
    known = [*witnessed]
    if ledger is None:
        _log(good, known, result)
        return result
    with open_to_read(ledger) as reading, LedgerTree(reading) as tree:
        _against(tree, good, known, result)
        if not result.refused:
            audit_ledger(tree, result.refused, result.open, result.found)
    return result


def linked(newest: Checkpoint, receipts: Iterable[Receipt]) -> set[Checkpoint]:
    """Return the checkpoints that receipts prove to be beginnings of the newest one, with itself.

    Two beginnings of one log are consistent with one another; two logs with a common beginning need not be.
    """
    links: dict[Checkpoint, set[Checkpoint]] = {}
    for receipt in receipts:
        links.setdefault(receipt.checkpoint, set()).update(receipt.earlier)
    found, waiting = {newest}, [newest]
    while waiting:
        new = links.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def _log(good: list[tuple[str, Receipt]], witnessed: list[Checkpoint], result: Verified) -> None:
    """Check that all checkpoints of a log are of one that only grew."""
    receipts = [receipt for _, receipt in good]
    _refuse_silence(witnessed, {receipt.checkpoint.origin for receipt in receipts}, result)
    seen = {one for receipt in receipts for one in (receipt.checkpoint, *receipt.earlier)}
    of_receipts = {one.origin for one in seen}
    seen |= {one for one in witnessed if one.origin in of_receipts}
    for origin in sorted(of_receipts):
        all_of = sorted(one for one in seen if one.origin == origin)
        roots: dict[int, bytes] = {}
        forks = [one for one in all_of if roots.setdefault(one.size, one.root) != one.root]
        if forks:
            result.refused.append(f"fork: two logs of {forks[0].size} lines were signed as {origin}")
            continue
        shown = linked(all_of[-1], receipts)
        apart = [one for one in all_of if one not in shown]
        if apart:
            sizes = ", ".join(str(one.size) for one in apart[:5])
            result.open.append(
                f"not shown: that the log of {all_of[-1].size} lines begins with those of {sizes} lines; the ledger "
                "shows it (--ledger), or a receipt that is asked for --after these"
            )
        else:
            result.found.append(
                f"one log that only grew: {len(all_of)} checkpoints, the newest of {all_of[-1].size} lines"
            )


def _refuse_silence(witnessed: list[Checkpoint], origins: set[str], result: Verified) -> None:
    """Say so if witnesses are given and keep nothing of some log."""
    if witnessed and origins - {one.origin for one in witnessed}:
        result.open.append("not shown: that a witness agrees; what he keeps is of other logs")


def _compare(good: list[tuple[str, Receipt]], result: Verified) -> None:
    """Check that receipts do not contradict one another: same lines, and sums that go on from one to the next."""
    leaves: dict[tuple[str, int], str] = {}
    of: dict[tuple[str, str, str | None], dict[int, tuple[str, Receipt]]] = {}
    pairs = 0
    for place, receipt in good:
        origin = receipt.checkpoint.origin
        for _, at, leaf in receipt.lines:
            if leaves.setdefault((origin, at), leaf) != leaf:
                result.refused.append(f"fork: {place} has another line {at} of {origin} than another receipt")
        sums = receipt.claims["accounting"]
        asker = receipt.claims["debit"]["analyst"] if sums["overlap_bound"] is None else None
        same = of.setdefault((origin, sums["scope"], asker), {})
        if receipt.place in same and _fixed(same[receipt.place][1]) != _fixed(receipt):
            result.refused.append(f"{place} and {same[receipt.place][0]} state other sums of one debit")
        same[receipt.place] = place, receipt
    for receipts in of.values():
        ordered = [receipts[at] for at in sorted(receipts)]
        result.found.append(_how_many([receipt for _, receipt in ordered]))
        for (first, earlier), (second, later) in pairwise(ordered):
            pairs += 1
            if not _goes_on(earlier, later):
                result.refused.append(f"the sums of {second} do not go on from those of {first}")
    result.found.append(f"sums that go on from one receipt to the next: {pairs} pairs")


def _how_many(receipts: Sequence[Receipt]) -> str:
    """Say how many of the debits that the newest receipt counts have a receipt here.

    Parameters
    ----------
    receipts
        One of each debit, of one log and one scope, in the order of the log.
    """
    newest = receipts[-1].claims["accounting"]
    debits, lacking = newest["debits_before"] + 1, ""
    if len(receipts) < debits:
        lacking = "; of the others nothing is shown but their sum"
    return f"receipts of {len(receipts)} of {debits} debits up to the newest ({newest['scope']}){lacking}"


def _fixed(receipt: Receipt) -> object:
    sums, debit = dict(receipt.claims["accounting"]), receipt.claims["debit"]
    sums.pop("settled")
    return sums, {name: debit[name] for name in ("entry", "epoch", "reserved", "region", "request", "analyst")}


def _goes_on(earlier: Receipt, later: Receipt) -> bool:
    old, new = earlier.claims["accounting"], later.claims["accounting"]
    between = new["debits_before"] - old["debits_before"] - 1
    spent_between = new["debited_before"] - old["debited_before"] - old["charge"]
    returned = new["returned_before"] - old["returned_before"]
    at = next((place for kind, place, _ in earlier.lines if kind == "settlement"), later.place)
    own = old["charge"] - old["settled"] if old["settled"] is not None and at < later.place else 0
    epochs = later.claims["debit"]["epoch"] >= earlier.claims["debit"]["epoch"]
    return between >= 0 and spent_between >= 0 and (between > 0 or not spent_between) and returned >= own and epochs


def _against(tree: LedgerTree, good: list[tuple[str, Receipt]], witnessed: list[Checkpoint], result: Verified) -> None:
    """Derive every field of every receipt again from the ledger."""
    _refuse_silence(witnessed, {tree.origin}, result)
    for one in witnessed:
        if one.origin == tree.origin and not tree.holds(one):
            result.refused.append(
                f"the ledger does not have the {one.size} lines that a witness keeps: an old copy was put back, or it "
                "was forked"
            )
    derived = 0
    for place, receipt in good:
        if receipt.checkpoint.origin != tree.origin:
            result.refused.append(f"{place}: it is of another ledger ({receipt.checkpoint.origin})")
        elif not all(tree.holds(one) for one in (receipt.checkpoint, *receipt.earlier)):
            result.refused.append(
                f"{place}: the ledger does not have the {receipt.checkpoint.size} lines that it names: an old copy was "
                "put back, or it was forked"
            )
        else:
            wrong = _differing(tree, receipt)
            result.refused += [f"{place}: the ledger says otherwise of {field}" for field in wrong]
            derived += not wrong
    result.found.append(
        f"{derived} receipts derived again from a ledger of {tree.tree.size} lines and {tree.log.debits} debits"
    )


def _differing(tree: LedgerTree, receipt: Receipt) -> list[str]:
    size, stated = receipt.checkpoint.size, receipt.claims
    number, run = stated["debit"]["entry"], _kept_run(tree, receipt)
    try:
        debit = tree.log.debit(number, size, run)
    except LedgerError:
        return ["its debit"]
    true = claims(tree.log, debit)
    wrong = [
        f"{part}.{name}"
        for part, fields in true.items()
        for name in (fields or {"": None})
        if (stated[part] or {"": None}).get(name) != (fields or {"": None})[name]
    ]
    leaves = [(kind, place, tree.tree.leaf(place - 1).hex()) for kind, place in debit.lines]
    if leaves != receipt.lines:
        wrong.append("its lines")
    elif receipt.statement["subject"] != subjects(
        tree.log, tree.origin, debit, bytes.fromhex(leaves[0][2]), receipt.statement["predicateType"]
    ):
        wrong.append("its releases")
    return wrong


def _kept_run(tree: LedgerTree, receipt: Receipt) -> str | None:
    """Return the run of a kept suite that a receipt is about, by its mark."""
    suite, mark = receipt.claims["suite"], receipt.claims["debit"]["run"]
    if suite is None or suite["kind"] != "kept" or mark is None:
        return None
    return tree.log.kept_run(receipt.claims["debit"]["entry"], mark)


_SECONDS = 0.1  # for each overlap


def audit_ledger(tree: LedgerTree, refused: list[str], undecided: list[str], found: list[str]) -> None:
    """Audit every debit of a ledger; linear in its lines where debits cover few different sets of rows.

    Parameters
    ----------
    refused, undecided, found
        Get what does not hold, what could not be shown, and what holds.
    """
    log, shown = tree.log, tree.ledger.shown
    charges, regions = lru_cache(lambda text: charge_of(json.loads(text), log.notion)), lru_cache(region_from_text)
    index, epoch, derived, least, proven = OverlapIndex(), 0, 0, 0, 0
    for line in log.entries():
        if line.epoch != epoch:
            refused += _closed(tree, index, epoch)
            index, epoch = OverlapIndex(), line.epoch
        bounds, charge, region = charges(line.request), log.charge(line.number), regions(line.predicate)
        if bounds is not None and not bounds[0] <= charge <= bounds[1]:
            refused.append(f"{shown}: debit {line.number} is charged {charge}, and its request costs {bounds[1]}")
        derived += bounds is not None
        found_here = _overlap(index, region, line)
        if found_here.lower > line.upper:
            refused.append(
                f"{shown}: debit {line.number} records that a row collects at most {line.upper}, and one collects "
                f"{found_here.lower}"
            )
        proven += found_here.allowed
        least += found_here.lower == line.upper
        index.add(region, line.charge, found_here.upper if found_here.allowed else None)
    refused += _closed(tree, index, epoch)
    if log.debits > proven and not refused:
        undecided.append(f"not decided in time: {log.debits - proven} recorded overlaps that nothing refutes")
    found.append(f"{derived} of {log.debits} charges derived again from their requests")
    found.append(f"{proven} of {log.debits} recorded overlaps proven, {least} of them the least there are")


def _closed(tree: LedgerTree, index: OverlapIndex, epoch: int) -> list[str]:
    """Refuse the recorded cost of a closed epoch if some row surely collected more in it."""
    recorded = tree.log.closed_cost(epoch) if index else None
    collected = 0 if recorded is None else index.bound(_SECONDS).lower
    if recorded is None or collected <= recorded:
        return []
    return [f"{tree.ledger.shown}: epoch {epoch} is recorded to have cost {recorded}, and a row collected {collected}"]


def _overlap(index: OverlapIndex, region: Region, line: EntryLine) -> Decision:
    """Decide whether a row collects more than was recorded; `lower` is what one surely collects."""
    below = index.would_exceed(region, line.charge, line.upper - 1, _SECONDS)
    if below.allowed or below.lower > line.upper:
        return below
    decided = index.would_exceed(region, line.charge, line.upper, _SECONDS)
    return replace(decided, lower=max(below.lower, decided.lower))


def charge_of(request: Any, notion: Notion) -> tuple[int, int] | None:
    """Return the least and the greatest charge of a request, in units; None if it names no cost, as of a re-arm.

    A pure ledger charges epsilon itself. Others charge the parts of a call, whose squares add up to at most the square
    of their sum; see `dpdb.release.costs.pure_units`.

    Examples
    --------
    >>> charge_of({"epsilon": "0.5"}, PURE)
    (500000000, 500000000)
    """
    if not isinstance(request, dict):
        return None
    rho, epsilon = request.get("rho"), request.get("epsilon")
    if rho is not None:
        return (parse_rho(rho),) * 2 if notion is ZCDP else (0, 0)
    if epsilon is None:
        return None
    if notion is PURE:
        return (parse_epsilon(epsilon),) * 2
    rows = int(request.get("rows_per_person") or 1)
    return 1, rows**2 * notion.charge_pure(Fraction(parse_epsilon(epsilon), PURE.unit * rows))
