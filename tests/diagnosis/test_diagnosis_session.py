"""`Session.diagnose` and `dpdb diagnose`: one debit, then noise, one answer; kills, ledgers, units, bad input."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stub_noise import StubNoise

import dpdb
from dpdb.diagnosis import (
    Diagnosis,
    DiagnosisAsk,
    DiagnosisPlan,
    NamedRule,
    NamedSlice,
    diagnosis_text,
    prepare_diagnosis,
)
from dpdb.doors.cli.main import main
from dpdb.errors import BudgetExceededError, DpdbError, EngineError, LedgerError, ParameterError
from dpdb.ledger import Ledger
from dpdb.privacy.noise import replaced_noise

RULES = ["zip -> city", "not(t1.age < 0)"]
KEYS = ["S0", "S1", "S2", "nobody"]


def table() -> pa.Table:
    row = range(4_000)
    return pa.table(
        {
            "state": [f"S{k % 4}" for k in row],
            "sex": ["FM"[k // 4 % 2] for k in row],
            "zip": [k // 16 * 4 + k % 4 for k in row],
            "city": ["wrong" if k % 4 == 1 and k % 16 < 4 and k < 3_200 else f"c{k // 16}" for k in row],
            "age": [-1 if k % 4 == 2 and k < 120 else k % 90 for k in row],
        }
    )  # to delete: 200 rows of S1, 30 of S2, none of S0 and S3


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pq.write_table(table(), "t.parquet")
    Path("rules.txt").write_text("\n".join(RULES))
    Ledger.create("t.ledger", 5).close()
    return tmp_path


def diagnose(ledger: str | None = None, noise: object | None = None, **asked: object) -> Diagnosis:
    with dpdb.open("t.parquet", constraints=RULES, ledger=ledger) as session, replaced_noise(noise or StubNoise()):
        return session.diagnose(**{"by": "state", "keys": KEYS, "epsilon": 1, **asked})


def spent(ledger: str = "t.ledger") -> float:
    with dpdb.open("t.parquet", ledger=ledger) as session:
        return session.spent()


def centres(found: Diagnosis) -> dict[str, float]:
    """Without noise and before clamping the bounds stand around the counts."""
    width = max(one.upper - one.lower for one in found.named) / 2
    return {one.key: one.upper - width for one in found.named}


def test_the_dirtiest_slices_are_named_with_bounds_of_one_width(folder: Path) -> None:
    found = diagnose(top=4)
    assert centres(found) == {"S1": 200, "S2": 30, "S0": 0, "nobody": 0}
    assert (found.slices, found.worst, found.rule, found.epsilon) == (4, None, None, 1.0)
    assert found.statistic == "fewest deletions"
    assert Diagnosis.from_dict(json.loads(found.to_json())) == found
    assert "<table" in found._repr_html_()


@pytest.mark.heavy(family="long")
def test_several_columns_and_rules(folder: Path) -> None:
    """Excess over 5%: S1 has 200 - 50, F has 215 - 100."""
    found = diagnose(by=["sex", "state"], keys=[["F", "M"], KEYS], rules=True, expected="5%")
    assert found.worst == ("state", "S1")
    assert found.named[0].key == "S1"
    assert {one.column for one in found.named} == {"state"}
    assert found.rule is not None
    assert found.rule.rule.startswith("zip -> city")
    assert found.rule.lower <= 170 <= found.rule.upper
    alone = diagnose(by=None, keys=None, rules=True)
    assert (alone.named, alone.columns) == ((), ())
    assert alone.rule is not None


def test_a_small_share_is_one_value_however_it_is_written() -> None:
    """Python writes 0.00001 as 1e-05."""
    asks = [
        DiagnosisAsk(by="state", keys=KEYS, expected=share, epsilon=1)
        for share in (0.00001, "0.00001", "0.001%", Decimal("1E-5"))
    ]
    assert {ask.rate for ask in asks} == {Fraction(1, 100_000)}


def test_only_bounds_and_names_are_published(folder: Path) -> None:
    """No score, no number of rows, nothing of the slices that were not named."""
    found = diagnose(top=1, by=["sex", "state"], keys=[["F", "M"], KEYS], rules=True)
    assert set(found.to_dict()) == {
        "named", "slices", "worst", "rule", "columns", "statistic", "expected", "epsilon", "confidence", "run_id",
        "guarantee", "population", "rho",
    }  # fmt: skip
    assert set(found.to_dict()["named"][0]) == {"column", "key", "lower", "upper"}
    assert len(found.named) == 1


@pytest.mark.heavy(family="spending")
def test_one_debit_and_the_recorded_answer_of_the_run(folder: Path) -> None:
    first = diagnose("t.ledger", run_id="monday")
    assert spent() == 1
    noise = StubNoise()
    assert diagnose("t.ledger", noise, run_id="monday") == first
    assert (noise.draws, spent()) == (0, 1)
    with pytest.raises(LedgerError):
        diagnose("t.ledger", run_id="monday", top=1)
    with pytest.raises(BudgetExceededError):
        diagnose("t.ledger", epsilon=4.5)
    assert spent() == 1
    assert diagnose("t.ledger").run_id.startswith("diagnose-")


@pytest.mark.heavy(family="spending")
def test_a_killed_run_keeps_its_debit_and_is_finished_by_its_id(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed in the draw, at the second noise: the debit stands, nothing is recorded, and the same id draws again."""
    draws = 0

    def interrupt() -> None:
        nonlocal draws
        draws += 1
        if draws == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        diagnose("t.ledger", StubNoise(interrupt), run_id="night")
    assert spent() == 1
    found = diagnose("t.ledger", run_id="night")
    assert spent() == 1
    assert found.named[0].key == "S1"
    noise = StubNoise()
    assert diagnose("t.ledger", noise, run_id="night") == found
    assert noise.draws == 0


