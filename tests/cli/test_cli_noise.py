"""`dpdb noise` as a user types it."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from dpdb.doors.cli import main


@pytest.mark.heavy
@pytest.mark.parametrize("kind", [["rnoise", "--alpha", "0.01"], ["conoise", "--iterations", "20"]])
def test_noise_writes_a_seeded_copy(
    kind: list[str], hospital: Path, hospital_constraints: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = []
    for name in ("one", "two"):
        out = tmp_path / f"{name}.parquet"
        command = ["noise", *kind, str(hospital), "--constraints", str(hospital_constraints), "--out", str(out)]
        assert main([*command, "--seed", "7", "--sample", "500"]) == 0
        tables.append(pq.read_table(out))
    assert tables[0].equals(tables[1])
    assert tables[0].num_rows == 500
    assert "8 constrained columns, seed 7" in capsys.readouterr().out


def test_noise_never_overwrites_and_refuses_options_of_the_other_kind(
    hospital: Path, hospital_constraints: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.parquet"
    out.write_text("mine")
    command = ["noise", "rnoise", str(hospital), "--constraints", str(hospital_constraints), "--out", str(out)]
    assert main([*command, "--alpha", "0.01"]) == 2
    assert out.read_text() == "mine"
    assert main([*command[:-1], str(tmp_path / "new.parquet"), "--alpha", "0.01", "--iterations", "3"]) == 2
    assert main([*command[:-1], str(hospital), "--alpha", "0.01", "--overwrite"]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]
    assert capsys.readouterr().out == ""
