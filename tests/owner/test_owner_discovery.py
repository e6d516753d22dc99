"""`Session.discover` and `dpdb rules discover`: one debit and one answer a run, suites that load, refusals that spend
nothing, and what the owner sees without privacy.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from killed import killed_at
from stub_noise import StubNoise

import dpdb
from dpdb import stopping as steps
from dpdb.doors.cli.main import main
from dpdb.errors import BudgetExceededError, EngineError, LedgerError, ParameterError
from dpdb.ledger import Ledger
from dpdb.owner import exact_dependencies, prepare_discovery
from dpdb.owner.discovery import candidates_of
from dpdb.privacy.noise import replaced_noise
from dpdb.rules import DiscoveredRules, lint
from dpdb.suites import load_suite

ROWS = 600


def table() -> pa.Table:
    row = range(ROWS)
    return pa.table(
        {
            "id": list(row),
            "zip": [k // 6 for k in row],
            "city": [f"c{k // 24}" for k in row],
            "state": [None if k % 50 == 0 else "CA" if k < 300 else "NY" for k in row],
            "constant": ["x"] * ROWS,
        }
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pq.write_table(table(), "t.parquet")
    Ledger.create("t.ledger", 5).close()
    return tmp_path


def discovered(ledger: str | None = "t.ledger", source: object = "t.parquet", **options: object) -> DiscoveredRules:
    with dpdb.open(source, ledger=ledger) as session:
        return session.discover(**options)


def spent(path: str = "t.ledger") -> float:
    with Ledger.open(path) as ledger:
        return ledger.summary().spent


BEST = (("zip", "city"), ("zip", "state"))


@pytest.mark.heavy(family="long")
@pytest.mark.usefixtures("folder")
def test_without_noise_the_names_are_those_of_the_scores() -> None:
    """zip -> city: 600 rows less 24 of the most frequent city and 100 zips; zip -> state: 588 less 294 and 100."""
    with replaced_noise(StubNoise()):
        found = discovered(top=2)
    assert found.dependencies == (("zip", "city"), ("city", "state"))
    assert found.keys == ("id",)
    assert (found.of_dependencies, found.of_keys) == (20, 5)


@pytest.mark.heavy(family="long")
@pytest.mark.usefixtures("folder")
def test_a_strong_dependency_is_named_with_noise() -> None:
    """At epsilon 5 the best score leads by 207 rows, 70 units of noise: another is named first below exp(-60)."""
    assert discovered(top=1, epsilon=4).dependencies == BEST[:1]


@pytest.mark.heavy(family="spending")
@pytest.mark.usefixtures("folder")
def test_a_run_is_debited_once_and_answered_again() -> None:
    first = discovered(run_id="monday")
    assert spent() == 1
    noise = StubNoise()
    with replaced_noise(noise):
        assert discovered(run_id="monday") == first
    assert (spent(), noise.draws) == (1, 0)
    assert first.run_id == "monday"
    with pytest.raises(LedgerError, match="another request"):
        discovered(run_id="monday", top=3)
    with pytest.raises(BudgetExceededError):
        discovered(epsilon=4.5)
    assert spent() == 1
    assert str(discovered().run_id).startswith("discover-")
    assert spent() == 2


def every_step(run: Callable[[], object]) -> list[str]:
    found: list[str] = []
    steps.watchers.append(found.append)
    try:
        run()
    finally:
        steps.watchers.pop()
    return list(dict.fromkeys(found))


@pytest.mark.heavy(family="spending")
@pytest.mark.usefixtures("folder")
def test_a_killed_run_keeps_its_debit_and_is_finished() -> None:
    """At every step of the ledger: afterwards there is one debit and one answer of the run."""
    found = every_step(lambda: discovered(run_id="first"))
    assert len(found) >= 4
    for number, step in enumerate(found):
        with killed_at(step):
            discovered(run_id=f"run {number}", epsilon="0.25")
        answer = discovered(run_id=f"run {number}", epsilon="0.25")
        assert discovered(run_id=f"run {number}", epsilon="0.25") == answer, step
        assert spent() == 1 + 0.25 * (number + 1), step


@pytest.mark.heavy(family="spending")
@pytest.mark.usefixtures("folder")
def test_a_draw_that_fails_says_nothing_and_keeps_its_debit() -> None:
    def broken() -> None:
        raise ValueError("canary 4711")

    with replaced_noise(StubNoise(on_draw=broken)), pytest.raises(EngineError) as failed:
        discovered(run_id="monday")
    assert "4711" not in str(failed.value)
    assert spent() == 1
    assert discovered(run_id="monday").dependencies
    assert spent() == 1


@pytest.mark.heavy(family="long")
@pytest.mark.usefixtures("folder")
def test_ledgers_of_other_notions(capsys: pytest.CaptureFixture[str]) -> None:
    """Every name has Gumbel noise: rho is an eighth of the sum of the squares of their shares; gdp takes none."""
    for notion in ("zcdp", "gdp"):
        assert (
            main(["budget", "create", f"{notion}.ledger", "--epsilon", "9", "--notion", notion, "--delta", "1e-6"]) == 0
        )
    found = discovered("zcdp.ledger", epsilon="0.5")
    shares = [0.045] * 10 + [0.05]
    assert spent("zcdp.ledger") == pytest.approx(sum(share**2 for share in shares) / 8)
    assert spent("zcdp.ledger") < 0.125 / 40
    assert found.rho == pytest.approx(spent("zcdp.ledger"), abs=1e-12)
    assert f"# cost: rho {found.rho:.15g} for all names together" in found.text()
    assert "-zCDP" in found.guarantee
    with pytest.raises(ParameterError, match="which a gdp ledger does not count"):
        discovered("gdp.ledger", epsilon="0.5")
    assert spent("gdp.ledger") == 0
    capsys.readouterr()


class Asked(StubNoise):
    """Remembers scores and scales."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[list[int], float]] = []

    def noisy_extreme(self, scores: Sequence[int], scale: float, *, negate: bool) -> int:
        self.asked.append((list(scores), scale))
        return super().noisy_extreme(scores, scale, negate=negate)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("change", "k"),
    [({}, 1), ({"rows_per_person": 7}, 7), ({"unit": "zip", "max_rows": 3}, 3)],
)
@pytest.mark.usefixtures("folder")
def test_noise_covers_the_rows_of_a_unit(change: dict[str, object], k: int) -> None:
    """k rows change a score by k times the range of one: scale 3 k / share and k / share."""
    noise = Asked()
    with replaced_noise(noise), dpdb.open("t.parquet", **change) as session:
        session.discover(top=2, epsilon=1)
    assert [scale for _, scale in noise.asked] == pytest.approx([3 * k / 0.45, 3 * k / 0.45, k / 0.1])
    if "unit" in change:  # 3 rows of each of 100 zips
        assert list(noise.asked[-1][0][:2]) == [0, 100 - 300]


