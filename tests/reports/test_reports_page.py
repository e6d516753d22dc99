"""The report's source: every text escaped, nothing loaded, no private number, what it shows is what was released."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from sample import HOSTILE, RULES, START, release, row, year

from dpdb.constraints import load_constraints
from dpdb.doors.cli import main
from dpdb.doors.jobs.results import Results
from dpdb.doors.reports import report_page
from dpdb.ledger import Ledger
from dpdb.privacy.noise import replaced_noise

VOID = {"wbr", "meta", "br", "input"}


class Page(HTMLParser):
    """What a browser would see of a page; checks that every element is closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self._open or self._open[-1] != "style":
            self.text += data


@pytest.mark.parametrize("hostile", [False, True])
def test_nothing_is_loaded_and_every_text_is_escaped(hostile: bool) -> None:
    results = year(6, hostile=hostile)
    if hostile:
        changes = {"measure": HOSTILE, "estimand": HOSTILE, "mechanism": HOSTILE, "guarantee": HOSTILE,
                   "quantity": HOSTILE, "constraint": HOSTILE, "constraint_text": HOSTILE,
                   "population": HOSTILE}  # fmt: skip
        extra = replace(results.rows[-1], release=replace(results.rows[-1].release, **changes), gate=HOSTILE,
                        gate_threshold=1.0, ledger_parameter=HOSTILE)  # fmt: skip
        results = Results((*results.rows, extra))
    html = report_page(results, title=HOSTILE if hostile else "T", generated=START)
    page = Page(html)
    assert set(page.tags).isdisjoint({"script", "img", "link", "iframe", "object", "form", "base", "use", "image"})
    for name, value in page.attributes:
        assert name not in ("src", "srcset", "xlink:href", "action", "style")
        assert not name.startswith("on")
        assert name != "href" or re.fullmatch(r"#s\d+", value)
    assert re.findall(r"url\(([^)]*)\)|@import", html) == ["#open"]
    assert "default-src 'none'" in dict(page.attributes).get("content", "") or "default-src 'none'" in html
    assert (HOSTILE in page.text) == hostile


def test_a_text_that_turns_the_direction_of_reading_turns_nothing() -> None:
    """A slice or rule with U+202E would show another number behind it than was released."""
    turned = "x\u202e\u2066"
    results = year(3)
    changes = {"where": turned, "constraint": turned, "constraint_text": turned}
    rows = [
        replace(one, job=turned, run_id=turned, constraint_texts=(turned,), release=replace(one.release, **changes))
        for one in results.rows
    ]
    pages = [report_page(Results(tuple(rows)), title=turned, generated=START), rows[0].release._repr_html_()]
    for page in pages:
        assert {"\u202e", "\u2066"}.isdisjoint(page)
        assert r"x\u202e\u2066" in page


def test_the_page_shows_series_gates_budget_constraints_and_guarantee() -> None:
    results = year(14)
    page = Page(report_page(results, generated=START))
    assert page.tags.count("article") == 6
    assert page.text.count("All 14 releases as a table") == 6
    assert "2 of 4 gates failed." in page.text
    assert "Budget after the run of 2026-10-31: epsilon 22.4 of 30 spent, 7.6 left" in page.text
    assert "Rows with the same zip_code must have the same city." in page.text
    assert "no upper bound" in page.text
    assert "Pure 1-differential privacy" in page.text
    assert "Written 2026-08-01 04:00 UTC by dpdb" in page.text
    for one in results.rows:
        assert f"{one.release.value:,.10g}" in page.text


def test_charts_draw_open_intervals_gates_failures_and_changed_constraints() -> None:
    html = report_page(year(14), generated=START)
    charts = re.findall(r'<svg class="chart".*?</svg>', html)
    repair, conflicts, problematic = charts[:3]
    assert (repair.count('class="interval"'), repair.count('class="interval open"')) == (14, 0)
    assert (conflicts.count('class="interval open"'), conflicts.count('class="arrow"')) == (14, 14)
    assert "no upper bound" in conflicts
    assert "no upper bound" not in repair
    assert repair.count("dot failed") == 5
    assert ("gate: at most 100" in repair, "gate: at most 250" in problematic) == (True, True)
    assert problematic.count("V") == 0
    assert 'class="gate"' not in conflicts
    assert all(chart.count("the constraints or the statistic changed here") == 1 for chart in charts)
    assert all(chart.count("<title>2026-") == 14 for chart in charts)
    assert "axis starts at" in charts[3]
    assert "axis starts at" not in repair


