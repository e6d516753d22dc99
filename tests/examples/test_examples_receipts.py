"""The example of receipts: what it shows is so."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

SHOWN = Path(__file__).parents[2] / "examples" / "receipts" / "shown.py"


@pytest.mark.heavy(family="long")
def test_receipts_of_a_job_verify_elsewhere_and_a_rollback_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    found = runpy.run_path(str(SHOWN))["show"]()
    told = capsys.readouterr()
    assert (found["made"], found["elsewhere"], found["later"], found["unnoticed"]) == ([0, 0, 0], 0, [0, 0], 0)
    assert (found["witness"], found["older receipt"], found["job"]) == (3, 1, 3)
    assert "2 receipts, 4 lines included in the log" in told.out
    assert all(refused == tried for refused, tried in found["mutations"].values())
    assert sum(tried for _, tried in found["mutations"].values()) > 100
    assert "an old copy was put back" in told.err