@pytest.mark.heavy(family="privacy")
def test_neighbouring_scores_of_a_unit_stay_within_its_range() -> None:
    """Random tables of units, with and without one: through the rows that are used, epsilon 1, k = 2."""
    rng = random.Random(1)
    for _ in range(8):
        rows = [tuple(rng.choice([0, 0, 1, 2, None]) for _ in range(3)) for _ in range(rng.randint(2, 14))]
        owner = rng.choice([0, 1, 2])
        one, other = (scored_unit(kept) for kept in (rows, [row for row in rows if row[0] != owner]))
        for (low, high), before, after in zip(((-4, 2), (-2, 0)), other, one, strict=True):
            assert all(low <= b - a <= high for a, b in zip(before, after, strict=True)), (rows, owner)


def scored_unit(rows: list[tuple[int | None, ...]]) -> tuple[list[int], list[int]]:
    from dpdb.owner.discovery import scores

    columns = list(zip(*rows, strict=True)) or [()] * 3
    made = pa.table({name: pa.array(values, pa.int64()) for name, values in zip("uab", columns, strict=True)})
    with dpdb.open(made, unit="u", max_rows=2) as session:
        found = candidates_of(session.public.opened)
        return scores(session.public.opened.count_dependencies(found.columns, found.pairs))


# -- what is shown -----------------------------------------------------------------------------------------------------


