"""The board of checks by days: what was found in words for every cell, days and checks in order, in every view."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from browser import Browser
from sample import HOSTILE, START, verdicts, year
from test_reports_browser import CONTRAST
from test_reports_page import Page

from dpdb.doors.cli import main
from dpdb.doors.jobs.results import Results, several_results
from dpdb.doors.reports import report_page
from dpdb.names import breakable, in_html, short_names


def cells(html: str) -> list[list[tuple[str, str]]]:
    """Kind and words of each cell, by line."""
    board = re.findall(r"<tbody>(.*?)</tbody>", html.partition('<section class="board">')[2])[0]
    cell = r'<td(?: class="cell (\w+)" title="[^"]*")?><span class="said">(.*?)</span></td>'
    return [re.findall(cell, line) for line in board.split("</tr>")[:-1]]


def test_a_board_has_a_line_for_each_check_and_a_column_for_each_day_newest_first() -> None:
    html = report_page(Results((), verdicts(10)), generated=START)
    found = cells(html)
    assert [[kind for kind, _ in line] for line in found] == [
        ["fail"] * 6 + ["ok"] * 4, ["open"] * 10, ["warn"] * 10, ["ok"] * 10,
    ]  # fmt: skip
    assert [found[line][0][1] for line in range(4)] == [
        "failed on 2026-08-05, not re-armed", "undecided, at most 66 rows", "warned, 31 to 66 rows",
        "passed, at most 66 rows",
    ]  # fmt: skip
    assert found[0][5][1] == "failed, 31 to 66 rows"
    page = Page(html)
    assert re.findall(r'colspan="(\d+)">([0-9-]+)<', html) == [("10", "2026-08")]
    assert re.findall(r'<th scope="col">(\d\d)</th>', html) == [f"{day:02}" for day in range(10, 0, -1)]
    assert "1 failed, 1 undecided, 1 warned, 1 passed." in page.text
    assert "40 verdicts of 10 runs, 2026-08-01 to 2026-08-10" in page.text
    assert "All verdicts are pure 0.25-differentially private." in page.text
    assert "Each dot" not in page.text


def test_what_failed_and_what_changed_stand_first_with_short_names_and_bounds_by_day() -> None:
    long = "a check of many words that nobody would want to read " * 3
    rows = [
        replace(row, check=replace(row.check, name=long if row.check.name == "age" else row.check.name))
        for row in verdicts(4)
    ]
    today = rows[-1].day
    new = {"volume": "not shown", long: "pass", "phone": "pass"}
    rows = [
        replace(row, check=replace(row.check, verdict=new.get(row.check.name, "pass"))) if row.day == today else row
        for row in rows
    ]
    html = report_page(Results((), tuple(rows)), generated=START)
    names = re.findall(r'<th scope="row"(?: title="([^"]*)")?>(.*?)<span', html)
    assert [short for _, short in names] == [
        "volume",
        "phone",
        "zip_<wbr>city",
        "a check of many words that…would want to read",
    ]
    assert names[3][0] == long
    assert [line[0][0] for line in cells(html)] == ["unsure", "ok", "ok", "ok"]
    pictures = re.findall(r'<svg class="chart bounds"[^>]*aria-label="([^"]*)">(.*?)</svg>', html)
    assert [bars.count("<rect") for _, bars in pictures] == [4] * 4
    assert pictures[0][0] == "bounds of 4 days, the last: at most 66 rows"
    assert "bounds" not in "".join(re.findall("<svg.*?</svg>", report_page(Results((), verdicts(1)), generated=START)))


def test_a_failure_that_stands_is_of_the_day_whose_data_it_was_seen_in() -> None:
    """The ledger knows the day of the run, here a month later."""
    late = [
        replace(
            row, check=replace(row.check, since=row.check.since and "2026-09-30"), time=row.time + timedelta(days=31)
        )
        for row in verdicts(10)
    ]
    found = cells(report_page(Results((), tuple(late)), generated=START))
    assert found[0][0][1] == "failed on 2026-08-05, not re-armed"


def test_a_page_without_verdicts_has_nothing_of_boards() -> None:
    assert "board" not in report_page(year(3), generated=START)
    both = report_page(Results(year(3).rows, verdicts(3)), generated=START)
    assert (both.count('<section class="board">'), both.count("<article")) == (1, 6)
    assert "18 releases and 12 verdicts of 5 runs" in Page(both).text


def test_the_last_run_of_a_day_counts_and_a_check_that_was_not_run_has_an_empty_cell() -> None:
    rows = verdicts(2)
    again = [
        replace(row, run_id="again", time=row.time + timedelta(hours=1), check=replace(row.check, verdict="undecided"))
        for row in rows[4:7]  # of the second day, without the last check
    ]
    found = cells(report_page(Results((), (*rows, *again)), generated=START))
    assert [[kind for kind, _ in line] for line in found] == [
        ["open", "ok"],
        ["open", "ok"],
        ["open", "open"],
        ["", "warn"],
    ]
    assert found[3][0][1] == "not run"


def test_many_days_are_cut_and_counted() -> None:
    html = report_page(Results((), verdicts(70)), generated=START)
    assert {len(line) for line in cells(html)} == {62}
    assert "8 earlier days not shown." in html
    assert re.findall(r'colspan="(\d+)">([0-9-]+)<', html) == [("9", "2026-10"), ("30", "2026-09"), ("23", "2026-08")]


def test_verdicts_of_hostile_names_are_escaped() -> None:
    page = Page(report_page(Results((), verdicts(2, hostile=True)), generated=START))
    assert set(page.tags).isdisjoint({"script", "img"})
    assert HOSTILE in page.text
    assert not any(name.startswith("on") or name in ("src", "style") for name, _ in page.attributes)


def test_tables_of_checks_alone_can_be_chosen_and_one_name_in_two_files_is_told_apart() -> None:
    results = several_results({"a": Results(year(2).rows), "b": Results((), verdicts(2))})
    html = report_page(results, generated=START)
    assert {"visits-quality (a)", "visits-quality (b)"} == set(re.findall(r"<h2>(visits.*?)</h2>", html))
    assert re.findall(r'<section class="job (t\d)">', html) == ["t1", "t2"]


def test_report_of_a_job_of_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_text("zip,city\n" + "1,a\n" * 300 + "1,b\n" * 200)
    (tmp_path / "suite.txt").write_text("zips: zip -> city\n")
    (tmp_path / "job.toml").write_text(
        'name = "job"\nsource = "t.csv"\nledger = "t.ledger"\nresults = "out"\n'
        '[[check]]\nsuite = "suite.txt"\nepsilon = 10\n'
    )
    assert main(["budget", "create", f"{tmp_path}/t.ledger", "--epsilon", "50"]) == 0
    # 200 rows above a limit of 0 pass with probability exp(-2.5 (200 - s) / 2) at the most, s below 10
    assert main(["run", f"{tmp_path}/job.toml", "--run-id", "2026-08-01", "--quiet"]) == 1
    capsys.readouterr()
    assert main(["report", f"{tmp_path}/out", "--out", f"{tmp_path}/r.html"]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/r.html: 0 releases, 1 verdicts\n"
    html = (tmp_path / "r.html").read_text()
    assert [[kind for kind, _ in line] for line in cells(html)] == [["fail"]]


@pytest.mark.heavy
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1200, 360])
def test_a_board_can_be_read_in_every_view(browser: Browser, width: int, dark: bool, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(report_page(Results((), verdicts(40)), generated=START), encoding="utf-8")
    browser.show(path, width=width, dark=dark)
    assert browser.log("browser") == []
    assert browser.run("return document.documentElement.scrollWidth") == width
    assert browser.run(CONTRAST) == []
    sign = "return getComputedStyle(document.querySelector('.cell.{}'), '::before').content"
    assert [browser.run(sign.format(kind)) for kind in ("ok", "fail", "warn", "open")] == ['"✓"', '"✗"', '"!"', '"?"']
    # Pictures of bounds are as small as a line of text, so that the checks of a suite stand on a screen.
    tall = "return Array.from(document.querySelectorAll('svg.bounds')).map(one => one.getBoundingClientRect().height)"
    assert browser.run(tall)
    assert all(10 <= height <= 30 for height in browser.run(tall))
    # The names of checks stay in view while the days are scrolled.
    browser.run("document.querySelector('.board .scroll').scrollLeft = 300")
    left = "return document.querySelector('.board tbody th').getBoundingClientRect().left"
    assert browser.run(left) >= 0


def test_long_names_stay_apart_and_break_between_words_only() -> None:
    """A name may be broken after its separators; no two lines of a board look alike."""
    stem = "dbt_utils_unique_combination_of_columns_orders_order_id__day"
    names = [stem, f"{stem} (2)", "x" * 60, f"{'x' * 60}y", "short"]
    short = short_names(names, 48)
    assert len(set(short.values())) == len(names)
    assert short[stem] == "dbt_utils_unique_…columns_orders_order_id__day"
    assert short["x" * 60] != short[f"{'x' * 60}y"]
    alike = [f"{'b' * 20}_{place}{'z' * 20}_{'c' * 20}" for place in range(3)]
    assert short_names(alike, 48) == dict(zip(alike, alike, strict=True))  # what would be alike is shown in full
    assert breakable(f"{stem}<b>").replace("<wbr>", "") == in_html(f"{stem}<b>")
    assert all(each[-1] in "_./,:(-" for each in breakable(stem).split("<wbr>")[:-1])