def test_a_failure_after_the_debit_has_one_message(folder: Path) -> None:
    def fail() -> None:
        raise ValueError("200 rows")

    with pytest.raises(EngineError, match="the release failed after its budget was debited"):
        diagnose("t.ledger", StubNoise(fail), run_id="night")
    assert spent() == 1


@pytest.mark.heavy(family="long")
def test_zcdp_pays_half_the_squares_of_its_questions_and_gdp_is_refused(folder: Path) -> None:
    """Rules have a half of .5, the worst of two columns and its slices a quarter each; the name costs an eighth."""
    Ledger.create("z.ledger", 1, notion="zcdp", delta=1e-6).close()
    Ledger.create("g.ledger", 1, notion="gdp", delta=1e-6).close()
    asked = {"epsilon": 0.5, "by": ["sex", "state"], "keys": [["F", "M"], KEYS], "rules": True}
    found = diagnose("z.ledger", **asked)
    assert found.rho == spent("z.ledger")
    assert f"Cost: rho {found.rho:.12g}." in diagnosis_text(found)
    assert "-zCDP (zero-concentrated differential privacy" in found.guarantee
    assert diagnose("t.ledger", **asked).rho is None
    assert spent("z.ledger") == pytest.approx(0.25**2 / 2 + 0.125**2 / 2 + 0.125**2 / 8)
    with pytest.raises(ParameterError, match="gdp"):
        diagnose("g.ledger", **asked)
    assert spent("g.ledger") == 0


@pytest.mark.parametrize("rows", [1, 3, 7])
def test_the_parts_of_a_charge_cover_what_each_question_spends(folder: Path, rows: int) -> None:
    """Also where a share is rounded: an odd number of nano-epsilon, for units of several rows."""
    with dpdb.open("t.parquet", constraints=RULES, rows_per_person=rows) as session:
        for epsilon in ("1", "0.000077777", "0.333333333"):
            asked = {"epsilon": epsilon, "by": ["sex", "state"], "keys": [["F", "M"], KEYS], "rules": True}
            run = prepare_diagnosis(session, DiagnosisAsk.of(asked))
            spends = [share * rows for share in (run.shares.worst, run.shares.slices, run.shares.rules)]
            assert all(part >= spent for part, spent in zip(run.charge.parts, spends, strict=True))
            assert run.charge.epsilon == run.ask.charged


