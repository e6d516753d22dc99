"""The table of what theta loses and what is announced: one small table whose few hubs hide most conflicts."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stub_noise import StubNoise

from dpdb.privacy.noise import replaced_noise

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(EXAMPLES)
    import limits_table

    return limits_table


@pytest.mark.heavy(family="privacy")
def test_it_shows_the_exact_loss_beside_what_is_announced(
    example: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = []
    for name, odd in (("hub", 1), ("clean", 0)):
        cities = ["a"] * (300 - odd) + ["b"] * odd
        rows = {"zip": ["hub"] * 300 + ["x", "x"], "city": [*cities, "c", "d"]}
        pq.write_table(pa.table(rows), tmp_path / f"{name}.parquet")
        (tmp_path / "rules.txt").write_text("zip -> city\n")
        tables.append((name, tmp_path / f"{name}.parquet", tmp_path / "rules.txt"))
    with replaced_noise(StubNoise()):
        example.print_limits(tables, ["1"], 2)
    said = capsys.readouterr().out.splitlines()
    start = said.index("epsilon 1 minimal_inconsistency: share lost, theta_limits true, cannot tell")
    hub, clean = (line.split() for line in said[start + 1 : start + 3])
    assert hub[0] == "hub"
    assert float(hub[1]) > 0.9
    assert hub[2] == "1.00"
    assert clean[:2] == ["clean", "0.000"]
    [rule] = [line for line in said if line.startswith("  theta_limits ")]
    assert rule.split()[1] == "1.00"