def test_a_gate_far_from_the_values_does_not_press_them_together() -> None:
    """The axis is that of the values, and the gate is named; one within reach is drawn, and gives the axis room."""
    plain = row(release(value=50))
    without, far, near = (
        re.findall(r'<svg class="chart".*?</svg>', report_page(Results((one,)), generated=START))[0]
        for one in (
            plain,
            replace(plain, gate="passed", gate_threshold=1e6),
            replace(plain, gate="passed", gate_threshold=80.0),
        )
    )
    assert "gate: at most 1M, above this chart" in far
    assert 'class="gate"' not in far
    ticks = re.compile(r'class="axis"[^>]*text-anchor="end">([0-9,]+)<')
    assert ticks.findall(far) == ticks.findall(without)
    assert 'class="gate"' in near


def test_what_was_warned_of_is_shown_and_is_no_passed_gate() -> None:
    plain = row(release(value=50), warn_threshold=40.0, warned=True)
    page = Page(report_page(Results((plain,)), generated=START))
    assert "No gates. 1 warning." in page.text
    assert "Warning: above 40; the threshold lies inside the noise (lower bound 33)." in page.text
    assert "warned, 40" in page.text
    assert "passed" not in page.text
    both = Page(report_page(Results((replace(plain, gate="passed", gate_threshold=60.0),)), generated=START))
    assert "1 gate passed. 1 warning." in both.text
    assert "passed, warned" in both.text
    quiet = Page(report_page(Results((replace(plain, warn_threshold=90.0, warned=False),)), generated=START))
    assert "arning" not in quiet.text


def test_a_daily_slice_is_one_series() -> None:
    days = [
        row(
            release(value=50 + day, where=f"day = '2026-08-0{day}'"),
            where_template="day = {date}",
            run_id=f"2026-08-0{day}",
        )
        for day in (1, 2, 3)
    ]
    page = Page(report_page(Results(tuple(days)), generated=START))
    assert page.tags.count("article") == 1
    assert "day = {date}" in page.text


def test_theta_and_mechanism_stand_in_details_only() -> None:
    results = year(8)
    page, card = report_page(results, generated=START), results.rows[1].release._repr_html_()
    assert results.rows[1].release.theta is not None
    for html, words in ((page, ("Mechanism bound", "Theta, the limit")), (card, ("mechanism: bound", "theta: "))):
        details = "".join(re.findall(r"<details.*?</details>", html, re.DOTALL))
        assert [word for word in words if word not in details] == []
        first = re.sub(r"<style.*?</style>|<details.*?</details>", "", html, flags=re.DOTALL)
        assert re.findall("theta|mechanism", first, re.IGNORECASE) == []


def test_the_page_is_the_recorded_one() -> None:
    """A change that is wanted shows as a difference of the file: write it anew with DPDB_WRITE_GOLDEN=1."""
    recording = Path(__file__).parent / "golden" / "page.html"
    found = report_page(year(8), generated=START).replace("><", ">\n<")
    if os.environ.get("DPDB_WRITE_GOLDEN"):
        recording.write_text(found, encoding="utf-8")
    assert found == recording.read_text(encoding="utf-8")


@pytest.mark.heavy
@pytest.mark.parametrize("weeks", [1, 2, 300])
def test_few_and_many_runs_can_be_drawn(weeks: int) -> None:
    html = report_page(year(weeks), generated=START)
    assert "nan" not in html.replace("maintenance", "")
    Page(html)


def test_zeros_shares_and_runs_at_one_time_can_be_drawn() -> None:
    rows = [row(release(value=0, lower=0, upper=0)), row(release(value=0, lower=0, upper=0), run_id="again")]
    rows.append(row(release("problematic", 0.012, lower=0.01, upper=0.02, quantity="share of rows"), release_name="s"))
    page = Page(report_page(Results(tuple(rows)), generated=START))
    assert "at least 1.000%, at most 2.000% (95% sure)" in page.text


def test_given_constraints_are_shown_and_a_different_digest_is_said() -> None:
    results = year(3)
    page = Page(report_page(results, constraints=load_constraints("a -> b"), generated=START))
    assert "Rows with the same a must have the same b." in page.text
    assert "Their digest is not that of the latest releases" in page.text
    assert RULES[0] not in page.text


def test_jobs_have_their_own_sections() -> None:
    rows = (*year(2).rows, row(release(value=7), 1, job="other"))
    page = Page(report_page(Results(rows), generated=START))
    assert page.tags.count("h2") == 3  # two jobs, how to read
    assert "No gates." in page.text


# -- the command ----------------------------------------------------------------------------------------------