def test_a_unit_of_three_rows_gets_three_times_the_noise(folder: Path) -> None:
    widths = []
    for rows in (1, 3):
        with dpdb.open("t.parquet", constraints=RULES, rows_per_person=rows) as session:
            plan = DiagnosisPlan(prepare_diagnosis(session, DiagnosisAsk(1, "state", KEYS)))
            widths.append(plan.half_width)
            assert prepare_diagnosis(session, DiagnosisAsk(1, "state", KEYS)).shares.slices == 10**9 // rows
    assert 2.5 < widths[1] / widths[0] < 3.5


def test_one_column_is_charged_for_its_keys_alone(folder: Path) -> None:
    """Rows of other states may still be released at the full budget; several columns or rules cover all rows."""
    Ledger.create("one.ledger", 1).close()
    diagnose("one.ledger")
    with dpdb.open("t.parquet", constraints=RULES, ledger="one.ledger") as session:
        session.dp_count(1, where="state = 'S3'")
        with pytest.raises(BudgetExceededError):
            session.dp_count(0.1, where="state = 'S1'")


BAD = [
    ({"keys": []}, "at least one value"),
    ({"keys": None}, "go together"),
    ({"by": None}, "go together"),
    ({"keys": ["S0", "S0"]}, "same value"),
    ({"keys": ["S0"]}, "at least two keys"),
    ({"by": "nowhere"}, "nowhere"),
    ({"by": ["state", "sex"]}, "each column"),
    ({"by": ["state", "STATE"], "keys": [KEYS, KEYS]}, "given twice"),
    ({"by": "age", "keys": ["x", "y"]}, "not a value"),
    ({"by": [f"c{k}" for k in range(500)], "keys": [["1", "2"]] * 500}, "at most 20 columns"),
    ({"keys": [str(k) for k in range(10_001)]}, "at most 10,000 slices"),
    ({"top": 0}, "top"),
    ({"top": True}, "top"),
    ({"top": 10**5_000}, "64 bits"),
    ({"top": -(10**5_000)}, "64 bits"),
    ({"expected": 1e-7}, "6 decimals"),
    ({"expected": "0%"}, "expected"),
    ({"expected": "101%"}, "expected"),
    ({"expected": "x"}, "expected"),
    ({"expected": "0.00000001"}, "decimals"),
    ({"confidence": 1}, "confidence"),
    ({"epsilon": 0}, "epsilon"),
    ({"epsilon": "nan"}, "epsilon"),
    ({"where": "state = 'a' AND false"}, "selects no row"),
    ({"by": None, "keys": None}, "needs a column"),
    ({"colour": 1}, "no option"),
    ({"rules": 1}, "rules"),
    ({"by": 5}, "by"),
    ({"keys": [["S0", "S1"]]}, "key"),
]


@pytest.mark.heavy
@pytest.mark.parametrize(("asked", "words"), BAD)
def test_bad_input_is_refused_in_one_line_and_spends_nothing(folder: Path, asked: dict, words: str) -> None:
    noise = StubNoise()
    with pytest.raises(DpdbError, match=words) as caught:
        diagnose("t.ledger", noise, **asked)
    assert "\n" not in str(caught.value)
    assert (noise.draws, spent()) == (0, 0)


