"""A request for a row count, checked: Laplace noise paid in epsilon, or Gaussian noise paid in rho."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from dpdb.errors import ParameterError
from dpdb.measures.answer import Answer
from dpdb.measures.count import noisy_count, noisy_gaussian_count
from dpdb.privacy import format_epsilon, format_rho, parse_epsilon, parse_rho
from dpdb.release.request import parse_confidence, parse_share

__all__ = ["CountRequest", "parse_count"]


@dataclass(frozen=True)
class CountRequest:
    """A checked request for a count; exactly one of `epsilon` and `rho` is set.

    Attributes
    ----------
    epsilon, rho : int or None
        What the call costs one unit: nano-epsilon or pico-rho.
    per_row : int
        What the noise of one row's change may cost, in the same parameter.
    confidence : float
    """

    epsilon: int | None
    rho: int | None
    per_row: int
    confidence: float

    @property
    def mechanism(self) -> str:
        """Name of the mechanism."""
        return "laplace" if self.rho is None else "gaussian"

    def cost(self) -> Mapping[str, str]:
        """The parameter and its exact value, for the ledger."""
        if self.epsilon is not None:
            return {"epsilon": format_epsilon(self.epsilon)}
        assert self.rho is not None
        return {"rho": format_rho(self.rho)}

    def answer(self, count: int) -> Answer:
        """Draw noise, once."""
        noisy = noisy_count if self.rho is None else noisy_gaussian_count
        return noisy(count, self.per_row, 1 - self.confidence)


def parse_count(
    epsilon: float | int | str | Decimal | None,
    rho: float | int | str | Decimal | None,
    confidence: float,
    rows_per_person: int,
) -> CountRequest:
    """Check the parameters of a count; without a cost it is epsilon 1.

    A unit of k rows runs at epsilon / k or at rho / k^2 (group privacy; Bun and Steinke 2016, Proposition 1.9).

    Raises
    ------
    ParameterError
        If both costs are given or a number is out of range.
    """
    confidence = parse_confidence(confidence)
    if rho is None:
        charged = parse_epsilon(1 if epsilon is None else epsilon)
        return CountRequest(charged, None, parse_share(charged, rows_per_person), confidence)
    if epsilon is not None:
        raise ParameterError("give a count either epsilon= (Laplace noise) or rho= (Gaussian noise), not both")
    charged = parse_rho(rho)
    per_row = charged // rows_per_person**2
    if per_row == 0:
        raise ParameterError(f"rho {format_rho(charged)} leaves less than 1e-12 per row: too small to use")
    return CountRequest(None, charged, per_row, confidence)
