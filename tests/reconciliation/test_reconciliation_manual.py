"""The page of the manual, as a reader lives it: its SQL, its commands, its Python; and the numbers in plain SQL."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import duckdb
import pytest
from stub_noise import StubNoise

from dpdb.doors.cli import main
from dpdb.privacy.noise import replaced_noise

PAGE = (Path(__file__).resolve().parents[2] / "examples" / "manual" / "compare.md").read_text(encoding="utf-8")
TRUTH = """
    SELECT count(*) FILTER (old.patient_id IS NULL), count(*) FILTER (new.patient_id IS NULL),
        count(*) FILTER (old.patient_id = new.patient_id AND (old.born, old.ward) <> (new.born, new.ward)),
        count(*) FILTER (old.born <> new.born), count(*) FILTER (old.ward <> new.ward)
    FROM 'old.parquet' AS old FULL JOIN 'new.parquet' AS new USING (patient_id)
    WHERE patient_id < {below}
"""


def blocks(kind: str) -> str:
    return "".join(re.findall(rf"```{kind}\n(.*?)```", PAGE, flags=re.DOTALL))


def without_numbers(text: str) -> list[str]:
    """But for epsilon's and the unit's; columns are as wide as their numbers."""
    numbers = re.compile(r"(?<!epsilon )(?<!most )(?<![\d.<] )(?<![\d.])\b\d[\d,.]*")
    return [re.sub(r" +", " ", numbers.sub("N", line)) for line in text.splitlines()]


@pytest.mark.heavy(family="long")
def test_its_commands_print_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for statement in blocks("sql").split(";")[:-1]:
        duckdb.sql(statement)
    commands = blocks("console").split("$ dpdb ")[1:]
    assert sum(command.startswith("compare") for command in commands) == 3
    exact = []
    for command in commands:
        line, _, shown = command.partition("\n")
        with replaced_noise(StubNoise()):
            assert main(shlex.split(line)) == 0
        printed = capsys.readouterr().out
        assert without_numbers(printed) == without_numbers(shown)
        if line.startswith("compare") and "--dry-run" not in line:
            rows = re.findall(r"^(?:missing|differ).*?  +([\d,]+)  ", printed, flags=re.MULTILINE)
            exact.append([int(row.replace(",", "")) for row in rows])
    truth = [list(duckdb.sql(TRUTH.format(below=below)).fetchall()[0]) for below in (30_000, 10_000)]
    assert exact == [truth[0][:3], truth[1]]


@pytest.mark.heavy(family="long")
def test_its_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    for statement in blocks("sql").split(";")[:-1]:
        duckdb.sql(statement)
    with replaced_noise(StubNoise()):
        exec(blocks("python"), {})
    assert "('differ', 'ward'): " in capsys.readouterr().out
