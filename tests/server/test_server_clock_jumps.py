"""The machine's clock jumps back and forth under servers and jobs: nothing is restored, lost, or paid for twice."""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from server_site import make_site
from test_server_clock import HOUR, Clock, jumping
from test_server_one_analyst import Inside, statement
from wire_client import EndedError, Wire, error_of

from dpdb.doors import jobs
from dpdb.doors.server.analysts import add_analyst
from dpdb.doors.server.configuration import load_configuration
from dpdb.ledger import Ledger

__all__ = ["jumping"]

COST = 0.25
JUMPS = (-1_000 * HOUR, -25 * HOUR, -HOUR, HOUR * 0, 3 * HOUR, 25 * HOUR, 40 * 24 * HOUR)


def asked(inside: Inside, key: str, number: int) -> httpx.Response:
    text = f"SELECT value FROM dp_count('visits', {COST}, label := '{number}')"
    return inside.post("/v1/run", statement(text), **{"Idempotency-Key": key})


@pytest.mark.heavy(family="long")
def test_jumps_restore_no_quota_and_lose_no_answer(tmp_path: Path, jumping: Clock) -> None:
    """Forty statements under twelve keys, some asked again, each at another wrong time."""
    drawn = random.Random(45)
    rights = {"ann": {"quota": 2, "most_per_statement": COST}}
    inside = Inside(make_site(tmp_path, epsilon=500, analysts=rights))
    answers: dict[str, object] = {}
    codes: Counter[int] = Counter()
    try:
        for _ in range(40):
            jumping.wrong = drawn.choice(JUMPS)
            number = drawn.randrange(12)
            found = asked(inside, f"key {number}", number)
            codes[found.status_code] += 1
            if found.status_code == 200:
                value = found.json()["rows"]
                assert answers.setdefault(f"key {number}", value) == value
        assert set(codes) == {200, 402}
        assert len(answers) == 8  # what the quota pays for
        assert inside.site.spent() == pytest.approx(8 * COST)
        jumping.wrong = HOUR * 0
        history = inside.get("/v1/history").json()["releases"]
        assert {one["run_id"] for one in history} == {*answers}
        assert all(one["answered"] for one in history)
    finally:
        inside.close()


@pytest.mark.heavy(family="long")
def test_an_allowance_comes_again_by_the_latest_clock_alone(tmp_path: Path, jumping: Clock) -> None:
    """Of one hour, by the rule of `Ledger.allow` written anew: the time of a debit is the latest that was ever seen."""
    drawn = random.Random(7)
    inside = Inside(make_site(tmp_path, epsilon=500, analysts={"ann": {"quota": 100, "most_per_statement": COST}}))
    with Ledger.open(inside.site.ledger) as ledger:
        ledger.owner.allow("1h", 2 * COST)
    try:
        latest, paid, codes = datetime.min.replace(tzinfo=UTC), list[datetime](), Counter[int]()
        for number in range(40):
            jumping.wrong = drawn.choice((*JUMPS[:4], timedelta(minutes=7) * number))
            now = max(latest, jumping.now(UTC))
            free = sum(one > now - HOUR for one in paid) < 2
            found = asked(inside, f"key {number}", number)
            codes[found.status_code] += 1
            assert found.status_code == (200 if free else 402), (number, found.text)
            if free:
                latest = max(latest, jumping.now(UTC))
                paid.append(latest)
        assert inside.site.spent() == pytest.approx(codes[200] * COST)
        assert codes[200] >= 3
        assert codes[402] >= 20
    finally:
        inside.close()


@pytest.mark.heavy(family="long")
def test_no_open_connection_outlives_its_token(tmp_path: Path, jumping: Clock) -> None:
    """A connection of PostgreSQL that was logged in ends with its token, and a clock that goes back revives neither."""
    site = make_site(tmp_path, epsilon=500, analysts={"bob": {}})
    token = add_analyst(load_configuration(site.config), "ann", expires=datetime.now(UTC) + 2 * HOUR)
    inside = Inside(type(site)(site.folder, {**site.tokens, "ann": token}))
    try:
        with inside.wire("ann") as wire, inside.wire("bob") as other:
            assert wire.query("SELECT 1")[0][0] == b"T"
            for wrong in (3 * HOUR, HOUR * 0, -100 * HOUR):
                jumping.wrong = wrong
                inside.desk.directory.refresh()
                assert inside.post("/v1/run", statement("SELECT 1")).status_code == 401
                with Wire(inside.port) as again:
                    assert error_of(again.log_in("ann", token)[-1])["C"] == "28P01"
                assert other.query("SELECT 1")[0][0] == b"T"
            for _ in range(2):  # it gets at most the reason
                with contextlib.suppress(EndedError, OSError):
                    assert wire.query("SELECT 1")[0][0] == b"E"
            assert wire.received.count(b"SELECT 1") == 1  # of the first answer
    finally:
        inside.close()


@pytest.mark.heavy(family="spending")
def test_a_job_of_a_day_is_paid_for_once_where_the_day_comes_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jumping: Clock
) -> None:
    """Days by the clock: 0, 1, 0, 1, -1, 0. Three of them are other days, with one debit and one row each."""
    site = make_site(tmp_path, epsilon=500)
    monkeypatch.setattr("dpdb.doors.jobs.run_job.datetime", jumping)
    job = tmp_path / "job.toml"
    job.write_text(
        'name = "daily"\nsource = "visits.parquet"\nconstraints = ["zip -> state"]\nledger = "visits.ledger"\n'
        'results = "daily.duckdb"\n[[release]]\nname = "rows"\nmeasure = "count"\nepsilon = 0.25\n'
    )
    seen: dict[int, object] = {}
    for day in (0, 1, 0, 1, -1, 0):
        jumping.wrong = day * 24 * HOUR
        [outcome] = jobs.run(job)
        values = [release.value for release in outcome.releases]
        assert seen.setdefault(day, values) == values
    assert site.spent() == pytest.approx(3 * COST)
    found = jobs.read_results(tmp_path / "daily.duckdb")
    assert len({row.run_id for row in found.rows}) == len(found.rows) == 3