def test_nested_types_and_missing_rules_are_refused(folder: Path) -> None:
    nested = pa.table({"a": [[1], [2]], "b": [1, 2]})
    with dpdb.open(nested, constraints=["b >= 0"]) as session, pytest.raises(DpdbError, match="a"):
        session.diagnose("a", ["1", "2"], epsilon=1)
    with dpdb.open("t.parquet") as session, pytest.raises(ParameterError, match="no constraints"):
        session.diagnose("state", KEYS, epsilon=1)
    with dpdb.open("t.parquet", constraints=RULES[:1]) as session, pytest.raises(ParameterError, match="two rules"):
        session.diagnose("state", KEYS, rules=True, epsilon=1)


def test_words_escape_what_a_terminal_would_obey_and_round_no_bound() -> None:
    """Whoever asked has written the keys, and the owner reads them; a bound that is rounded may not hold."""
    named = (NamedSlice("s\n", "a\x1b[31m\nRUN", 1_234_567, 7_654_321.5),)
    rule = NamedRule("x -> y", 1_234_567, 2_345_678)
    worst = ("s\n", "a\nb")
    found = Diagnosis(
        named, 2, worst, rule, ("s\n", "t"), "fewest deletions", None, 1.23456789, 0.999, None, "so\tand so"
    )
    text = diagnosis_text(found)
    assert text.isascii()
    assert all(line.isprintable() for line in text.splitlines())
    assert len(text.splitlines()) == 7
    for words in ("1.23456789", "1,234,567", "7,654,321.5", "2,345,678", "99.9% confidence", r"a\x1b[31m\nRUN"):
        assert words in text
    assert repr(found).isprintable()


# -- the command ------------------------------------------------------------------------------------------------


COMMAND = ["diagnose", "t.parquet", "--constraints", "rules.txt", "--by", "state", "--keys", "S0,S1,S2,nobody"]


def test_the_command_names_and_the_ledger_shows_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with replaced_noise(StubNoise()):
        assert main([*COMMAND, "--epsilon", "1", "--ledger", "t.ledger", "--run-id", "r1", "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[1].split() == ["1", "state", "=", "S1", "196", "204"]
    assert "none of its keys are not seen" in shown
    assert main(["budget", "answers", "t.ledger", "--run-id", "r1"]) == 0
    assert shown in capsys.readouterr().out
    assert main(["budget", "history", "t.ledger"]) == 0
    assert "diagnosis" in capsys.readouterr().out
    assert main(["budget", "history", "t.ledger", "--format", "csv"]) == 0
    assert "state = S1 (196 to 204)" in capsys.readouterr().out


def test_keys_that_are_no_line_of_csv_are_refused_in_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND[:-1], "S\n0,S1", "--epsilon", "1", "--ledger", "t.ledger"]) == 2
    assert main(["rules", "discover", "t.parquet", "--columns", "zip,c\rity", "--ledger", "t.ledger"]) == 2
    shown = capsys.readouterr().err.splitlines()
    assert [line.split(":")[1].strip() for line in shown] == ["--keys", "--columns"]
    assert all("one line of CSV" in line for line in shown)
    assert spent() == 0


