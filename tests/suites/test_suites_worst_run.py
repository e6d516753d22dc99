"""Suites on zcdp ledgers, from the door to the ledger: steps recorded, settled to their sum, kills, refusals, words."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from killed import killed_at
from plain_suite import PLAIN_CHECKS, ROWS, write_plain
from stub_noise import StubNoise

import dpdb
from dpdb.doors.cli.main import main
from dpdb.errors import BudgetExceededError, ParameterError
from dpdb.ledger import Ledger
from dpdb.privacy.noise import replaced_noise
from dpdb.suites import CheckResults, load_suite
from dpdb.suites.mechanism.worst_first import Step
from dpdb.suites.prepare import prepare_check

SUITE = f"{PLAIN_CHECKS}order: not(t1.age > t2.age & t1.id < t2.id & t1.pair > t2.pair)  fail above 100 rows\n"
TRUTH = {"plain": 500, "clean": 0, "share": 360, "known": -360, "many": ROWS, "few": 0, "twice": 600}
FAILED = {"plain (warn)", "plain (fail)", "share", "few", "twice"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_plain(SUITE, {"z.ledger": (5, "zcdp"), "g.ledger": (5, "gdp")})
    return tmp_path


def checked(ledger: str | None = "z.ledger", **options: object) -> CheckResults:
    rules = [line.rule for line in load_suite(SUITE).lines if line.rule is not None]
    with dpdb.open("t.parquet", constraints=rules, ledger=ledger) as session:
        return session.check("suite.txt", **options)


@pytest.mark.heavy(family="spending")
@pytest.mark.usefixtures("folder")
def test_verdicts_bounds_and_charge_in_rho() -> None:
    """All verdicts are plain, 200 rows from their limits: another one has a chance below exp(-40) at rho .5."""
    results = checked(rho=0.5)
    for each in results:
        name = each.name if len(results.checks) else ""
        if name in TRUTH:
            f = TRUTH[name]
            assert (each.verdict == "fail") == (name in {"plain", "share", "few", "twice"}), name
            held = (each.lower is None or each.lower <= f) and (each.upper is None or f <= each.upper)
            assert held or each.verdict != "undecided"
    assert (results.rho_reserved, results.epsilon, results.epsilon_reserved) == (0.5, None, None)
    with Ledger.open("z.ledger") as ledger:
        levels = ledger.suite_levels(1)
        assert ledger.summary().spent == pytest.approx(results.rho, abs=1e-12)
        assert {name for name, _ in ledger.suites()[0].failed} >= FAILED
    found = [Step.from_json(each.answer) for each in levels]
    assert [each.level for each in levels] == [*range(1, len(levels) + 1)]
    spec = prepared("z.ledger", rho=0.5).worst
    assert results.rho == pytest.approx(sum(spec.costs[step.level - 1] for step in found) / 1e12)
    assert results.rho < 0.5
    assert "zCDP" in results.guarantee
    assert checked(rho=0.5, run_id=results.run_id).to_dict() == results.to_dict()


def prepared(ledger: str, **options):
    rules = [line.rule for line in load_suite(SUITE).lines if line.rule is not None]
    with dpdb.open("t.parquet", constraints=rules, ledger=ledger) as session:
        return prepare_check(session, "suite.txt", **options)


@pytest.mark.usefixtures("folder")
def test_epsilon_is_the_rho_that_a_pure_release_of_it_costs() -> None:
    assert prepared("z.ledger", epsilon=1).charge.rho == 5 * 10**11
    assert prepared("z.ledger", epsilon=0.3).charge.rho == 45 * 10**9


@pytest.mark.heavy(family="spending")
@pytest.mark.usefixtures("folder")
def test_what_is_not_sound_or_not_built_is_refused_before_anything_is_spent() -> None:
    for options, said in (
        ({"keep": "nightly"}, "kept suite needs a pure ledger"),
        ({"certain": "pass"}, "there a failure is certain"),
        ({"rho": 1e-9}, "too small"),
    ):
        with pytest.raises(ParameterError, match=said):
            checked(**options)
    with pytest.raises(ParameterError, match="pure or a zcdp ledger"):
        checked("g.ledger")
    with pytest.raises(ParameterError, match="counts in rho"):
        checked(None, rho=0.5)
    with pytest.raises(BudgetExceededError):
        checked(rho=6)
    with Ledger.open("z.ledger") as ledger:
        assert (ledger.summary().spent, ledger.summary().releases) == (0, 0)


@pytest.mark.usefixtures("folder")
def test_slices_come_one_after_another_and_the_dearest_is_charged() -> None:
    rules = "not(t1.age < 0)"
    suite = "old: not(t1.age < 0)  fail above 20"
    with dpdb.open("t.parquet", constraints=rules, ledger="z.ledger") as session:
        results = session.check(suite, rho=0.5, by="city", keys=["other", "none"])
        spent = session.spent()
    assert [each.key for each in results] == ["other", "none"]
    assert spent == pytest.approx(results.rho)
    assert spent <= 0.5
    assert results.count("undecided") == 0


@pytest.mark.heavy
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("step", ["level drawn", "level written", "level recorded", "ending"])
def test_a_killed_run_goes_on_with_its_next_step(step: str) -> None:
    with killed_at(step, 0 if step == "ending" else 4):
        checked(rho=0.5, run_id="monday")
    with Ledger.open("z.ledger") as ledger:
        before = {each.level: each.answer for each in ledger.suite_levels(1)}
        assert ledger.summary().spent == 0.5  # all of it, until it is settled
    results = checked(rho=0.5, run_id="monday")
    with Ledger.open("z.ledger") as ledger:
        after = {each.level: each.answer for each in ledger.suite_levels(1)}
        assert before.items() <= after.items()
        assert ledger.summary().releases == 1
        assert ledger.summary().spent == pytest.approx(results.rho)


def grown(known: int, unknown: int) -> pa.Table:
    return pa.table({"v": pa.array([*range(known), *[None] * unknown], pa.int64())})


@pytest.mark.heavy
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("added", [0, 70, 300])
@pytest.mark.parametrize("record", [1, 4, 9, 14, 16])
def test_rows_that_were_added_after_a_kill_are_bounded_by_what_was_read_with_them(record: int, added: int) -> None:
    """In an append-only ledger a step of fewer rows bounds none of more; with confidence .9999999, so by chance never.

    Five NULLs are there before the kill. After the last step nothing is read any more.
    """
    Ledger.create("grows.ledger", 100, notion="zcdp", append_only=True).close()
    suite = "NOT NULL(v)  fail above 20"

    def run() -> CheckResults:
        given = {"rho": 20, "run_id": "monday", "confidence": 0.9999999}
        return dpdb.check("t.parquet", suite, ledger="grows.ledger", **given)

    pq.write_table(grown(100, 5), "t.parquet")
    with killed_at("level recorded", record - 1):
        run()
    pq.write_table(pa.concat_tables([grown(100, 5), grown(0, added)]), "t.parquet")
    [each] = run()
    truth = 5 + (added if record < 16 else 0)
    assert (each.lower or 0) <= truth <= each.upper, each
    assert each.verdict == ("fail" if truth > 20 else "pass")


class Exact(StubNoise):
    """No noise; the largest is named."""

    def gumbel_max(self, scores, scale: float) -> int:
        self._drawn()
        return list(scores).index(max(scores))


@pytest.mark.usefixtures("folder")
def test_without_noise_a_suite_that_passes_pays_a_quarter() -> None:
    with replaced_noise(Exact()), dpdb.open("t.parquet", constraints="UNIQUE(id)", ledger="z.ledger") as session:
        results = session.check("clean: UNIQUE(id)  fail above 300\nmany: row_count  fail below 100", rho=0.4)
    assert [each.verdict for each in results] == ["pass", "pass"]
    assert results.rho == pytest.approx(0.1, rel=1e-3)
    assert results[0].within == 0


@pytest.mark.heavy(family="long")
@pytest.mark.usefixtures("folder")
def test_the_command_speaks_of_rho(capsys: pytest.CaptureFixture[str]) -> None:
    ask = ["check", "t.parquet", "suite.txt", "--ledger", "z.ledger", "--rho", "0.5"]
    assert main([*ask, "--dry-run"]) == 0
    assert "the worst check is found and measured first" in capsys.readouterr().out
    assert main(ask) == 1
    said = capsys.readouterr().out
    assert "Cost: rho 0." in said
    assert "epsilon" not in said.replace("--epsilon E", "")
    assert main([*ask, "--format", "json"]) == 1
    assert '"rho_reserved": 0.5' in capsys.readouterr().out
