"""The bundled suite and the page about suites: what is shown is read, and printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import duckdb
import pytest

from dpdb.constraints import load_constraints
from dpdb.doors.cli import main
from dpdb.errors import IgnoredLimitsWarning
from dpdb.release import constraints_digest
from dpdb.suites import load_suite

ROOT = Path(__file__).resolve().parents[2]
SUITE = ROOT / "examples" / "data" / "hospital.suite.txt"
PAGE = (ROOT / "examples" / "manual" / "suites.md").read_text(encoding="utf-8")


def test_the_page_shows_lines_of_the_bundled_suite() -> None:
    (shown,) = re.findall(r"```text\n(.*?)```", PAGE, flags=re.DOTALL)
    assert set(shown.splitlines()) <= set(SUITE.read_text(encoding="utf-8").splitlines())


def test_every_limit_of_the_page_is_one() -> None:
    limits = re.findall(r"`(above [^`]+)`", PAGE.split("| limit |")[1])
    assert len(limits) == 10
    for limit in limits:
        assert load_suite(f"UNIQUE(a) WHERE b  fail {limit}").lines[0].limits[0].direction == "above"


def test_the_bundled_suite_is_about_the_bundled_table() -> None:
    table = str(ROOT / "examples" / "data" / "hospital.parquet")
    columns = [name for name, *_ in duckdb.sql(f"DESCRIBE FROM '{table}'").fetchall()]
    suite = load_suite(SUITE, columns)
    assert len(suite.lines) == 13
    assert {(limit.severity, limit.direction, limit.unit) for line in suite.lines for limit in line.limits} >= {
        ("warn", "above", "rows"), ("fail", "above", "share"), ("fail", "above", "share of non-null"),
        ("warn", "below", "rows"), ("fail", "below", "rows"),
    }  # fmt: skip
    where = [line.where for line in suite.lines if line.rule is None]
    counts = [duckdb.sql(f"SELECT count(*) FROM '{table}' WHERE {each or 'TRUE'}").fetchall() for each in where]
    assert counts == [[(10_000,)], [(328,)]]


@pytest.mark.heavy(family="long")
def test_a_measure_of_a_suite_is_that_of_its_rules_and_says_once_what_it_ignores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    (block,) = re.findall(r"```console\n(.*?)```", PAGE, flags=re.DOTALL)
    command, *notes = block.splitlines()
    assert main(shlex.split(command.removeprefix("$ dpdb "))) == 0
    assert capsys.readouterr().err.splitlines() == notes
    assert main([*shlex.split(command.removeprefix("$ dpdb ")), "--quiet"]) == 0
    assert "ignored" not in capsys.readouterr().err
    rules = [line.rule for line in load_suite(SUITE).lines if line.rule is not None]
    with pytest.warns(IgnoredLimitsWarning):
        assert constraints_digest(load_constraints(SUITE)) == constraints_digest(tuple(rules))
    plain = tmp_path / "plain.txt"
    plain.write_text("\n".join(rule.written for rule in rules), encoding="utf-8")
    assert constraints_digest(load_constraints(plain)) == constraints_digest(tuple(rules))
