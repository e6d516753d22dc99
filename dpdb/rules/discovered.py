"""`DiscoveredRules`: the names that a discovery has published, as a suite file to edit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dpdb.constraints import load_constraints
from dpdb.errors import DpdbError, ParameterError
from dpdb.rules.texts import comment, dependency, keyed, readable_line


@dataclass(frozen=True)
class DiscoveredRules:
    """The names that a discovery has chosen, in this order. Public: names and cost, no number of rows.

    Attributes
    ----------
    dependencies : tuple of (str, str)
        X and Y of X -> Y.
    of_dependencies, of_keys : int
        How many candidates there were.
    left_out : tuple of (str, str)
        Columns that are in no candidate, and why: from names and types.
    unit : str
        What neighbouring tables differ by.
    rho : float or None
        What all names together cost on a zcdp ledger, where each costs an eighth of the square of its epsilon.
    """

    dependencies: tuple[tuple[str, str], ...]
    keys: tuple[str, ...]
    of_dependencies: int
    of_keys: int
    left_out: tuple[tuple[str, str], ...]
    epsilon: float
    unit: str
    guarantee: str
    run_id: str | None = None
    rho: float | None = None

    @property
    def lines(self) -> tuple[str, ...]:
        """The rules as constraint texts: dependencies, then keys."""
        return *(self.dependency(x, y) for x, y in self.dependencies), *map(self.key, self.keys)

    @staticmethod
    def dependency(x: str, y: str) -> str:
        """Write X -> Y as a line."""
        return readable_line(dependency([x], y))

    @staticmethod
    def key(x: str) -> str:
        """Write a key as a line."""
        return readable_line(keyed([x]))

    def text(self) -> str:
        """Return the rules as a suite file, with their cost as comments."""
        cost = f"epsilon {self.epsilon:.15g}" if self.rho is None else f"rho {self.rho:.15g}"
        rules = self.lines
        named = len(self.dependencies)
        return "\n".join([
            "# rules that `dpdb rules discover` names: edit this suite",
            f"# cost: {cost} for all names together, for adding or removing {comment(self.unit)}",
            "# names only, chosen with noise, so a rule may not hold; buy each one's verdict with check",
            *([] if self.run_id is None else [f"# run id: {comment(self.run_id)}"]),
            *(f"# left out: {comment(name)}: {comment(why)}" for name, why in self.left_out),
            "",
            f"# functional dependencies: {named} of {self.of_dependencies}",
            *rules[:named],
            "",
            f"# keys: {len(self.keys)} of {self.of_keys}",
            *rules[named:],
        ]) + "\n"  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON, with the rules as texts."""
        return {"rules": list(self.lines), **asdict(self)}

    def to_json(self) -> str:
        """Return them as JSON text, as a ledger keeps them."""
        return json.dumps({"discovered": self.to_dict()})


def recorded_discovery(answer: str) -> DiscoveredRules | None:
    """Return the rules of an answer that a ledger has recorded, without fields of later versions; None of another."""
    found = json.loads(answer)
    if not isinstance(found, dict) or "discovered" not in found:
        return None
    fields = {
        name: value for name, value in found["discovered"].items() if name in DiscoveredRules.__dataclass_fields__
    }
    pairs = {name: tuple(tuple(pair) for pair in fields[name]) for name in ("dependencies", "left_out")}
    return DiscoveredRules(**{**fields, **pairs, "keys": tuple(fields["keys"])})


def why_no_name(name: str, names: Sequence[str]) -> str | None:
    """Say why a column cannot stand in a line of a suite, if so, by reading the lines as a suite will be read."""
    try:
        for text in (keyed([name]), dependency([], name)):
            if load_constraints(readable_line(text), names)[0].table_columns != (name,):
                raise ParameterError(text)
    except (DpdbError, ValueError):
        return "its name cannot stand in a rule"
    return None
