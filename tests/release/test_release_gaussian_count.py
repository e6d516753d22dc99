"""`dp_count(rho=...)`: Gaussian noise, charged in rho to a zcdp ledger, and refused by every other account."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from stub_noise import StubNoise

import dpdb
from dpdb.errors import BudgetExceededError, ParameterError
from dpdb.ledger import Ledger
from dpdb.privacy import ZCDP
from dpdb.privacy.noise import replaced_noise
from dpdb.release.published.release_fields import release_table

TABLE = pa.table({"zip": ["1", "1", "2", "2", "2"], "city": ["a", "b", "c", "c", "c"]})
FD = "zip -> city"


@pytest.fixture
def zcdp(tmp_path: Path) -> Path:
    path = tmp_path / "z.ledger"
    Ledger.create(path, 1, "zcdp", delta=1e-6).close()
    return path


@pytest.fixture
def session(zcdp: Path) -> Iterator[dpdb.Session]:
    with dpdb.open(TABLE, constraints=FD, ledger=zcdp) as opened:
        yield opened


def single(released: object) -> dpdb.Release:
    assert isinstance(released, dpdb.Release)
    return released


def test_what_a_gaussian_count_says_and_costs(session: dpdb.Session) -> None:
    release = single(session.dp_count(rho=0.125))
    assert (release.mechanism, release.rho, release.epsilon) == ("gaussian", 0.125, None)
    assert release.noise_scale == pytest.approx(2)  # 1 / (2 rho) is 4
    assert "0.125-zCDP (zero-concentrated differential privacy, rho = 0.125) for adding or removing one row" in (
        release.guarantee
    )
    assert "pure" not in release.guarantee
    assert (session.spent(), session.remaining()) == (0.125, 0.875)
    assert [dpdb.Release(**row) for row in release_table([release]).to_pylist()] == [release]


def test_the_count_is_the_one_of_the_slice_and_the_bounds_are_around_it(session: dpdb.Session) -> None:
    with replaced_noise(StubNoise()):
        release = single(session.dp_count(rho=0.5, where="zip = '2'", confidence=0.9))
    assert (release.value, release.upper) == (3, 5)  # Pr[noise > 1] is .054, Pr[noise > 2] is .004
    assert release.lower == 1


def test_epsilon_is_laplace_as_before(session: dpdb.Session) -> None:
    for arguments in ({}, {"rho": None}):
        release = single(session.dp_count(1, **arguments))  # type: ignore[arg-type]
        assert (release.mechanism, release.epsilon, release.rho) == ("laplace", 1.0, None)
    assert session.spent() * ZCDP.unit == 2 * ZCDP.charge_pure(1)


def test_groups_are_charged_once_and_disjoint_slices_too(session: dpdb.Session) -> None:
    releases = session.dp_count(rho=0.25, by="zip", keys=["1", "2", "3"])
    assert isinstance(releases, tuple)
    assert all(release.guarantee.startswith("together with") for release in releases)
    session.dp_count(rho=0.25, where="zip = '4'")
    assert session.spent() == 0.25


def test_more_than_the_ledger_has_is_refused_and_costs_nothing(session: dpdb.Session) -> None:
    session.dp_count(rho=0.75)
    noise = StubNoise()
    with replaced_noise(noise), pytest.raises(BudgetExceededError, match=r"requested rho 0\.5, remaining 0\.25"):
        session.dp_count(rho=0.5)
    assert (noise.draws, session.spent()) == (0, 0.75)


def test_a_run_id_gives_its_answer_again(zcdp: Path) -> None:
    answers = []
    for _ in range(2):
        with dpdb.open(TABLE, constraints=FD, ledger=zcdp) as session:
            answers.append(session.dp_count(rho="0.1", run_id="x"))
            assert session.spent() == 0.1
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("notion", "why"), [("pure", "never pure epsilon-DP"), ("gdp", r"bounds no mu, and it is not 1/sigma-GDP")]
)
def test_other_ledgers_refuse_it(notion: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "t.ledger"
    Ledger.create(path, 1, notion).close()
    noise = StubNoise()
    with replaced_noise(noise), dpdb.open(TABLE, constraints=FD, ledger=path) as session:
        with pytest.raises(ParameterError, match=f"needs a zcdp ledger and this one is {notion}: .*{why}"):
            session.dp_count(rho=0.1)
        assert (noise.draws, session.spent()) == (0, 0)


@pytest.mark.parametrize("budget", [None, 1])
def test_a_session_without_a_ledger_refuses_it(budget: int | None) -> None:
    noise = StubNoise()
    with replaced_noise(noise), dpdb.open(TABLE, constraints=FD, budget=budget) as session:
        with pytest.raises(ParameterError, match="needs a ledger that counts in rho"):
            session.dp_count(rho=0.1)
        assert (noise.draws, session.spent()) == (0, 0)


def test_a_budget_in_epsilon_cannot_hold_it(zcdp: Path) -> None:
    with dpdb.open(TABLE, constraints=FD, ledger=zcdp, budget=1) as session:
        with pytest.raises(ParameterError, match="budget of this session is in epsilon"):
            session.dp_count(rho=0.1)
        assert session.spent() == 0


def test_one_cost_only(session: dpdb.Session) -> None:
    with pytest.raises(ParameterError, match="not both"):
        session.dp_count(1, rho=1)
    for rho in (0, -1, "x", 1e-13, 2000):
        with pytest.raises(ParameterError, match="rho must be"):
            session.dp_count(rho=rho)
    assert session.spent() == 0


@pytest.mark.heavy
@pytest.mark.parametrize("options", [{"rows_per_person": 3}, {"unit": "zip", "max_rows": 3}])
@pytest.mark.parametrize("alpha", [1.5, 2.0, 5.0, 20.0])
def test_three_rows_of_one_unit_diverge_by_at_most_alpha_rho(
    alpha: float, options: dict[str, object], zcdp: Path
) -> None:
    """Two tables that differ by a unit: counts differ by 3, and the exact Renyi divergence is what was charged."""
    with dpdb.open(TABLE, constraints=FD, ledger=zcdp, **options) as session:  # type: ignore[arg-type]
        release = single(session.dp_count(rho=0.09))
        assert session.spent() == 0.09
    scale = release.noise_scale
    assert scale == pytest.approx(math.sqrt(1 / (2 * 0.01)))
    reach = range(-600, 601)

    def log_mass(x: int) -> float:
        return -(x**2) / (2 * scale**2)

    total = math.fsum(math.exp(log_mass(x)) for x in reach)
    both = math.fsum(math.exp(alpha * log_mass(x) + (1 - alpha) * log_mass(x - 3)) for x in reach)
    divergence = math.log(both / total) / (alpha - 1)
    assert divergence <= alpha * 0.09 * (1 + 1e-9)
    assert divergence > alpha * 0.09 * (1 - 1e-3)  # and all of it is used


def test_a_share_below_the_smallest_is_refused(zcdp: Path) -> None:
    with (
        dpdb.open(TABLE, constraints=FD, ledger=zcdp, rows_per_person=10) as session,
        pytest.raises(ParameterError, match="too small to use"),
    ):
        session.dp_count(rho="0.00000000009")