@pytest.mark.heavy(family="long")
@pytest.mark.usefixtures("folder")
def test_the_answer_has_names_and_no_score() -> None:
    """Its only numbers are public: how many candidates there were, and the cost."""
    with replaced_noise(StubNoise()):
        first, second = (discovered(None, source=one, top=1) for one in (table(), table().slice(0, 550)))
    assert first.to_dict() == second.to_dict()
    assert first.text() == second.text()
    assert set(re.findall(r"\d+", first.text())) == {"1", "20", "5"}


@pytest.mark.heavy(family="long")
@pytest.mark.usefixtures("folder")
def test_the_output_is_a_suite_that_check_and_lint_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(
            [
                "rules",
                "discover",
                "t.parquet",
                "--top",
                "4",
                "--epsilon",
                "1.234567891",
                "--quiet",
                "--out",
                "found.txt",
            ]
        )
        == 0
    )
    text = Path("found.txt").read_text()
    assert "# cost: epsilon 1.234567891 for" in text  # all that is charged, not six digits of it
    assert "names only" in text
    assert "buy each one's verdict with check" in text
    assert len(load_suite("found.txt").lines) == 5
    assert main(["rules", "lint", "found.txt"]) in {0, 1}
    assert main(["check", "t.parquet", "found.txt", "--quiet"]) in {0, 1, 5}
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.heavy(family="long")
def test_the_suite_of_the_bundled_table_is_checked(hospital: Path, tmp_path: Path) -> None:
    with dpdb.open(hospital, budget=20) as session:
        found = session.discover(epsilon=10)
        suite = tmp_path / "found.txt"
        suite.write_text(found.text())
        results = session.with_constraints(found.lines).check(suite, epsilon=10)
    assert len(results) == len(found.lines) == 11
    assert lint([suite]) is not None


HOSTILE = [
    "zip code", "select", "UNIQUE", "unique", "t1", "T2", "row_count", "fail", "warn", "above", "not", "in", "where",
    "null", "true", 'a"b', "a'b", "a#b", "a->b", "a,b", "a(b)", "a:b", "é", "日本", "{date}", "a.b", "1", "-", " ",
    "a\nb", "\x07", "a -- b", "/*", "check", "t1.a", "a WHERE b", "\u202ex", "[]", "&", "unit", "of",
]  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_of_a_column_stands_in_a_line_or_is_left_out(name: str) -> None:
    """Every line of every candidate means its columns, alone and in the whole text."""
    names = [name, "plain", "other one"]
    with dpdb.open(pa.table({each: [1, 2] for each in names})) as session:
        run = prepare_discovery(session, top=100)
        with replaced_noise(StubNoise()):
            found = session.discover(top=100)
    assert run.candidates.columns in {tuple(names), tuple(names[1:])}
    assert [each[0] for each in found.left_out] == [each for each in names if each not in run.candidates.columns]
    suite = load_suite(found.text(), names)
    rules = [line.rule for line in suite.lines]
    assert len(rules) == len(found.lines)
    for rule, pair in zip(rules, [*found.dependencies, *((key,) for key in found.keys)], strict=True):
        assert rule is not None
        assert set(rule.table_columns) == {*pair}
    lint(found.lines)


TYPES = {
    "HUGEINT": "'1', '2', '170141183460469231731687303715884105727'",
    "UTINYINT": "'0', '1', '255'",
    "DECIMAL(6,2)": "'1.00', '2.5', '-1'",
    "DOUBLE": "'nan', '-inf', '-0.0'",
    "FLOAT": "'0.0', '-0.0', 'nan'",
    "BOOLEAN": "'true', 'false', NULL",
    "BLOB": "'a', '', 'b'",
    "VARCHAR": "'', 'a', 'é'",
    "JSON": "'1', '[1]', '{}'",
    "UUID": "'00000000-0000-0000-0000-000000000000', NULL, NULL",
    "BIT": "'101', '1', '0'",
    "DATE": "'2020-01-01', 'infinity', NULL",
    "TIME": "'10:00:00', '11:00:00', NULL",
    "TIMETZ": "'10:00:00+01', '09:00:00+00', NULL",
    "INTERVAL": "'30 days', '1 month', '1 day'",
    "TIMESTAMP": "'2020-01-01', '290309-12-22 (BC) 00:00:00', NULL",
    "TIMESTAMP_NS": "'2020-01-01', '2020-01-02', NULL",
    "TIMESTAMP WITH TIME ZONE": "'2020-01-01', 'infinity', NULL",
    "ENUM('x', 'y')": "'x', 'y', NULL",
}


