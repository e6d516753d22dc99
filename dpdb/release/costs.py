"""`Charge`: what a release costs, in every notion of privacy loss; `Risk`: what an epsilon means for one person.

A charge is money, in exact integers. A risk is how much an attacker can learn at most, whatever else is known: let an
attacker know everything but whether one person's row is in the table, and see a release O of an epsilon-DP mechanism.
By Bayes' rule the odds of "in" change by the factor Pr[O | in] / Pr[O | out], which lies between exp(-epsilon) and
exp(epsilon). Who starts from even odds therefore ends at a probability of at most exp(epsilon) / (1 + exp(epsilon)),
and guesses right at most so often (Wasserman and Zhou 2010; Kairouz, Oh and Viswanath 2015): 1/2 at epsilon 0. Several
releases together are one release of the sum of their epsilons.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpdb.errors import ParameterError
from dpdb.names import check_name
from dpdb.predicates import Region
from dpdb.privacy import NANO, format_epsilon, format_rho

if TYPE_CHECKING:
    from dpdb.privacy import Notion


@dataclass(frozen=True)
class Charge:
    """The cost of a release, before it is made.

    Parameters
    ----------
    parts
        What the call's draws cost one unit, in nano-epsilon: each of them pure, with randomness of its own, whatever
        those before it have shown. Empty if it is paid in rho.
    rows
        How many rows one unit may have.
    coverage
        The rows that can change its answer.
    request
        Everything public that was asked: a run id may be used again for the same request only.
    run_id
        Name of the run, if it may be retried.
    rho
        Pico-rho of a release that is zCDP and not pure; only a zcdp ledger can take it.
    rule_set
        Digest of the constraints, for the history of a ledger.
    label
        A word for that history.
    who
        Who asks, for that history; a run id is one asker's.
    not_in_gdp
        Why a gdp ledger does not take it; None if it does.

    Raises
    ------
    PredicateError
        If it covers no row: a ledger would take it for nothing, so no account is ever asked.
    """

    parts: tuple[int, ...]
    rows: int
    coverage: Region
    request: Mapping[str, Any]
    run_id: str | None = None
    rho: int | None = None
    rule_set: str | None = None
    label: str | None = None
    who: str | None = None
    not_in_gdp: str | None = None

    def __post_init__(self) -> None:
        self.coverage.refuse_no_row()
        if self.who is not None:
            check_name("who", self.who)

    @property
    def epsilon(self) -> int:
        """Nano-epsilon of all parts together, for which the call is pure; 0 if it is paid in rho."""
        return sum(self.parts)

    @property
    def promise(self) -> str:
        """The guarantee of the whole call, in words."""
        if self.rho is None:
            return f"pure {format_epsilon(self.epsilon)}-differential privacy"
        rho = format_rho(self.rho)
        return f"{rho}-zCDP (zero-concentrated differential privacy, rho = {rho})"

    def units(self, notion: Notion) -> int:
        """Return the charge in a ledger of a notion, in exact units; see `pure_units`.

        Raises
        ------
        ParameterError
            If the notion cannot count it: rho anywhere but in zCDP; a choice and a very large epsilon in GDP.
        """
        from dpdb.privacy import GDP, ZCDP  # only ledgers and `explain` have notions

        if notion is GDP and self.not_in_gdp is not None:
            raise ParameterError(f"{self.not_in_gdp}; ask one of the pure or zcdp notion")
        if self.rho is None:
            return pure_units(notion, self.parts, self.rows)
        if notion is not ZCDP:
            why = "Gaussian noise is never pure epsilon-DP"
            if notion is GDP:
                why = "discrete Gaussian noise is rho-zCDP, which bounds no mu, and it is not 1/sigma-GDP"
            raise ParameterError(f"rho= needs a zcdp ledger and this one is {notion.name}: {why}; ask with epsilon=")
        return self.rho

    def in_each_notion(self) -> dict[str, float]:
        """Return the charge in each notion that can count it, by its parameter: epsilon, rho, mu."""
        from dpdb.privacy import NOTIONS

        costs = {}
        for notion in NOTIONS.values():
            with suppress(ParameterError):
                costs[notion.parameter] = notion.value(self.units(notion))
        return costs

    def cost(self, notion: Notion) -> Cost:
        """Return what an account of a notion is charged; errors as `units`."""
        return Cost(notion, self.units(notion))

    @property
    def request_text(self) -> str:
        """The request as canonical JSON."""
        return json.dumps(self.request, sort_keys=True, default=str)


@dataclass(frozen=True)
class Cost:
    """An amount in the unit of an account.

    Attributes
    ----------
    units : int
        Whole units of the notion, which add up.
    """

    notion: Notion
    units: int

    @property
    def parameter(self) -> str:
        """`epsilon`, `rho` or `mu`."""
        return self.notion.parameter

    @property
    def value(self) -> float:
        """The amount in that parameter."""
        return self.notion.value(self.units)

    @property
    def words(self) -> str:
        """The amount with its unit, exactly: `rho 0.125`."""
        from dpdb.ledger import in_words

        return f"{self.parameter} {in_words(self.notion, self.units)}"

    @classmethod
    def together(cls, notion: Notion, charges: Iterable[Charge]) -> Cost:
        """Return the sum of charges on an account of a notion."""
        return cls(notion, sum(charge.units(notion) for charge in charges))


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

    Parameters
    ----------
    parts
        Nano-epsilon of each part, for the unit.
    rows
        The most rows that one unit has: k.
    """
    from dpdb.privacy import PURE

    if notion is PURE:
        return sum(parts)
    alike = Counter(parts)  # mostly few amounts, also of thousands of constraints
    return rows**2 * sum(times * notion.charge_pure(Fraction(part, NANO * rows)) for part, times in alike.items())


@dataclass(frozen=True)
class Risk:
    """The most that a release tells of one person.

    Attributes
    ----------
    odds_factor : float
        By how much the odds that the person's row is in the table change at most: exp(epsilon).
    attacker_accuracy : float
        How often an attacker with even odds guesses right at most: exp(epsilon) / (1 + exp(epsilon)).
    """

    epsilon: float
    odds_factor: float
    attacker_accuracy: float

    @property
    def odds_words(self) -> str:
        """The factor as people read it: ``"2.72-fold"``, ``"22,026-fold"``."""
        return f"{self.odds_factor:,.{2 if self.odds_factor < 100 else 0}f}-fold"

    @property
    def accuracy_words(self) -> str:
        """The attacker's accuracy as a percentage that is never rounded up to certainty."""
        return ">99.9%" if self.attacker_accuracy > 0.999 else f"{self.attacker_accuracy:.1%}"

    @property
    def words(self) -> str:
        """The two figures in a sentence."""
        return (
            f"epsilon {self.epsilon:g}: the odds that one person's row is in the table change at most "
            f"{self.odds_words}; an attacker who starts from even odds is right at most "
            f"{self.accuracy_words} of the time (guessing: 50%)"
        )


def risk_of(epsilon: float) -> Risk:
    """Return what an epsilon means for one person.

    Examples
    --------
    >>> risk_of(1.0).accuracy_words, risk_of(0.1).odds_words
    ('73.1%', '1.11-fold')
    """
    factor = math.exp(epsilon) if epsilon < 700 else math.inf  # beyond it exp(epsilon) overflows, promising nothing
    return Risk(epsilon, factor, 1 / (1 + math.exp(-epsilon)))
