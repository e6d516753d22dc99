"""What a reader may choose on a page, runs in the order of their own dates, and pages about several tables."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from browser import Browser
from sample import HOSTILE, START, release, row

from dpdb.doors.cli import main
from dpdb.doors.jobs.placeholders import date_in, parse_date
from dpdb.doors.jobs.results import RESULTS, Results, read_results, result_table, several_results
from dpdb.doors.jobs.stored import open_stored
from dpdb.doors.reports import report_page
from dpdb.doors.reports.series import series_of
from dpdb.errors import ParameterError

SHOWN = "return [...document.querySelectorAll('article')].filter(e => e.getClientRects().length).map(e => e.id)"


def several() -> Results:
    """Two tables; a measure of one rule with a name, of one without, and slices."""
    rule = {"constraint": "zip -> state", "constraint_text": "state_by_zip: zip -> state"}
    rows = [
        row(release()),
        row(release(where="state = 'CA'")),
        row(release("problematic", **rule)),
        row(release("problematic", constraint=HOSTILE, constraint_text=HOSTILE)),
        row(release(), job="orders"),
    ]
    return Results(tuple(rows))


def test_rules_are_called_by_their_names() -> None:
    html = report_page(several(), generated=START)
    assert "<strong>state_<wbr>by_<wbr>zip</strong>" in html
    assert '<span class="slice">state_by_zip, whole table</span>' in html
    assert HOSTILE not in html


def test_a_slice_that_is_called_by_our_own_words_is_a_choice_of_its_own() -> None:
    html = report_page(Results((row(release()), row(release(where="whole table")))), generated=START)
    assert re.findall(r'id="(w\d)"[^>]*> whole table<', html) == ["w1", "w2"]


@pytest.mark.heavy(family="long")
def test_choices_hide_what_they_do_not_name(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(report_page(several(), generated=START), encoding="utf-8")
    browser.show(page)
    everything = browser.run(SHOWN)
    assert len(everything) == 5
    chosen = {}
    for choice in ("t2", "m2", "w2", "r2", "r3"):
        group = choice[0]
        browser.run(f"document.getElementById('{choice}').click()")
        chosen[choice] = len(browser.run(SHOWN))
        browser.run(f"document.getElementById('{group}0').click()")
        assert browser.run(SHOWN) == everything
    assert chosen == {"t2": 1, "m2": 2, "w2": 1, "r2": 1, "r3": 1}
    browser.run("document.getElementById('m2').click(); document.getElementById('r2').click()")
    assert len(browser.run(SHOWN)) == 1


def test_where_there_is_nothing_to_choose_there_are_no_choices() -> None:
    html = report_page(Results((row(release()), row(release(value=51), 1))), generated=START)
    assert "<input" not in html
    assert ":has(" not in html


def test_a_backfill_stands_where_its_data_belong() -> None:
    early = row(release(value=10), 5, run_id="scheduled__2026-07-01T06:00:00+02:00")
    given = row(release(value=20), 6, run_id="again", run_date=datetime(2026, 7, 15, tzinfo=UTC))
    late = row(release(value=30), 1)
    by_date = sorted([late, given, early], key=lambda one: one.date)
    assert [one.release.value for one in by_date] == [10, 20, 30]
    assert early.date == datetime(2026, 7, 1, 4, tzinfo=UTC)
    [series] = series_of(by_date)
    assert series.latest is late
    assert "2026-07-01 to 2026-08-08" in report_page(Results(tuple(by_date)), generated=START)


@pytest.mark.parametrize(
    ("run_id", "date"),
    [
        ("2026-11-21", datetime(2026, 11, 21, tzinfo=UTC)),
        ("nightly-2026-11-21T23:30:00-01:00-retry", datetime(2026, 11, 22, 0, 30, tzinfo=UTC)),
        ("2026-13-45", None),
        ("12026-11-211", None),
        ("0001-01-01T00:00:00+23:00", None),
        ("first", None),
    ],
)
def test_the_date_in_a_run_id(run_id: str, date: datetime | None) -> None:
    assert date_in(run_id) == date


def test_a_stated_date_is_one() -> None:
    assert parse_date("2026-11-21T06:00Z") == datetime(2026, 11, 21, 6, tzinfo=UTC)
    for wrong in ("yesterday", "x2026-11-21", "2026-11-31", ""):
        with pytest.raises(ParameterError, match="expected a date or time"):
            parse_date(wrong)


def written(path: Path, rows: Results) -> Path:
    results = open_stored(path, None, RESULTS)
    results.prepare()
    results.append(result_table(rows.rows))
    return path


@pytest.mark.heavy(family="long")
def test_one_page_about_several_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = written(tmp_path / "a.duckdb", Results((row(release()),)))
    second = written(tmp_path / "b", Results((row(release(value=70), run_date=START - timedelta(days=30)),)))
    out = tmp_path / "report.html"
    assert main(["report", str(first), str(second), "--out", str(out)]) == 0
    assert "2 releases" in capsys.readouterr().out
    assert len(re.findall('<section class="job', out.read_text())) == 2
    assert f"visits-quality ({first})" in out.read_text()
    assert main(["report", str(first), str(second), "--out", str(out), "--ledger", "x"]) == 2
    assert "are of one table" in capsys.readouterr().err
    read = read_results(second)
    assert read.rows[0].run_date == START - timedelta(days=30)
    assert several_results({"a": read, "b": Results((row(release(), job="other"),))}).rows[0].job == "visits-quality"
