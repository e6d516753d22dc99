"""The accuracy of bits, verdicts and rows that share a key: exact values counted apart, errors of a known noise."""

from __future__ import annotations

import math
from pathlib import Path
from types import ModuleType

import pyarrow.parquet as pq
import pytest
from five_measures import KEY, ROWS, RULE, truth
from stub_noise import StubNoise

from dpdb.privacy.noise import replaced_noise

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ORDER = "not(t1.zip > t2.zip & t1.city < t2.city & t1.card = t2.card)"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(EXAMPLES)
    import closed_forms_table

    return closed_forms_table


def steps(bits: float) -> float:
    """Round down to the lattice of 10^-6 bit."""
    return math.floor(bits * 10**6) / 10**6


@pytest.mark.heavy(family="long")
def test_each_rule_has_the_rows_that_it_can(
    example: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pq.write_table(ROWS, tmp_path / "rows.parquet")
    (tmp_path / "rules.txt").write_text(f"{RULE}\n{KEY}\n{ORDER}\n")
    with replaced_noise(StubNoise()):
        example.print_closed_forms([("small", tmp_path / "rows.parquet", tmp_path / "rules.txt")], ["1", "2"], 2)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    shown = {(words[1], words[2], float(words[6])) for words in lines if words[0] == "small"}
    assert {found for found in shown if found[0] == "maximal_consistency"} == {
        ("maximal_consistency", "decision_bits", steps(truth("maximal_consistency", rule))) for rule in (RULE, KEY)
    }
    assert {found for found in shown if found[0] == "problematic"} == {
        ("problematic", mechanism, truth("problematic", KEY)) for mechanism in ("sharing_rows", "ladder")
    }
    [exact] = [words for words in lines if words[:3] == ["small", "problematic", "sharing_rows"]]
    assert exact[3:5] == ["0.0000", "0.0000"]  # the stub draws no noise
    assert {words[1] for words in lines if words[0] == "all"} == {"maximal_consistency", "problematic", "drastic"}
