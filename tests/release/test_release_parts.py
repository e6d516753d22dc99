"""The draws of one call are charged one by one: rho and mu squared of each add up; every surface tells that figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from inside import OPENDP

import dpdb
from dpdb.ledger import Ledger
from dpdb.privacy import GDP, NANO, NOTIONS, PURE, ZCDP, Notion
from dpdb.privacy.epsilon import gdp_of_pure, parse_epsilon, split
from dpdb.release import Ask, costs as charge, pure_units
from dpdb.release.explain import explain

TABLE = pa.table({"a": [1, 1, 2, 3], "b": [1, 2, 3, 4], "c": ["x", None, "y", "z"]})
PAIRS = ["a -> b", "c -> b"]
ROWS = [f"CHECK (b < {k})" for k in range(16)]


def with_ledger(folder: Path, notion: str, **options: Any) -> dpdb.Session:
    path = folder / f"{notion}.ledger"
    if not path.exists():
        Ledger.create(path, {"pure": 100, "zcdp": 100, "gdp": 10}[notion], notion).close()
    return dpdb.open(TABLE, **{"constraints": PAIRS, "ledger": path, **options})


def last_charge(folder: Path, notion: str) -> int:
    with Ledger.open(folder / f"{notion}.ledger") as ledger:
        return ledger.lines()[-1].charge


def exact(notion: Notion, parts: Sequence[int], rows: int = 1) -> Fraction:
    """What parts cost in units, before it is rounded; nano-epsilon of a whole unit each."""
    each = [Fraction(part, NANO * rows) for part in parts]
    if notion is PURE:
        return Fraction(sum(parts))
    squares = [e * e / 2 if notion is ZCDP else Fraction(gdp_of_pure(float(e))) ** 2 for e in each]
    return rows**2 * sum(squares, Fraction(0)) * notion.unit


# By hand, not read from the code: what each call draws, as parts of its nano-epsilon.
CALLS: dict[str, tuple[dict[str, Any], Sequence[int]]] = {
    "repair": ({"measure": "repair"}, (NANO,)),
    "each of two rules": ({"measure": "repair", "each_constraint": True}, (NANO // 2, NANO // 2)),
    "all": ({"measure": "all"}, split(NANO, (10, 36, 36, 18))),
    "cap and ladder": ({"measure": "minimal_inconsistency"}, split(NANO, (7, 93))),
    "cap and two_sided": ({"measure": "problematic", "mechanism": "two_sided"}, split(NANO, (1, 9))),
    "a theta that is given": ({"measure": "problematic", "theta": 2}, (NANO,)),
    "a rate": ({"measure": "repair", "rate": True}, split(NANO, (5, 95))),
    "both rates": (
        {"measure": "all", "rate": True},
        (NANO * 5 // 100, *split(633333333, (3, 97)), NANO - NANO * 5 // 100 - 633333333),
    ),
    "slices": ({"measure": "repair", "rate": True, "by": "a", "keys": [1, 2, 3]}, split(NANO, (5, 95))),
}


@pytest.mark.heavy
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("call", CALLS)
def test_the_parts_of_a_call_are_charged_by_the_notion(call: str, notion: str, tmp_path: Path) -> None:
    options, parts = CALLS[call]
    with with_ledger(tmp_path, notion) as session:
        session.release(Ask.of({"epsilon": 1, **options}))
    found, wanted = last_charge(tmp_path, notion), exact(NOTIONS[notion], parts)
    assert wanted <= found <= wanted + len(parts)  # rounded up, by a unit for each part at most
    assert notion != "pure" or found == NANO


@pytest.mark.heavy(family="spending")
def test_sixteen_rules_cost_a_sixteenth(tmp_path: Path) -> None:
    for notion, whole, now in (("zcdp", 0.5, 0.03125), ("pure", 1, 1), ("gdp", 1.23203539, 0.313306651)):
        with with_ledger(tmp_path, notion, constraints=ROWS) as session:
            session.dp_inconsistency("repair", 1, each_constraint=True)
            assert session.spent() == pytest.approx(now, abs=1e-9)
        assert NOTIONS[notion].value(pure_units(NOTIONS[notion], [NANO], 1)) == pytest.approx(whole, abs=1e-8)


@pytest.mark.parametrize("notion", [ZCDP, GDP])
@pytest.mark.parametrize("rows", [1, 3])
def test_many_parts_never_cost_more_than_one_that_has_all(notion: Notion, rows: int) -> None:
    for epsilon in (1000, 10**7, NANO, 7 * NANO, 29 * NANO):
        for weights in ((1, 1), (7, 93), (10, 36, 36, 18), (1,) * 50):
            parts = split(epsilon, weights)
            assert pure_units(notion, parts, rows) <= pure_units(notion, [epsilon], rows) + rows**2 * len(parts)


def test_a_unit_of_several_rows_pays_for_what_its_rows_lose(tmp_path: Path) -> None:
    """Each draw runs at a share of epsilon / 3 a row, rounded down: the unit is charged three times that or more."""
    ask = Ask("all", "0.1000000007", each_constraint=True)
    with with_ledger(tmp_path, "zcdp", rows_per_person=3) as session:
        prepared = session.prepare(ask)
        session.release(ask)
    assert sum(prepared.charge.parts) == parse_epsilon("0.1000000007")
    per_row = [drawn for part in prepared.parts for drawn in split(part.per_row, (10, 36, 36, 18))]  # type: ignore[arg-type]
    assert all(cost >= 3 * drawn for cost, drawn in zip(prepared.charge.parts, per_row, strict=True))
    assert last_charge(tmp_path, "zcdp") >= exact(ZCDP, [3 * drawn for drawn in per_row], 3)


@pytest.mark.heavy
@pytest.mark.parametrize("notion", NOTIONS)
def test_every_surface_tells_one_figure(notion: str, tmp_path: Path) -> None:
    ask = Ask("all", 2, each_constraint=True)
    explained = explain(TABLE, PAIRS, ask)["charges"]
    with with_ledger(tmp_path, notion) as session:
        together = session.cost_together([session.prepare(ask).charge])
        releases = session.release(ask)
        spent = session.spent()
    with Ledger.open(tmp_path / f"{notion}.ledger") as ledger:
        (entry,), parameter = ledger.history(), ledger.notion.parameter
    assert explained[parameter] == together == spent == entry.charge
    assert sum(parse_epsilon(one.epsilon) for one in releases) == 2 * NANO == parse_epsilon(explained["epsilon"])
    assert sum(parse_epsilon(text) * times for text, times in entry.request["parts"].items()) == 2 * NANO


# -- the exact loss of what was drawn -------------------------------------------------------------------------


def renyi(one: tuple[int, float], other: tuple[int, float], order: float) -> float:
    """Renyi divergence of two discrete Laplace laws of one scale; what lies beyond 60 scales adds below 1e-20."""
    (value, scale), (shifted, same) = one, other
    assert scale == same, "a scale is public"
    q, reach = math.exp(-1 / scale), math.ceil(scale * 60) + 5
    terms = (
        math.exp(-abs(k - value) / scale + (order - 1) * (abs(k - shifted) - abs(k - value)) / scale)
        for k in range(value - reach, value + reach)
    )
    return math.log((1 - q) / (1 + q) * math.fsum(terms)) / (order - 1)


def drawn(rules: Sequence[str], notion: str, patch: pytest.MonkeyPatch, folder: Path) -> tuple[Any, int]:
    """The exact numbers and scales of one call on either of two neighbouring tables, and the units it is charged.

    Each draw of `repair` of each constraint is a discrete Laplace number, whatever the others are.
    """
    real = OPENDP.laplace
    found: list[list[tuple[int, float]]] = []

    def recorded(self: Any, value: int, scale: float) -> int:
        found[-1].append((value, scale))
        return real(self, value, scale)

    patch.setattr(OPENDP, "laplace", recorded)
    for rows in (TABLE.slice(0, 1), TABLE.slice(0, 2)):  # one more row, which breaks every rule
        place = folder / str(len(rows))
        place.mkdir()
        Ledger.create(place / "t.ledger", 5, notion).close()
        with dpdb.open(rows, constraints=rules, ledger=place / "t.ledger") as session:
            found.append([])
            session.dp_inconsistency("repair", "0.3", each_constraint=True)
        with Ledger.open(place / "t.ledger") as ledger:
            charged = ledger.spent_units()
    return list(zip(*found, strict=True)), charged


def divergence(draws: Any) -> float:
    """The greatest Renyi divergence of all draws together over its order: it adds up over independent draws."""
    return max(sum(renyi(*pair, order) for pair in draws) / order for order in (1.0001, 1.5, 2, 4, 16))


def excess(draws: Any, units: int) -> float:
    """By how much the exact delta of all draws together exceeds what GDP allows, at the epsilon where most.

    A draw whose number differs by 1 has two likelihood ratios only, exp(1 / scale) and its inverse.
    """
    assert all(abs(one[0] - other[0]) == 1 for one, other in draws)
    outcomes = [(1.0, 1.0)]
    for one, _ in draws:
        likely = 1 / (1 + math.exp(-1 / one[1]))
        outcomes = [(p * a, q * b) for p, q in outcomes for a, b in ((likely, 1 - likely), (1 - likely, likely))]
    return max(
        math.fsum(max(0.0, p - math.exp(epsilon) * q) for p, q in outcomes) - GDP.delta(units, epsilon)
        for epsilon in (0.0, 0.02, 0.1, 0.2)
    )


MIXED = ["a -> b", "CHECK (b < 2)", "UNIQUE (a)"]
ON_ROWS = [f"CHECK (b < 2 OR a = {k})" for k in (7, 8, 9)]


def only_the_first(notion: Notion, parts: Sequence[int], rows: int) -> int:
    return pure_units(notion, parts[:1], rows)


def all_but_the_first(notion: Notion, parts: Sequence[int], rows: int) -> int:
    return pure_units(notion, parts[1:], rows)


@pytest.mark.heavy(family="long")
def test_the_exact_divergence_of_a_call_is_within_its_rho(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draws, charged = drawn(MIXED, "zcdp", monkeypatch, tmp_path)
    assert 0.95 * ZCDP.value(charged) < divergence(draws) <= ZCDP.value(charged)  # and little is paid for nothing


@pytest.mark.heavy
@pytest.mark.parametrize("mutant", [only_the_first, all_but_the_first])
def test_a_part_that_rho_does_not_count_is_caught(mutant: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charge, "pure_units", mutant)
    draws, charged = drawn(MIXED, "zcdp", monkeypatch, tmp_path)
    assert divergence(draws) > ZCDP.value(charged)


@pytest.mark.heavy(family="long")
def test_the_exact_delta_of_a_call_is_within_its_mu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert excess(*drawn(ON_ROWS, "gdp", monkeypatch, tmp_path)) <= 0


@pytest.mark.heavy(family="long")
def test_parts_that_mu_does_not_count_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charge, "pure_units", only_the_first)
    assert excess(*drawn(ON_ROWS, "gdp", monkeypatch, tmp_path)) > 0
