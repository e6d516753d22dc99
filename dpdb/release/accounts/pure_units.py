"""`pure_units`: what a ledger of any notion charges for a call whose draws are pure; money, in exact integers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from fractions import Fraction

from dpdb.errors import ParameterError
from dpdb.privacy import NANO, NOTIONS, PURE, Notion

__all__ = ["ledger_charges", "pure_units"]


def pure_units(notion: Notion, parts: Iterable[int], rows: int) -> int:
    """Units of a ledger for a call of pure parts, such that its overlap per row bounds what a unit of k `rows` loses.

    Each part (a row count, a degree cap, the mechanism of one measure of one conflict graph) draws noise of its own and
    is e-DP for one row whatever the parts before it have shown; what it costs, `parts` in nano-epsilon for the unit, is
    fixed before anything is drawn. So they compose adaptively: epsilons add up, rho = e^2/2 of each adds up in zCDP
    (Bun & Steinke 2016, Proposition 1.4 and Lemma 2.3), mu^2 of each in GDP (`Notion.charge_pure`; Dong, Roth & Su
    2019, Theorem 3.2 and Corollary 3.3). A mechanism that chooses before it answers is one part: how it shares its
    epsilon hangs on what it saw, and one way is a single draw at all of it (`Ladder.plan` with one candidate).
    Each charge is rounded up. Slices of one call are disjoint, and `parts` are those of one of them.

    Release i runs at e_i = epsilon_i / k for each row that it covers. A unit has a set U of at most k rows, the same
    for all releases of an epoch, of which release i covers m_i. It loses at most sum m_i e_i, which is the sum over the
    rows r of U of what r collects, sum of e_i over the i that cover r: at most k times the overlap of the e_i, and that
    is the overlap of the epsilon_i charged here, also when the rows lie in k disjoint slices.

    In rho or mu squared a group of m_i rows costs m_i^2 c_i (Bun & Steinke 2016, Proposition 1.9; Dong, Roth & Su 2019,
    Theorem 2.14), and sum m_i^2 c_i <= k sum m_i c_i <= k^2 times the overlap of the c_i: so k^2 c_i are charged, with
    c_i the cost of an e_i-DP release of one row.
    """
    if notion is PURE:
        return sum(parts)
    alike = Counter(parts)  # mostly few amounts, also of thousands of constraints
    return rows**2 * sum(times * notion.charge_pure(Fraction(part, NANO * rows)) for part, times in alike.items())


def ledger_charges(parts: Sequence[int], rows: int) -> dict[str, float]:
    """Return what ledgers of each notion charge a call of pure parts, by their parameters: epsilon, rho and mu.

    A notion that cannot count it is left out.
    """
    charges = {}
    for notion in NOTIONS.values():
        with suppress(ParameterError):  # GDP of a very large epsilon
            charges[notion.parameter] = notion.value(pure_units(notion, parts, rows))
    return charges
