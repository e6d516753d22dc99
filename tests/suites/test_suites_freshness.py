"""How new rows are: counted against plain Python, by one moment per run that is recorded, and never shown by chance."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from case_share import of_all
from killed import killed_at
from test_suites_volume import SURE, WAYS

import dpdb
from dpdb.doors.cli.main import main
from dpdb.errors import ConstraintSyntaxError, DpdbError, ParameterError, RunIdError, UnknownColumnError
from dpdb.ledger import Ledger
from dpdb.suites import CheckResults, Session, TableSet, load_suite, prepare_check
from dpdb.suites.suite import moment_of

NOW = datetime(2026, 11, 28, 11, 20, 5, tzinfo=UTC)
SAID = "2026-11-28T11:20:05Z"


def table(moments: list[datetime | None]) -> pa.Table:
    """The same moments as a DATE, a TIMESTAMP and a TIMESTAMPTZ column."""
    naive = [None if each is None else each.replace(tzinfo=None) for each in moments]
    return pa.table(
        {
            "id": pa.array(range(len(moments)), pa.int64()),
            "day": pa.array([None if each is None else each.date() for each in naive], pa.date32()),
            "naive": pa.array(naive, pa.timestamp("us")),
            "zoned": pa.array(moments, pa.timestamp("us", tz="UTC")),
        }
    )


def true_counts(rows: pa.Table, suite: str, now: datetime = NOW) -> list[int]:
    loaded = load_suite(suite)
    with Session(rows, constraints=loaded.rules, budget=1) as session:
        return [int(each.value) for each in session.exact_checks(loaded, non_private=True, now=now)]


def apart(moments: list[datetime | None], column: str, age: timedelta, inclusive: bool, zone: str | None) -> int:
    """Count in plain Python: the age of each row, where a date is its midnight on the clocks of the zone."""
    clocks = ZoneInfo(zone or "UTC")
    found = 0
    for each in moments:
        if each is None:
            continue
        if column == "zoned":
            moment = each
        elif column == "naive":
            moment = each.replace(tzinfo=clocks)
        else:
            moment = datetime(each.year, each.month, each.day, tzinfo=clocks)
        old = NOW - moment.astimezone(UTC)
        found += old < age or (inclusive and old == age)
    return found


AGES = {"2 days": timedelta(days=2), "35 hours": timedelta(hours=35), "1 second": timedelta(seconds=1)}
EDGES = [
    NOW - age + shift
    for age in AGES.values()
    for shift in (timedelta(), timedelta(microseconds=1), -timedelta(microseconds=1), timedelta(hours=1))
]
MIDNIGHTS = [datetime(2026, 11, day, tzinfo=UTC) for day in (25, 26, 27, 28, 29)]


@pytest.mark.parametrize("zone", [None, "Europe/Berlin", "Pacific/Auckland"])
def test_rows_are_counted_as_in_plain_python(zone: str | None) -> None:
    moments = [None, *EDGES, *MIDNIGHTS, datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)]
    cases = [
        (column, name, sign)
        for column in ("day", "naive", "zoned")
        for name in AGES
        for sign in ("<", "<=")
        if zone is None or column != "zoned"
    ]
    where = "" if zone is None else f", '{zone}'"
    lines = [f"freshness({column}{where}) {sign} {name} with 5000 rows" for column, name, sign in cases]
    found = true_counts(table(moments), "\n".join(line.replace(" with 5000 rows", "") for line in lines))
    assert found == [apart(moments, column, AGES[name], sign == "<=", zone) for column, name, sign in cases]
    assert len(set(found)) > 2


def test_an_age_that_ends_at_midnight_takes_that_date_only_where_it_is_included() -> None:
    rows = table([datetime(2026, 11, day, tzinfo=UTC) for day in (26, 27, 28)])
    suite = "freshness(day) < 2 days\nfreshness(day) <= 2 days\n"
    assert true_counts(rows, suite, datetime(2026, 11, 28, tzinfo=UTC)) == [2, 3]
    assert true_counts(rows, suite, datetime(2026, 11, 28, 0, 0, 1, tzinfo=UTC)) == [2, 2]


def test_where_restricts_what_is_counted() -> None:
    assert true_counts(table([NOW] * 9), "freshness(zoned) < 1 day WHERE id < 4 OR id = 7\n") == [5]


@pytest.mark.heavy(family="privacy")
@pytest.mark.parametrize("most", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_one_row_more_changes_the_count_by_0_or_1(most: int) -> None:
    """All tables of up to one row (slow: two) from seven values, with each further row, through the real SQL."""
    values: list[datetime | None] = [None, NOW, *EDGES[:3], MIDNIGHTS[1], MIDNIGHTS[2]]
    suite = "freshness(day) < 2 days\nfreshness(naive) <= 2 days\nfreshness(zoned) < 2 days WHERE id < 2\n"
    counts = {
        rows: true_counts(table([*rows]), suite)
        for size in range(most + 1)
        for rows in itertools.combinations_with_replacement(values, size)
    }
    moved = set()
    for rows, found in counts.items():
        for value in values if len(rows) < most else []:
            more = counts[tuple(sorted([*rows, value], key=values.index))]
            moved |= {(place, after - before) for place, (before, after) in enumerate(zip(found, more, strict=True))}
    assert moved == {(place, change) for place in range(3) for change in (0, 1)}


@pytest.mark.heavy
@pytest.mark.parametrize("way", WAYS)
def test_an_empty_or_stale_day_fails_and_a_fresh_one_passes(tmp_path: Path, way: str) -> None:
    """Beta is 1e-7: each assertion is wrong with at most that."""
    suite = "freshness(naive) < 2 days\nseen: freshness(day) < 2 days  warn below 3\n"
    verdicts = []
    for name, moments in {
        "empty": [],
        "stale": [NOW - timedelta(days=3)] * 3000,
        "unknown": [None] * 3000,
        "fresh": [NOW - timedelta(days=1)] * 1000,
    }.items():
        notion = "zcdp" if "rho" in WAYS[way] else "pure"
        ledger = tmp_path / f"{name}.ledger"
        Ledger.create(ledger, 2, notion=notion, **({"delta": 1e-6} if notion == "zcdp" else {})).close()
        with Session(table(moments), ledger=ledger) as session:  # type: ignore[arg-type]
            found = session.check(suite, confidence=SURE, now=NOW, **WAYS[way])
        verdicts.append([check.verdict for check in found])
        assert found.now == SAID
        assert f"Rows are fresh by {SAID}." in found.certainty
        assert json.loads(found.to_json())["now"] == SAID
    assert verdicts == [["fail", "fail"]] * 3 + [["pass", "pass"]]


# -- one moment per run -------------------------------------------------------------------------------------------

SUITE = "new: freshness(zoned) < 2 days\nids: UNIQUE(id)\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    pq.write_table(table([NOW - timedelta(days=1)] * 2000), "t.parquet")
    Ledger.create("t.ledger", 9).close()
    return tmp_path


def check(**options: object) -> CheckResults:
    with Session("t.parquet", constraints=load_suite(SUITE).rules, ledger="t.ledger") as session:
        return session.check(SUITE, **options)  # type: ignore[arg-type]


@pytest.mark.heavy
@pytest.mark.parametrize("keep", [None, "daily"])
@pytest.mark.parametrize("way", [{}, {"sizes": True}])
def test_a_run_goes_on_at_its_moment(place: Path, keep: str | None, way: dict[str, object]) -> None:
    if keep and way:
        pytest.skip("a kept suite has levels alone")
    options = {"keep": keep, "run_id": "monday", **way}
    with killed_at("level recorded"):
        check(now=NOW, **options)
    with pytest.raises(ParameterError, match=rf"run 'monday' is of {SAID}"):
        check(now="2026-12-28T00:00:00Z", **options)
    found = check(**options)  # the clock says another time
    assert (found.now, found[0].verdict) == (SAID, "pass")
    assert check(**options).to_json() == found.to_json()
    with Ledger.open("t.ledger") as ledger:
        assert SAID in json.dumps([each.answer for each in ledger.answers(run_id="monday")]) or keep


def test_a_kept_suite_has_another_moment_in_each_run(place: Path) -> None:
    first = check(keep="daily", run_id="monday", now=NOW)
    later = check(keep="daily", run_id="month later", now=NOW + timedelta(days=30))
    assert [first[0].verdict, later[0].verdict] == ["pass", "fail"]
    assert (first.now, later.now) == (SAID, "2026-12-28T11:20:05Z")
    with Ledger.open("t.ledger") as ledger:
        assert ledger.summary().spent == 1
        assert '"now"' not in ledger.suites()[0].spec
        said = [json.loads(each.answer).get("now") for each in ledger.suite_levels(1)]
    assert set(said) == {SAID, later.now}


def test_another_moment_is_another_request(place: Path) -> None:
    check(run_id="monday", now=NOW)
    with pytest.raises(ParameterError, match="leave out now"):
        check(run_id="monday", now=NOW + timedelta(seconds=1))
    rules = load_suite("ids: UNIQUE(id)").rules
    with Session("t.parquet", constraints=rules, ledger="t.ledger") as session, pytest.raises(RunIdError):
        session.check("ids: UNIQUE(id)", run_id="monday")


def test_rows_that_cannot_be_told_from_none_are_refused_before_the_debit(place: Path) -> None:
    with Session("t.parquet", ledger="t.ledger") as session:
        with pytest.raises(ParameterError, match=r"20 rows are not surely seen at epsilon 1: 37 are the fewest"):
            session.check("freshness(zoned) < 2 days with 20 rows", now=NOW)
        run = prepare_check(session, "freshness(zoned) < 2 days with 37 rows", now=NOW)
        assert run.needed(0) == 37
        with pytest.raises(ParameterError, match=r"36 rows are not surely seen at epsilon 1: 37 are"):
            session.check("freshness(zoned) < 2 days with 36 rows", now=NOW)
        for options in ({"sizes": True}, {"certain": "pass"}, {"keep": "a", "runs": 9}):
            with pytest.raises(ParameterError, match="are the fewest that pass surely"):
                session.check("freshness(zoned) < 2 days with 2 rows", now=NOW, **options)  # type: ignore[arg-type]
    with Ledger.open("t.ledger") as ledger:
        assert ledger.summary().spent == 0


def test_so_many_rows_pass_surely_and_none_never() -> None:
    """200 tables (a fifth by default) of exactly so many rows at beta 1e-7, and as many empty ones."""
    suite = "freshness(zoned) < 2 days\n"
    with Session(table([NOW]), budget=9) as session:
        needed = prepare_check(session, suite, confidence=SURE, now=NOW).needed(0)
    for count, verdict in ((needed, "pass"), (0, "fail")):
        with Session(table([NOW] * count), budget=1000) as session:
            found = [session.check(suite, confidence=SURE, now=NOW)[0].verdict for _ in range(of_all(200))]
        assert set(found) == {verdict}


# -- doors ----------------------------------------------------------------------------------------------------------


@pytest.mark.heavy(family="long")
def test_the_command_shows_the_moment(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.suite").write_text("freshness(naive) < 36 hours\nrow_count fail below 3\n")
    asked = ["check", "t.parquet", "s.suite", "--ledger", "t.ledger", "--quiet", "--now", "2026-11-28T12:20:05+01:00"]
    assert main([*asked, "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["now"], said["checks"][0]["rule"]) == (SAID, "freshness(naive) < 36 hours")
    assert main(asked) == 0
    assert f"Rows are fresh by {SAID}." in capsys.readouterr().out
    assert main(["exact", "t.parquet", "--suite", "s.suite", "--non-private", "--now", SAID]) == 0
    assert "2,000" in capsys.readouterr().out


def test_sql_takes_a_moment() -> None:
    con = duckdb.connect()
    con.register("source", table([NOW] * 500))
    con.execute("CREATE TABLE t AS FROM source")
    with dpdb.register(con, budget=9, suites={"t": {"nightly": SUITE}}):
        rows = con.execute(f"SELECT verdict FROM dp_check('nightly', now := '{SAID}') ORDER BY name").fetchall()
        assert rows == [("pass",), ("pass",)]
        later = "SELECT verdict FROM dp_check('nightly', now := '2027-01-01T00:00:00Z') WHERE name = 'new'"
        assert con.execute(later).fetchall() == [("fail",)]


@pytest.mark.heavy(family="long")
def test_a_set_of_tables_counts_new_rows_and_units_with_any(tmp_path: Path) -> None:
    data, suites = tmp_path / "data", tmp_path / "suites"
    data.mkdir()
    suites.mkdir()
    owners = [k // 2 for k in range(800)]
    moments = [NOW if k % 2 else NOW - timedelta(days=9) for k in range(800)]
    pq.write_table(table(moments).append_column("person", pa.array(owners)), data / "visit.parquet")
    (suites / "visit.suite.txt").write_text("new: freshness(zoned) < 1 day\nold: freshness(gone) < 1 day\n")
    for limits, ledger in (({"max_rows": 2}, "rows.ledger"), ({}, "units.ledger")):
        Ledger.create(tmp_path / ledger, 50).close()
        with TableSet(data, suites, unit="person", ledger=tmp_path / ledger, **limits) as tables:
            assert [each.reason for each in tables.not_checked] == ["there is no column gone"]
            found = tables.check(epsilon=20, confidence=SURE, now=NOW, run_id="monday")
            assert (found[0].verdict, found.now) == ("pass", SAID)
            stale = tables.check(epsilon=20, confidence=SURE, now=NOW + timedelta(days=3))
            assert stale[0].verdict == "fail"
            assert tables.check(epsilon=20, confidence=SURE, run_id="monday").to_json() == found.to_json()


# -- what is refused ----------------------------------------------------------------------------------------------

WRONG: list[tuple[str, type[DpdbError], str]] = [
    ("freshness(id) < 1 day", ParameterError, "'id' is BIGINT, and ages are of a DATE or TIMESTAMP"),
    ("freshness(gone) < 1 day", UnknownColumnError, "no column 'gone'"),
    ("freshness(day) > 1 day", ConstraintSyntaxError, "rows that are younger are fresh"),
    ("freshness(day) = 1 day", ConstraintSyntaxError, "rows that are younger are fresh"),
    ("freshness(day) < 1", ConstraintSyntaxError, "seconds, minutes, hours, days or weeks"),
    ("freshness(day) < 0 days", ConstraintSyntaxError, "an age above 0"),
    ("freshness(day) < 2.5 days", ConstraintSyntaxError, "a whole number and a unit"),
    ("freshness(day) < 1 month", ConstraintSyntaxError, "seconds, minutes, hours, days or weeks"),
    ("freshness(day) < 99999999999 seconds", ParameterError, "before the calendar begins"),
    ("freshness(day) < 999999999999 seconds", ConstraintSyntaxError, "below 3,000 years"),
    ("freshness(day, 'Nowhere') < 1 day", ConstraintSyntaxError, "no time zone"),
    ("freshness(day, '../../etc/passwd') < 1 day", ConstraintSyntaxError, "no time zone"),
    ("freshness(zoned, 'Europe/Berlin') < 1 day", ParameterError, "have a zone of their own"),
    ("freshness(day) < 1 day with many rows", ConstraintSyntaxError, "a number of rows"),
    ("freshness(day) < 1 day with 20", ConstraintSyntaxError, "expected ROWS"),
    ("freshness(day) < 1 day fail above 3", ConstraintSyntaxError, "'fail below' or 'warn below'"),
    ("freshness(day) < 1 day fail below 1%", ConstraintSyntaxError, "a number of rows from 1 on"),
    ("freshness(day) < 1 day fail below 0", ConstraintSyntaxError, "a number of rows from 1 on"),
    ("freshness(day) < 1 day WHERE day = {date}", ConstraintSyntaxError, "a date given for {date}"),
    ("freshness(day) < 1 day WHERE id = (SELECT 1)", ConstraintSyntaxError, "a condition after WHERE"),
]


@pytest.mark.parametrize(("line", "error", "words"), WRONG)
def test_what_is_no_such_check_is_refused(line: str, error: type[DpdbError], words: str) -> None:
    with pytest.raises(error) as caught:
        dpdb.check(table([NOW]), line, 1)
    assert words in str(caught.value)


@pytest.mark.parametrize("now", ["yesterday", "2026-11-28", "2026-11-28T07:00:00", "2026-11-28T07:00:00.5Z", "\u0660"])
def test_a_moment_needs_its_zone_and_whole_seconds(now: str) -> None:
    with pytest.raises(ParameterError, match="no moment in whole seconds with its zone"):
        moment_of(now)


def test_moments_are_one_however_they_are_written() -> None:
    assert {moment_of(each) for each in (SAID, "2026-11-28T12:20:05+01:00", NOW)} == {NOW}
    assert moment_of(None).microsecond == 0