@pytest.mark.heavy(family="long")
def test_a_dry_run_says_when_a_table_is_too_small(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = ",".join(f"S{k}" for k in range(50))
    dry = ["diagnose", "t.parquet", "--constraints", "rules.txt", "--by", "state", "--keys", keys, "--epsilon", ".5"]
    assert main([*dry, "--dry-run", "--rows", "10000"]) == 0
    assert "too small to tell" in (small := capsys.readouterr().out)
    assert "2 rows" in small
    assert main([*dry, "--dry-run", "--rows", "100000"]) == 0
    large = capsys.readouterr().out
    assert "too small" not in large
    assert "99.5%" in large
    for line in ("nothing was spent", "not seen"):
        assert line in small
    assert main([*dry, "--dry-run", "--rows", "0"]) == 2
    assert "rows must be" in capsys.readouterr().err


# -- in bits -----------------------------------------------------------------------------------------------------

PAIRS = 12  # of rows in conflict: a decision each


def of_bits(**asked: object) -> Diagnosis:
    """S1 has a group of three cities, S2 twelve pairs, and S0 four rows with four cities, whose age is impossible."""
    rows = [("S2", f"z{k}", city, 1) for k in range(PAIRS) for city in "ab"]
    rows += [("S1", "one", city, 1) for city in "abc"] + [("S0", "zero", city, -1) for city in "abcd"]
    columns = dict(zip(("state", "zip", "city", "age"), zip(*rows, strict=True), strict=True))
    with dpdb.open(pa.table(columns), constraints=RULES) as session, replaced_noise(StubNoise()):
        return session.diagnose(
            **{"by": "state", "keys": KEYS, "epsilon": 1, "measure": "maximal_consistency", **asked}
        )


def test_slices_are_compared_by_their_decisions() -> None:
    found = of_bits(top=4)
    assert found.statistic == "decision bits"
    assert [one.key for one in found.named] == ["S2", "S1", "S0", "nobody"]
    middle = [(one.lower + one.upper) / 2 for one in found.named[:1]]
    assert middle == pytest.approx([PAIRS], abs=1e-4)  # 2^12 ways to keep one row of each pair
    width = found.named[0].upper - PAIRS
    assert [one.upper - width for one in found.named] == pytest.approx([PAIRS, math.log2(3), 0, 0], abs=1e-4)
    assert "Bounds are of yes/no decisions to clean, in bits, beside rows that break a rule" in diagnosis_text(found)
    assert Diagnosis.from_dict(json.loads(found.to_json())) == found
    by_rows = of_bits(measure="repair")
    assert (by_rows.statistic, by_rows.named[0].key) == ("fewest deletions", "S2")


def test_bounds_hold_the_bits_that_were_rounded_down() -> None:
    """The noise is 0 and as good as none: the upper end is at least log2(3), of which 1584962 steps are counted."""
    found = of_bits(top=2, epsilon=1_000_000)
    assert found.named[1].lower < 1.584962 < math.log2(3) < found.named[1].upper < 1.58503


def test_the_rule_with_the_most_decisions() -> None:
    rows = {"a": [1, 1, 1, 2, 2], "b": ["x", "y", "z", "x", "y"], "c": [1, 1, 2, 2, 3]}
    with dpdb.open(pa.table(rows), constraints=["a -> b", "c -> b"]) as session, replaced_noise(StubNoise()):
        found = session.diagnose(rules=True, epsilon=50, measure="maximal_consistency")
        assert found.rule is not None
        assert found.rule.rule == "a -> b"  # 3 and 2 ways of 5 rows: log2(6); 2 and 2: 2 bits
        assert found.rule.lower < math.log2(6) - 2 < found.rule.upper
        assert "Rule with the most decisions to clean (in bits" in diagnosis_text(found)
        with pytest.raises(
            ParameterError, match=r"of these rules are not counted: .* left sides are not one in another"
        ):
            session.diagnose("a", [1, 2], 1, measure="maximal_consistency")
        assert session.spent() == 50


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"measure": "problematic"}, r"compares by one of repair \(rows to delete\), maximal_consistency"),
        ({"measure": None}, "compares by one of"),
        ({"expected": "1%"}, "expected is a share of rows to delete; leave it out, or the measure"),
        ({"rules": True}, "of not\\(t1.age < 0\\) are not counted: rules on one row leave nothing to decide"),
    ],
)
def test_what_has_no_bits_is_refused_by_name(asked: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        of_bits(**asked)


def test_the_command_says_bits(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["diagnose", "t.parquet", "--constraints", "zip -> city", "--by", "state", "--keys", "S0,S1", "--epsilon"]
    assert main([*command, "1", "--measure", "maximal_consistency", "--dry-run", "--rows", "4000"]) == 0
    said = capsys.readouterr().out
    assert "2 slices of state are compared by decisions to clean (bits), for epsilon 1 in all" in said
    assert "a slice with a decision for 1% of its rows (20 bits) beside clean ones" in said
    del folder
