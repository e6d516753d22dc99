"""`dp_inconsistency("maximal_consistency", rho=...)`: Gaussian noise on the bits, charged in rho to a zcdp ledger.

The exact number of bits is counted apart, over all sets of rows (`five_measures`). Divergences are sums of the exact
law over the integers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from five_measures import ROWS, RULE, truth
from stub_noise import StubNoise

import dpdb
from dpdb.errors import BudgetExceededError, ParameterError
from dpdb.graph import BIT
from dpdb.ledger import Ledger
from dpdb.privacy import laplace_tail
from dpdb.privacy.noise import gaussian_tail, replaced_noise
from dpdb.release.explain import explain
from dpdb.release.published.release_fields import release_table

BITS = "maximal_consistency"


@pytest.fixture
def zcdp(tmp_path: Path) -> Path:
    path = tmp_path / "z.ledger"
    Ledger.create(path, 1000, "zcdp", delta=1e-6).close()
    return path


@pytest.fixture
def session(zcdp: Path) -> Iterator[dpdb.Session]:
    with dpdb.open(ROWS, constraints=RULE, ledger=zcdp) as opened:
        yield opened


def single(released: object) -> dpdb.Release:
    assert isinstance(released, dpdb.Release)
    return released


def test_what_it_says_and_costs(session: dpdb.Session) -> None:
    with replaced_noise(StubNoise()):
        release = single(session.dp_inconsistency(BITS, rho=0.125))
    assert (release.mechanism, release.rho, release.epsilon) == ("decision_bits", 0.125, None)
    assert release.noise_scale == pytest.approx(2)  # bits: 1 / (2 rho) is 4
    assert release.value == pytest.approx(truth(BITS, RULE), abs=1e-5)
    tail = gaussian_tail(2 * BIT, 0.025) / BIT
    assert (release.lower, release.upper) == pytest.approx((max(0, release.value - tail), release.value + tail), 1e-5)
    assert "0.125-zCDP (zero-concentrated differential privacy, rho = 0.125) for adding or removing one row" in (
        release.guarantee
    )
    assert "pure" not in release.guarantee
    assert session.spent() == 0.125
    assert [dpdb.Release(**row) for row in release_table([release]).to_pylist()] == [release]


def test_a_thousandth_of_a_bit_at_the_greatest_rho(session: dpdb.Session) -> None:
    """Drawn by OpenDP: at rho 1000 the noise has standard deviation .022, and 13 of them are left in 1e-38."""
    assert abs(single(session.dp_inconsistency(BITS, rho=1000)).value - truth(BITS, RULE)) < 0.3


def test_shares_of_rules_and_slices_and_rates(session: dpdb.Session, tmp_path: Path) -> None:
    slices = session.dp_inconsistency(BITS, rho=0.25, by="zip", keys=[1, 2, 3])
    assert [release.rho for release in slices] == [0.25] * 3
    assert session.spent() == 0.25  # slices are charged once
    Ledger.create(tmp_path / "two", 1, "zcdp").close()
    with dpdb.open(ROWS, constraints=[RULE, "UNIQUE(card)"], ledger=tmp_path / "two") as both:
        parts = both.dp_inconsistency(BITS, rho="0.25", each_constraint=True)
        assert ([part.rho for part in parts], both.spent()) == ([0.125, 0.125], 0.25)
        assert all(part.guarantee.startswith("together with") and "0.25-zCDP" in part.guarantee for part in parts)
        assert [part.noise_scale for part in parts] == pytest.approx([2, 2])


def test_a_rate_divides_by_a_gaussian_count(session: dpdb.Session) -> None:
    class Costs(StubNoise):
        scales: list[float] = []  # noqa: RUF012 - one instance

        def gaussian(self, value: int, scale: float) -> int:
            self.scales.append(scale)
            return super().gaussian(value, scale)

        def laplace(self, value: int, scale: float) -> int:
            raise AssertionError("rho pays for no Laplace noise")

    noise = Costs()
    with replaced_noise(noise):
        release = single(session.dp_inconsistency(BITS, rho=2, rate=True))
    assert noise.scales == pytest.approx([math.sqrt(1 / (2 * 0.1)), BIT * math.sqrt(1 / (2 * 1.9))])
    assert release.value == pytest.approx(truth(BITS, RULE) / ROWS.num_rows, abs=1e-5)
    assert (release.rho, release.quantity, session.spent()) == (2, "bits per row", 2)


def test_what_is_too_little_is_refused(session: dpdb.Session, zcdp: Path) -> None:
    with dpdb.open(ROWS, constraints=[RULE, "UNIQUE(card)"], ledger=zcdp) as two:
        for rho, each in (("9e-10", False), ("1.9e-9", True)):
            with pytest.raises(ParameterError, match="less than 1e-9 per row: too small to use"):
                two.dp_inconsistency(BITS, rho=rho, each_constraint=each)
    session.dp_inconsistency(BITS, rho=600)
    with pytest.raises(BudgetExceededError, match="requested rho 500, remaining 400"):
        session.dp_inconsistency(BITS, rho=500)
    assert session.spent() == 600


@pytest.mark.parametrize("measure", ["drastic", "minimal_inconsistency", "problematic", "repair", "all"])
def test_other_measures_refuse_it(measure: str, session: dpdb.Session) -> None:
    noise = StubNoise()
    with replaced_noise(noise), pytest.raises(ParameterError, match=f"rho= is for counts of rows and {BITS}: other"):
        session.dp_inconsistency(measure, rho=0.1)
    assert (noise.draws, session.spent()) == (0, 0)


def test_one_cost_only(session: dpdb.Session) -> None:
    with pytest.raises(ParameterError, match="not both"):
        session.dp_inconsistency(BITS, 0.5, rho=1)
    for rho in (0, -1, "x", 2000):
        with pytest.raises(ParameterError, match="rho must be"):
            session.dp_inconsistency(BITS, rho=rho)
    assert session.spent() == 0


@pytest.mark.parametrize(("notion", "why"), [("pure", "never pure epsilon-DP"), ("gdp", "bounds no mu")])
def test_other_accounts_refuse_it(notion: str, why: str, tmp_path: Path) -> None:
    Ledger.create(tmp_path / "l", 1, notion).close()
    noise = StubNoise()
    with replaced_noise(noise), dpdb.open(ROWS, constraints=RULE, ledger=tmp_path / "l") as session:
        with pytest.raises(ParameterError, match=f"needs a zcdp ledger and this one is {notion}: .*{why}"):
            session.dp_inconsistency(BITS, rho=0.1)
        assert (noise.draws, session.spent()) == (0, 0)
    with (
        dpdb.open(ROWS, constraints=RULE, budget=1) as session,
        pytest.raises(ParameterError, match="needs a ledger that counts in rho"),
    ):
        session.dp_inconsistency(BITS, rho=0.1)


def test_a_run_is_answered_again_and_another_cost_is_another_request(zcdp: Path) -> None:
    answers = []
    for _ in range(2):
        with dpdb.open(ROWS, constraints=RULE, ledger=zcdp) as session:
            answers.append(session.dp_inconsistency(BITS, rho="0.1", run_id="x"))
            assert session.spent() == 0.1
    assert answers[0] == answers[1]
    with dpdb.open(ROWS, constraints=RULE, ledger=zcdp) as session, pytest.raises(dpdb.errors.LedgerError):
        session.dp_inconsistency(BITS, 0.1, run_id="x")


def test_what_explain_says_is_what_is_drawn(session: dpdb.Session) -> None:
    explained = explain(ROWS, RULE, ask=dpdb.release.Ask.of({"measure": BITS, "rho": "0.125"}))
    [planned] = explained["releases"]
    assert (planned["epsilon"], planned["rho"], explained["charges"]) == (None, 0.125, {"rho": 0.125})
    assert "discrete Gaussian, standard deviation about (1) x 2 bits" in planned["noise"]
    assert single(session.dp_inconsistency(BITS, rho="0.125")).noise_scale == pytest.approx(2)


def test_two_of_them_are_compared_by_their_own_law(session: dpdb.Session) -> None:
    with replaced_noise(StubNoise()):
        first, second = (single(session.dp_inconsistency(BITS, rho=0.5)) for _ in range(2))
        laplace = single(session.dp_inconsistency(BITS, 1))
    change = second.change(first)
    tail = gaussian_tail(BIT, 0.0125) / BIT  # each noise has half of .05, on two sides
    assert (change.value, change.lower, change.upper) == pytest.approx((0, -2 * tail, 2 * tail), 1e-5)
    mixed = laplace.change(first)
    assert mixed.upper == pytest.approx(tail + laplace_tail(BIT, 0.0125) / BIT, 1e-5)


# -- the law on neighbours --------------------------------------------------------------------------------------


def small_tables() -> Iterator[list[tuple[int, str | None]]]:
    """Every table of one or two rows with one left-hand side; all larger ones: `test_engine_decision_bits`."""
    rows = [(1, city) for city in ("a", "b", None)]
    for size in (1, 2):
        yield from (list(found) for found in itertools.combinations_with_replacement(rows, size))


def exact_steps(rows: list[tuple[int, str | None]], path: Path) -> int:
    """The number that is noised, through the real code."""
    seen: list[int] = []

    class Seen(StubNoise):
        def gaussian(self, value: int, scale: float) -> int:
            seen.append(value)
            return value

    table = pa.table(
        {"zip": [row[0] for row in rows], "city": pa.array([row[1] for row in rows], pa.string())},
        schema=pa.schema({"zip": pa.int64(), "city": pa.string()}),
    )
    with dpdb.open(table, constraints=RULE, ledger=path) as session, replaced_noise(Seen()):
        session.dp_inconsistency(BITS, rho="0.0001")
    return seen[0]


@pytest.mark.heavy
def test_one_row_changes_what_is_noised_by_up_to_a_bit(tmp_path: Path) -> None:
    steps: dict[tuple[Any, ...], int] = {(): 0}
    for place, rows in enumerate(small_tables()):
        path = tmp_path / f"{place}.ledger"
        Ledger.create(path, 1, "zcdp").close()
        steps[tuple(rows)] = exact_steps(rows, path)
    changes = {steps[rows] - steps[rows[:gone] + rows[gone + 1 :]] for rows in steps for gone in range(len(rows))}
    assert len(steps) == 10
    assert (min(changes), max(changes)) == (0, BIT)  # both are attained


@pytest.mark.heavy
@pytest.mark.parametrize("alpha", [1.5, 2.0, 5.0, 20.0])
@pytest.mark.parametrize("unit", [1, 3])
def test_neighbours_diverge_by_at_most_alpha_rho(alpha: float, unit: int, tmp_path: Path) -> None:
    """The exact Renyi divergence of two tables that differ by a unit, whose bits differ by its number of rows.

    `unit` pairs in conflict, of each of which the unit has one row: without it there are that many bits less.
    """
    Ledger.create(tmp_path / "l", 1000, "zcdp").close()
    pairs = pa.table({"zip": [*range(unit)] * 2, "city": ["a"] * unit + ["b"] * unit})
    with dpdb.open(pairs, constraints=RULE, ledger=tmp_path / "l", rows_per_person=unit) as session:
        with replaced_noise(StubNoise()):
            release = single(session.dp_inconsistency(BITS, rho=100))
        assert (release.value, session.spent()) == (unit, 100)
    scale = release.noise_scale * BIT
    assert scale == pytest.approx(unit * BIT / math.sqrt(200))
    window = np.arange(-12 * math.ceil(scale), 12 * math.ceil(scale) + 1, dtype=np.float64)

    def log_mass(values: Any) -> Any:
        return -(values**2) / (2 * scale**2)

    total = math.log(np.exp(log_mass(window)).sum())  # what is beyond is less than exp(-70) of it, also below
    most_of_it = window + round((1 - alpha) * unit * BIT)
    both = alpha * log_mass(most_of_it) + (1 - alpha) * log_mass(most_of_it - unit * BIT)
    top = both.max()
    divergence = (top + math.log(np.exp(both - top).sum()) - total) / (alpha - 1)
    assert divergence == pytest.approx(alpha * 100, rel=1e-9)  # all of it is used, and no more
    assert divergence <= alpha * 100 * (1 + 1e-12)


def test_it_beats_what_the_same_rho_buys_of_laplace_noise(session: dpdb.Session, tmp_path: Path) -> None:
    """Bounds at 95%: 1.53 times as narrow; mean size of the noise: 1.25 times as small, by the laws' own formulas."""
    for rho in (0.005, 0.125, 0.5):
        gaussian = single(session.dp_inconsistency(BITS, rho=rho))
        laplace = single(session.dp_inconsistency(BITS, math.sqrt(2 * rho)))
        wide = laplace_tail(laplace.noise_scale * BIT, 0.025) / gaussian_tail(gaussian.noise_scale * BIT, 0.025)
        assert wide == pytest.approx(1.528, abs=1e-3)
        assert laplace.noise_scale / (gaussian.noise_scale * math.sqrt(2 / math.pi)) == pytest.approx(1.253, abs=1e-3)