@pytest.mark.heavy
@pytest.mark.parametrize("kind", sorted(TYPES))
def test_every_type_that_can_be_compared_is_paired(kind: str) -> None:
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE t AS SELECT v::{kind} a, v::{kind} b, 1 c FROM (SELECT unnest([{TYPES[kind]}]) v)")
        with dpdb.open(con, table="t", budget=3) as session:
            found = session.discover(top=3)
            assert (found.of_dependencies, found.left_out) == (6, ())
            results = session.with_constraints(found.lines).check(found.text(), epsilon=1)
    assert len(results) == 4


def test_nested_columns_are_left_out_with_a_comment() -> None:
    source = pa.table({"a": [1, 2], "tags": [[1], [2]], "b": [1, 2], "point": [{"x": 1}, {"x": 2}]})
    found = discovered(None, source=source)
    assert [name for name, _ in found.left_out] == ["tags", "point"]
    assert "# left out: tags: values of type" in found.text()
    assert load_suite(found.text(), source.column_names).lines
    with pytest.raises(ParameterError, match="column 'tags'"):
        discovered(None, source=source, columns=["a", "tags"])


# -- refusals ----------------------------------------------------------------------------------------------------------


def wide(columns: int) -> pa.Table:
    return pa.table({f"c{k}": [1] for k in range(columns)})


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("source", "options", "said"),
    [
        (wide(1), {}, "needs two columns"),
        (pa.table({"a": [1], "b": [[1]]}), {}, "needs two columns"),
        (wide(500), {}, "500 columns are more than the 100"),
        (wide(101), {}, "101 columns"),
        (wide(3), {"columns": ["c0"]}, "needs two columns"),
        (wide(3), {"columns": ["c0", "c9"]}, "there is no column 'c9'"),
        (wide(3), {"columns": ["c0", "C0"]}, "named twice"),
        (wide(3), {"columns": []}, "needs two columns"),
        (wide(3), {"columns": "c0"}, "columns must be a list"),
        (wide(3), {"columns": ["c0", 1]}, "columns must be a list"),
        (wide(3), {"columns": 5}, "columns must be a list"),
        (wide(3), {"top": 0}, "top must be"),
        (wide(3), {"top": 101}, "top must be"),
        (wide(3), {"top": True}, "top must be"),
        (wide(3), {"top": 10**5_000}, "top must be"),
        (wide(3), {"epsilon": 0}, "epsilon must be"),
        (wide(3), {"epsilon": "1e-9"}, "too small"),
        (wide(3), {"epsilon": float("nan")}, "epsilon must be"),
        (wide(3), {"run_id": "monday"}, "run_id needs a ledger"),
    ],
)
def test_bad_input_is_refused_in_one_line(source: pa.Table, options: dict[str, object], said: str) -> None:
    with dpdb.open(source, budget=1) as session:
        with pytest.raises(ParameterError, match=re.escape(said)) as refused:
            session.discover(**options)
        assert session.spent() == 0
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


@pytest.mark.heavy(family="long")
def test_rows_that_are_all_alike_all_distinct_or_none() -> None:
    for source in (wide(2), wide(2).slice(0, 0), pa.table({"a": [1, 2, 3], "b": [4, 5, 6]})):
        found = discovered(None, source=source)
        assert len(found.dependencies) == 2
        assert len(found.keys) == 1


@pytest.mark.heavy(family="long")
def test_a_hundred_columns_are_paired() -> None:
    with dpdb.open(wide(100)) as session:
        assert len(prepare_discovery(session).candidates.dependencies) == 9_900


def test_beside_limited_children_it_is_refused(folder: Path) -> None:
    pq.write_table(pa.table({"zip": [1, 2]}), folder / "zips.parquet")
    change = {"private_parents": {"zips": folder / "zips.parquet"}, "max_children": 3}
    with (
        dpdb.open("t.parquet", constraints="zip IN zips.zip", **change) as session,  # type: ignore[arg-type]
        pytest.raises(ParameterError, match="max_children"),
    ):
        session.discover()


