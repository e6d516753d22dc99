"""Both ledgers are debited before either table is read; what a kill between any two steps loses is budget alone."""

from __future__ import annotations

import math
import os
import signal
import threading
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fork_server import ForkServer
from stub_noise import StubNoise

import dpdb
from dpdb.database.database import Database
from dpdb.doors.cli.main import main
from dpdb.errors import BudgetExceededError, EngineError, LedgerError, ParameterError, RunIdError
from dpdb.ledger import Ledger
from dpdb.privacy.noise import replaced_noise
from dpdb.release import Budget, recorded_releases

SIDES = ("left", "right")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for side, ids in (("left", [1, 2, 3, None]), ("right", [2, 3, 3, 4, 5])):
        made = tmp_path / side
        made.mkdir()
        pq.write_table(pa.table({"id": pa.array(ids, pa.int64()), "a": [1] * len(ids)}), made / "t.parquet")
        Ledger.create(made / "t.ledger", 1).close()
    return tmp_path


def compared(folder: Path, sides: tuple[str, str] = SIDES, epsilon: float = 0.2, **settings: Any) -> dpdb.Releases:
    left, right = (folder / side for side in sides)
    ledgers = {"left_ledger": left / "t.ledger", "right_ledger": right / "t.ledger"}
    return dpdb.compare(left / "t.parquet", right / "t.parquet", "id", epsilon, **ledgers | settings)


def spent(folder: Path) -> list[float]:
    found = []
    for side in SIDES:
        with Ledger.open(folder / side / "t.ledger") as ledger:
            found.append(ledger.summary().spent)
    return found


@pytest.mark.heavy(family="spending")
def test_both_ledgers_pay_once_and_keep_the_answer(folder: Path) -> None:
    with replaced_noise(StubNoise()):
        first = compared(folder, run_id="x")
    assert [release.value for release in first] == [2, 1, 1]
    assert spent(folder) == [0.2, 0.2]
    assert compared(folder, run_id="x") == first
    assert spent(folder) == [0.2, 0.2]
    for side in SIDES:
        with Ledger.open(folder / side / "t.ledger") as ledger:
            [answer] = ledger.answers()
            assert [one.release_id for one in recorded_releases(answer.answer)] == [one.release_id for one in first]
    with pytest.raises(RunIdError, match="another request"):
        compared(folder, run_id="x", epsilon=0.3)
    with pytest.raises(RunIdError, match="another request"):  # it was the left table of that run
        compared(folder, ("right", "left"), run_id="x")
    assert spent(folder) == [0.2, 0.2]


def test_nothing_is_read_before_both_are_debited(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[float]] = []
    written = Database.write_file

    def looking(self: Database, *args: Any) -> None:
        seen.append(spent(folder))
        written(self, *args)

    monkeypatch.setattr(Database, "write_file", looking)
    compared(folder)
    assert seen == [[0.2, 0.2], [0.2, 0.2]]


@pytest.mark.parametrize("poor", SIDES)
def test_a_side_that_cannot_pay_spends_nothing_on_either(folder: Path, poor: str) -> None:
    with dpdb.open(folder / poor / "t.parquet", ledger=folder / poor / "t.ledger") as session:
        session.dp_count(0.9)
    before, noise = spent(folder), StubNoise()
    with replaced_noise(noise), pytest.raises(BudgetExceededError, match="nothing was"):
        compared(folder)
    assert (spent(folder), noise.draws) == (before, 0)


def test_a_comparison_has_no_cost_that_nobody_named(folder: Path) -> None:
    sides = {f"{side}_ledger": folder / side / "t.ledger" for side in SIDES}
    with pytest.raises(ParameterError, match="what a comparison costs is never a default: give epsilon"):
        dpdb.compare(*(folder / side / "t.parquet" for side in SIDES), "id", **sides)
    assert spent(folder) == [0, 0]


