"""Verdicts in a notebook: every text escaped, nothing loaded, every colour with its word."""

from __future__ import annotations

import pytest

from dpdb.suites import CHECK_SCHEMA, CheckResult, CheckResults

HOSTILE = "<script>alert('x')</script>\"&amp;"


def a_check(verdict: str = "pass", severity: str = "fail", name: str = "zips", **more: object) -> CheckResult:
    fields = {"rule": "zip -> city", "limit": 0, "direction": "above", "unit": "rows", "statistic": "violations"}
    fields |= {"lower": None, "upper": 48, "level": 23}
    return CheckResult(name=name, verdict=verdict, severity=severity, **(fields | more))  # type: ignore[arg-type]


def results(*checks: CheckResult, guarantee: str = "pure") -> CheckResults:
    return CheckResults(
        checks, confidence=0.99, epsilon_reserved=1.0, epsilon=0.25, run_id="monday", name=None, guarantee=guarantee
    )


def test_every_text_is_escaped() -> None:
    html = results(a_check(name=HOSTILE, rule=HOSTILE, key=HOSTILE), guarantee=HOSTILE)._repr_html_()
    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 4
    assert not any(mark in html for mark in ("src=", "href=", "url(", "onload="))


@pytest.mark.parametrize(
    ("verdict", "severity", "said"),
    [("pass", "fail", "pass"), ("fail", "fail", "FAIL"), ("fail", "warn", "WARN"), ("undecided", "fail", "undecided")],
)
def test_colours_come_with_words(verdict: str, severity: str, said: str) -> None:
    html = results(a_check(verdict, severity))._repr_html_()
    green = "color:#2e9b57" in html
    assert f';font-weight:600">{said}</span>' in html
    assert green == (verdict == "pass")
    assert "at most 48 rows" in html
    assert "epsilon 0.25 of 1" in html.partition("<details>")[0]
    assert "run id: monday" in html.partition("<details>")[2]


def test_verdicts_have_one_column_layout() -> None:
    table = results(a_check(), a_check("fail", lower=1.5, since="2026-01-01")).to_arrow()
    assert table.schema.equals(CHECK_SCHEMA)
    assert table.select(["verdict", "lower", "epsilon", "run_id"]).to_pylist()[1] == {
        "verdict": "fail", "lower": 1.5, "epsilon": 0.25, "run_id": "monday",
    }  # fmt: skip