def test_files_that_change_are_refused_before_the_debit(folder: Path) -> None:
    from dpdb.errors import SourceError

    with dpdb.open("t.parquet", ledger="t.ledger") as session:
        pq.write_table(table().slice(0, 5), folder / "t.parquet")
        with pytest.raises(SourceError):
            session.discover()
    assert spent() == 0


@pytest.mark.heavy(family="long")
@pytest.mark.usefixtures("folder")
def test_a_discovery_is_shown_again(capsys: pytest.CaptureFixture[str]) -> None:
    found = discovered(run_id="monday")
    assert main(["budget", "answers", "t.ledger", "--run-id", "monday"]) == 0
    assert capsys.readouterr().out.split("\n", 1)[1].rstrip("\n") == found.text().rstrip("\n")
    assert main(["budget", "answers", "t.ledger", "--format", "json"]) == 0
    [answer] = json.loads(capsys.readouterr().out)["answers"]
    assert answer["discovered"]["rules"] == list(found.lines)
    assert main(["budget", "history", "t.ledger"]) == 0
    assert "rules discovered of every row, run id monday (answered)" in capsys.readouterr().out
    assert (
        main(["rules", "discover", "t.parquet", "--ledger", "t.ledger", "--run-id", "monday", "--format", "json"]) == 0
    )
    assert json.loads(capsys.readouterr().out)["rules"] == list(found.lines)
    assert spent() == 1


# -- without privacy ---------------------------------------------------------------------------------------------------


@pytest.mark.heavy(family="long")
@pytest.mark.usefixtures("folder")
def test_exact_scores_are_the_owners(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ParameterError, match="not private"):
        exact_dependencies("t.parquet")
    assert main(["rules", "discover", "t.parquet", "--non-private", "--top", "20", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("# NOT PRIVATE")
    assert "zip -> city  # NOT PRIVATE: g3 0 of 600 rows, mu+ 1.0000\n" in out
    assert "zip -> state  # NOT PRIVATE: g3 0 of 588 rows, mu+ 1.0000\n" in out
    assert "UNIQUE(id)  # NOT PRIVATE: g3 0 of 600 rows\n" in out
    assert len(load_suite(out).lines) == 22
    for option in (["--ledger", "t.ledger"], ["--epsilon", "1"], ["--run-id", "a"], ["--label", "a"]):
        assert main(["rules", "discover", "t.parquet", "--non-private", *option]) == 2
        assert f"leave out {option[0]}" in capsys.readouterr().err
    assert spent() == 0


@pytest.mark.heavy(family="long")
def test_mu_is_that_of_its_definition() -> None:
    """By Python alone: mu = 1 - (1 - pdep(Y | X)) / (1 - pdep(Y)) (n - 1) / (n - |X|), not below 0."""
    rng = random.Random(3)
    for _ in range(8):
        rows = [(rng.choice([0, 1, 2, None]), rng.choice([0, 1, 1, None])) for _ in range(rng.randint(1, 30))]
        made = pa.table(
            {name: pa.array(values, pa.int64()) for name, values in zip("ab", zip(*rows, strict=True), strict=True)}
        )
        found = {each.rule: each for each in exact_dependencies(made, non_private=True).dependencies}
        for x, y, rule in ((0, 1, "a -> b"), (1, 0, "b -> a")):
            known = [(row[x], row[y]) for row in rows if row[x] is not None and row[y] is not None]
            n, groups = len(known), len({one for one, _ in known})
            given = sum(
                sum(other == pair for other in known) / sum(other[0] == pair[0] for other in known) for pair in known
            )
            alone = sum(sum(other[1] == pair[1] for other in known) for pair in known)
            assert found[rule].rows == n
            if groups == n or alone == n * n:
                assert found[rule].mu is None
            else:
                mu = 1 - (1 - given / n) / (1 - alone / n**2) * (n - 1) / (n - groups)
                assert found[rule].mu == pytest.approx(max(0.0, mu), abs=1e-9)


def test_settings_of_a_unit_hold_without_privacy_too() -> None:
    found = exact_dependencies(table(), non_private=True, unit="zip", max_rows=2)
    assert {each.rows for each in found.keys} == {200}