JOB = """name = "hospital"
source = "{source}"
constraints = "{constraints}"
ledger = "h.ledger"
results = "results.duckdb"
[[release]]
name = "overall"
epsilon = 1
gate.repair = 1e9
[[release]]
name = "rows"
measure = "count"
epsilon = 1
by = "state"
keys = ["AL", "AK"]
"""


class FarNoise:
    """Noise that is never near 0, so that no exact number can be published by chance."""

    def laplace(self, value: int, scale: float) -> int:
        del scale
        return value + 7_000_003

    def noisy_extreme(self, scores: list[int], scale: float, *, negate: bool) -> int:
        del scores, scale, negate
        return 0


@pytest.mark.heavy(family="alone")
def test_the_command_reads_no_source_and_its_page_holds_no_private_number(
    hospital: Path, hospital_constraints: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "h.parquet"
    source.write_bytes(hospital.read_bytes())
    job = tmp_path / "job.toml"
    job.write_text(JOB.format(source=source, constraints=hospital_constraints))
    Ledger.create(tmp_path / "h.ledger", 5).close()
    exact = ["exact", str(source), "--constraints", str(hospital_constraints), "--non-private", "--format", "json"]
    assert main([*exact, "--by-constraint"]) == 0
    found = json.loads(capsys.readouterr().out)
    private = {found[name] for name in ("rows", "minimal_inconsistency", "problematic", "max_degree")}
    private |= {line["violations"] for line in found["by_constraint"]}
    with replaced_noise(FarNoise()):  # type: ignore[arg-type]
        assert main(["run", str(job), "--run-id", "1"]) == 0
    source.unlink()
    out = tmp_path / "report.html"
    arguments = ["report", str(tmp_path / "results.duckdb"), "--out", str(out)]
    assert main(arguments) == 0
    html = out.read_text()
    numbers = {int(text.replace(",", "")) for text in re.findall(r"(?<![\w.,#-])\d[\d,]*(?![\w.%])", Page(html).text)}
    secret = {int(number) for number in private if number >= 100}  # smaller ones are dates and axis marks too
    assert len(secret) >= 5
    assert numbers.isdisjoint(secret), numbers & secret
    assert any(number > 7_000_000 for number in numbers)
    assert str(source) not in html
    assert "What must hold" in html
    # What the ledger says now, and constraints of a file.
    arguments += ["--ledger", str(tmp_path / "h.ledger"), "--constraints", str(hospital_constraints), "--title", "Q&A"]
    assert main(arguments) == 0
    html = out.read_text()
    assert "Budget now" in html
    assert "Budget after" not in html
    assert "<h1>Q&amp;A</h1>" in html
    assert "Their digest is not" not in html
    assert [path.name for path in tmp_path.glob(".*partial*")] == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["{results}", "--out", "results.duckdb"], "the report is a .html file"),
        (["nowhere", "--out", "r.html"], "no results there"),
        (["{results}", "--out", "no/folder/r.html"], "cannot be written"),
        (["{results}", "--out", "r.html", "--ledger", "x"], "no ledger there"),
        (["{results}", "--out", "r.html", "--constraints", "x.txt"], "constraints file not found"),
        (["{results}", "--out", "r.html", "--table", "t"], "a table name applies to DuckDB files only"),
    ],
)
def test_bad_input_writes_nothing(
    arguments: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from dpdb.doors.jobs.results import RESULTS, result_table
    from dpdb.doors.jobs.stored import open_stored

    monkeypatch.chdir(tmp_path)
    kept = open_stored(tmp_path / "kept", None, RESULTS)
    kept.prepare()
    kept.append(result_table(year(1).rows[:1]))
    assert main(["report", *(word.format(results=tmp_path / "kept") for word in arguments)]) == 2
    assert says in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_verdicts_have_words_in_place_of_ends_also_in_the_table_of_all_releases() -> None:
    """An end of 0 or 1 says nothing of a verdict."""
    made = release("drastic", 0, lower=0, upper=1, quantity="verdict", most_deletions=7, release_id="a")
    shown = replace(made, value=1, lower=1, most_deletions=None, release_id="b")
    html = report_page(Results((row(made, 0), row(shown, 1))), generated=START)
    assert html.count('<td colspan="2">not shown; at most 7 rows from consistent</td>') == 1
    assert html.count('<td colspan="2">not consistent</td>') == 1
    numbers = report_page(Results((row(release()),)), generated=START)
    assert 'colspan="2"' not in numbers


def test_what_is_paid_in_rho_has_its_cost() -> None:
    paid = release("maximal_consistency", 12.5, epsilon=None, rho=0.02, quantity="bits", mechanism="decision_bits")
    assert '<td class="number">rho 0.02</td>' in report_page(Results((row(paid),)), generated=START)