def test_one_ledger_does_not_count_for_both_tables(folder: Path) -> None:
    """Nor its copy, nor the same table on both sides under it; two ledgers of one table each pay."""
    ledger, right = folder / "left" / "t.ledger", folder / "right" / "t.ledger"
    with pytest.raises((ParameterError, LedgerError), match="one ledger"):
        compared(folder, ("left", "left"))
    right.unlink()
    right.write_bytes(ledger.read_bytes())
    right.chmod(0o600)
    with pytest.raises((ParameterError, LedgerError)):
        compared(folder)
    right.unlink()
    Ledger.create(right, 1).close()
    assert spent(folder) == [0, 0]
    same = folder / "left" / "t.parquet"
    with replaced_noise(StubNoise()):
        found = dpdb.compare(same, same, "id", 0.2, left_ledger=ledger, right_ledger=right)
    assert ([one.value for one in found], spent(folder)) == ([0, 0, 0], [0.2, 0.2])


def test_a_region_of_keys_is_charged_on_both_ledgers(folder: Path) -> None:
    for where in ("id < 3", "id >= 3"):
        compared(folder, epsilon=1, where=where)
    assert spent(folder) == [1, 1]
    with pytest.raises(BudgetExceededError):
        compared(folder, where="id = 4")


def test_ledgers_of_keys_count_for_keys_in_both_tables_alone(folder: Path) -> None:
    """A ledger of one table's ids does not pay for a comparison whose noise is that of ids that leave both."""
    unit = {"unit": "id", "max_rows": 2}
    [found, *_] = compared(folder, epsilon=0.5, **unit)
    assert found.noise_scale == 2
    assert "one value of id with all its rows in both tables" in found.guarantee
    tables = [folder / side / "t.parquet" for side in SIDES]
    with dpdb.open(tables[0], **unit) as left, dpdb.open(tables[1], **unit) as right:
        [alone, *_] = dpdb.compare(left, right, "id", 0.5)  # a key may leave the left table alone
    assert alone.noise_scale == 4
    ledger = folder / "left" / "t.ledger"
    with pytest.raises(LedgerError, match=r"unit|values of"):
        dpdb.open(folder / "left" / "t.parquet", ledger=ledger, **unit).close()
    compared(folder, epsilon=0.5, **unit)
    assert spent(folder) == [1, 1]


KILLED = ForkServer(
    Path(__file__).parent / "killed_comparison.py", "dpdb.reconciliation.at_once", "opendp.measurements"
)

STEPS = [
    *(("inserted", times, debits) for times, debits in ((1, 0), (2, 1))),
    *(("reserved", times, times) for times in (1, 2)),
    *(("one side debited", times, times) for times in (1, 2)),
    *(("written", times, 2) for times in (1, 2)),
    *(("recorded", times, 2) for times in (1, 2)),
    *(("one side recorded", times, 2) for times in (1, 2)),
    ("drawn", 1, 2),
]


@pytest.mark.heavy
@pytest.mark.parametrize(("step", "times", "debits"), STEPS)
def test_a_killed_comparison_is_finished_by_its_run_id(folder: Path, step: str, times: int, debits: int) -> None:
    arguments = [step, str(times), str(folder / "left"), str(folder / "right"), "x"]
    killed = KILLED.run(arguments, folder, os.environ | {"TMPDIR": str(folder)})
    assert (killed.returncode, killed.stdout) == (-signal.SIGKILL, "")
    assert sorted(spent(folder), reverse=True) == [0.2] * debits + [0.0] * (2 - debits)
    recorded = set()
    for side in SIDES:
        with Ledger.open(folder / side / "t.ledger") as ledger:
            recorded |= {one.release_id for answer in ledger.answers() for one in recorded_releases(answer.answer)}
    noise = StubNoise()
    with replaced_noise(noise):
        first = compared(folder, run_id="x")
    assert noise.draws == (0 if recorded else 3), "a recorded answer is not drawn again"
    assert not recorded or recorded == {one.release_id for one in first}
    assert compared(folder, run_id="x") == first
    assert spent(folder) == [0.2, 0.2]
    for side in SIDES:
        with Ledger.open(folder / side / "t.ledger") as ledger:
            assert [len(recorded_releases(answer.answer)) for answer in ledger.answers()] == [3]


