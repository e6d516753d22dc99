"""Several sites' verdicts and numbers, side by side; their files may be anybody's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpdb.doors.cli.main import main
from dpdb.doors.reports.sites import board_of, read_sites, totals_of
from dpdb.errors import ParameterError
from dpdb.privacy import laplace_difference_tail

SUITE = "known: NOT NULL(a)  fail above 5 rows\nmany: row_count  fail below 10\n"


@pytest.fixture
def sites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two sites of 1,000 and 2,000 rows; at the second one half of the values are missing."""
    monkeypatch.chdir(tmp_path)
    Path("suite.txt").write_text(SUITE)
    for name, rows in (("north", 1_000), ("south", 2_000)):
        values = [None if name == "south" and k % 2 else k for k in range(rows)]
        pq.write_table(pa.table({"a": pa.array(values, pa.int64())}), f"{name}.parquet")
        for folder, asked in (
            ("checks", ["check", f"{name}.parquet", "suite.txt"]),
            ("counts", ["count", f"{name}.parquet"]),
        ):
            Path(folder).mkdir(exist_ok=True)
            main([*asked, "--epsilon", "1", "--format", "json", "--out", f"{folder}/{name}.json", "--quiet"])
    return tmp_path


@pytest.mark.heavy(family="long")
@pytest.mark.usefixtures("sites")
def test_verdicts_stand_side_by_side_and_numbers_are_added(capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["combine", "checks/north.json", "checks/south.json"]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert [line.split() for line in shown] == [
        ["check", "limit", "north", "south"],
        ["known", "fail", "above", "5", "pass", "FAIL"],
        ["many", "fail", "below", "10", "pass", "pass"],
    ]
    assert main(["combine", "counts/north.json", "counts/south.json", "--format", "json", "--confidence", "0.99"]) == 0
    [total] = json.loads(capsys.readouterr().out)["sums"]
    noisy = [json.loads(Path(f"counts/{name}.json").read_text())["releases"][0]["raw"] for name in ("north", "south")]
    assert total["value"] == sum(noisy)
    assert total["sites"] == ["north", "south"]
    margin = laplace_difference_tail(1, 1, 0.01)
    assert total["upper"] - total["value"] == total["value"] - total["lower"] == margin
    assert abs(total["value"] - 3_000) < 60  # fails with a chance below 1e-20


@pytest.mark.heavy(family="long")
@pytest.mark.usefixtures("sites")
def test_the_board_is_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "checks/north.json", "checks/south.json", "--out", "board.html", "--title", "<b>"]) == 0
    page = Path("board.html").read_text()
    assert "<script" not in page
    assert "&lt;b&gt;" in page
    assert page.count("FAIL</b>") == 1
    assert "2 checks of 2 sites" in capsys.readouterr().out
    assert main(["report", "counts/north.json", "--out", "board.html"]) == 2


@pytest.mark.heavy(family="long")
@pytest.mark.usefixtures("sites")
def test_what_cannot_be_added_is_named() -> None:
    north, south = (json.loads(Path(f"counts/{name}.json").read_text()) for name in ("north", "south"))
    [release] = south["releases"]
    for changed in ({"raw": None}, {"noise_scale": -1}, {"noise_scale": "1"}, {"mechanism": "marginal"}, {"rho": 0.1},
                    {"noise_scale": 10**400}, {"noise_scale": 5e-324}, {"raw": 10**400}, {"raw": True}):  # fmt: skip
        Path("other.json").write_text(json.dumps({"releases": [release | changed]}))
        totals, left_out = totals_of(read_sites(["counts/north.json", "other.json"]))
        assert [total.sites for total in totals] == [("north",)]
        assert len(left_out) == 1
    Path("other.json").write_text(json.dumps({"releases": [*north["releases"], *north["releases"]]}))
    assert totals_of(read_sites(["other.json"]))[1] == ["other: count, number of rows in the slice: it has it twice"]


@pytest.mark.heavy(family="long")
@pytest.mark.usefixtures("sites")
def test_a_condition_is_shown_in_one_line_that_no_terminal_obeys() -> None:
    said = json.loads(Path("counts/north.json").read_text())
    said["releases"][0]["where"] = "\x1b[2J\ncount: 0"
    Path("other.json").write_text(json.dumps(said))
    [total], _ = totals_of(read_sites(["other.json"]))
    assert total.what.endswith("where \\x1b[2J\\ncount: 0")


def _spoilt(check: dict[str, Any]) -> list[object]:
    return [
        [], {}, {"checks": "x"}, {"checks": [1]}, {"checks": [{}]}, {"releases": [{}]}, {"releases": [7]},
        {"checks": [check | {"name": "\x1b[2J"}]}, {"checks": [check | {"verdict": "maybe"}]},
        {"checks": [check | {"upper": "1"}]}, {"checks": [check | {"limit": None}]},
        {"checks": [check | {"level": True}]},
        {"checks": [check | {"limit": 10**400}]},
        {"checks": [check | {"key": "\n"}]}, {"checks": [check | {"upper": float("nan")}]},
    ]  # fmt: skip


@pytest.mark.heavy(family="long")
@pytest.mark.usefixtures("sites")
def test_files_that_no_site_wrote_are_one_line() -> None:
    check = json.loads(Path("checks/north.json").read_text())["checks"][0]
    assert board_of(read_sites(["checks/north.json"])).lines[0].limit == "fail above 5"
    for said in _spoilt(check):
        Path("other.json").write_text(json.dumps(said))
        with pytest.raises(ParameterError) as caught:
            read_sites(["other.json"])
        assert "\n" not in str(caught.value)
    Path("other.json").write_text("{")
    for paths in (["other.json"], ["none.json"], ["checks/north.json", "counts/north.json"]):
        with pytest.raises(ParameterError):
            read_sites(paths)