def test_two_comparisons_in_opposite_order_do_not_wait_for_one_another(folder: Path) -> None:
    """Under one run id, at once: one of them is answered, the other one is another request."""
    ended: list[str] = []
    barrier = threading.Barrier(2)

    def run(sides: tuple[str, str]) -> None:
        barrier.wait()
        try:
            compared(folder, sides, run_id="x")
            ended.append("answered")
        except RunIdError:
            ended.append("another request")

    threads = [threading.Thread(target=run, args=(sides,)) for sides in (SIDES, SIDES[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(ended) == ["another request", "answered"]
    assert spent(folder) == [0.2, 0.2]


def test_a_budget_that_sessions_share_pays_once(folder: Path) -> None:
    budget = Budget(0.2)
    tables = [folder / side / "t.parquet" for side in SIDES]
    with dpdb.open(tables[0], budget=budget) as left, dpdb.open(tables[1], budget=budget) as right:
        dpdb.compare(left, right, "id", 0.2)
        assert budget.spent() == 0.2
        with pytest.raises(BudgetExceededError):
            dpdb.compare(left, right, "id", 0.1)
        with pytest.raises(ParameterError, match="one session"):
            dpdb.compare(left, left, "id", 0.1)


@pytest.mark.parametrize("side", SIDES)
def test_a_table_that_changes_while_it_is_compared_publishes_nothing(
    folder: Path, side: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The debits stay; the rows that were read may be of several tables."""
    written, noise = Database.write_file, StubNoise()

    def changing(self: Database, *args: Any) -> None:
        written(self, *args)
        pq.write_table(pa.table({"id": [9], "a": [1]}), folder / side / "t.parquet")

    monkeypatch.setattr(Database, "write_file", changing)
    with replaced_noise(noise), pytest.raises(EngineError, match="failed after its budget was debited"):
        compared(folder)
    assert spent(folder) == [0.2, 0.2]
    for each in SIDES:
        with Ledger.open(folder / each / "t.ledger") as ledger:
            assert ledger.answers() == []


@pytest.mark.parametrize("notion", ["zcdp", "gdp"])
def test_ledgers_of_other_notions_are_charged_for_one_pure_answer(folder: Path, notion: str) -> None:
    """However many numbers it has: epsilon^2 / 2 in rho, and the mu of randomized response at epsilon."""
    (folder / "right" / "t.ledger").unlink()
    Ledger.create(folder / "right" / "t.ledger", 1, notion).close()
    compared(folder, each_column=True)
    mu = 2 * NormalDist().inv_cdf(math.exp(0.2) / (1 + math.exp(0.2)))
    assert spent(folder) == [0.2, pytest.approx(0.2**2 / 2 if notion == "zcdp" else mu, rel=1e-6)]


@pytest.mark.heavy(family="long")
def test_a_receipt_of_either_debit_is_signed_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key, receipts = folder / "keys" / "r.key", folder / "r.jsonl"
    key.parent.mkdir()
    assert main(["receipts", "key", str(key)]) == 0
    tables = [str(folder / side / "t.parquet") for side in SIDES]
    ledgers = [f"--{side}-ledger={folder / side / 't.ledger'}" for side in SIDES]
    words = ["compare", *tables, "--key", "id", "--epsilon", "0.2", "--quiet", "--run-id", "x"]
    signed = ["--receipt", str(receipts), "--receipt-key", str(key)]
    assert main([*words[:-2], ledgers[0], *signed]) == 2
    assert "a receipt is of both debits" in capsys.readouterr().err
    for _ in range(2):
        assert main([*words, *ledgers, *signed]) == 0
        assert len(receipts.read_text().splitlines()) == 2
    assert spent(folder) == [0.2, 0.2]
    capsys.readouterr()
    assert main(["verify", str(receipts), "--key", f"{key}.pub"]) == 0
    assert "not proven" in capsys.readouterr().out
