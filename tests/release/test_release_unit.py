"""`unit=` and `max_rows=`: everything sees at most k rows of a unit, and the ledger bounds what a unit loses."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st
from stub_noise import StubNoise

import dpdb
from dpdb.database.database import Database
from dpdb.doors.cli import main
from dpdb.engine.unit_rows import UnitRows
from dpdb.errors import LedgerError, ParameterError, SourceError, UnknownColumnError
from dpdb.ledger import Ledger
from dpdb.owner.exact import exact_measures
from dpdb.privacy.noise import replaced_noise
from dpdb.release.explain import explain
from dpdb.sources.open import open_source

FD = "zip -> city"
ROWS = [
    ("p", "1", "x"), ("p", "1", "y"), ("p", "2", "x"), ("p", "2", "z"), ("q", "1", "x"), ("q", "1", "x"),
    ("q", "1", "w"), ("r", "2", "y"), (None, "1", "v"), (None, "2", "u"), ("s", None, "x"),
]  # fmt: skip


def table(rows: list[tuple[Any, ...]]) -> pa.Table:
    schema = pa.schema([("patient", pa.string()), ("zip", pa.string()), ("city", pa.string())])
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


def kept(rows: list[tuple[Any, ...]], most: int) -> list[tuple[Any, ...]]:
    """The kept rows; that they are the right ones is tested in tests/engine."""
    with Database(threads=1) as database:
        limited = UnitRows(database, open_source(database, table(rows)), "patient", most)
        return database.rows(f"SELECT * FROM {limited.scan.sql('duckdb')}")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "t.parquet"
    pq.write_table(table(ROWS), path)
    return path


# -- what is read ---------------------------------------------------------------------------------------------


def exact_answers(session: dpdb.Session) -> list[float]:
    """What the noise-free doors of a session say: measures, counts, slices, groups."""
    released = [
        *session.dp_inconsistency("all", 1),  # type: ignore[misc]
        *session.dp_inconsistency("all", 1, where="zip = '1'"),  # type: ignore[misc]
        *session.dp_inconsistency("repair", 1, by="zip", keys=["1", "2"]),  # type: ignore[misc]
        session.dp_count(1),
        session.dp_count(1, where="city <> 'x'"),
        *session.dp_count(1, by="zip", keys=["1", "2", "3"]),  # type: ignore[misc]
    ]
    return [release.value for release in released]


@pytest.mark.heavy(family="long")
@settings(derandomize=True, deadline=None, max_examples=4)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["p", "q", "r", None]), st.sampled_from(["1", "2", None]), st.sampled_from(["x", "y", None])
        ),
        max_size=12,
    ),
    st.integers(1, 3),
)
def test_every_door_sees_the_kept_rows_only(rows: list[tuple[Any, ...]], most: int) -> None:
    """A session with a unit answers what a session on the kept rows answers: duplicates and NULLs included."""
    with replaced_noise(StubNoise()):
        with dpdb.open(table(rows), constraints=FD, unit="patient", max_rows=most) as session:
            limited = exact_answers(session)
        with dpdb.open(table(kept(rows, most)), constraints=FD) as session:
            assert limited == exact_answers(session)


def test_rows_are_dropped_before_a_slice_is_taken() -> None:
    """Of p's rows two are used, whatever the slice: were they chosen inside it, p would have more in the two slices."""
    rows = [("p", zip_code, city) for zip_code in "12" for city in "wxyz"]
    with replaced_noise(StubNoise()), dpdb.open(table(rows), constraints=FD, unit="patient", max_rows=2) as session:
        counts = session.dp_count(1, by="zip", keys=["1", "2"])
        assert sum(release.value for release in counts) == 2  # type: ignore[union-attr]


def test_the_release_says_what_it_counts_and_protects() -> None:
    with dpdb.open(table(ROWS), constraints=FD, unit="PATIENT", max_rows=3) as session:
        release = session.dp_count(1)
    assert isinstance(release, dpdb.Release)
    assert "removing one value of patient with all its rows, of which at most 3 are used" in release.guarantee
    assert "at most 3 rows per value of patient and none where it is NULL" in release.estimand
    assert release.noise_scale == pytest.approx(3)
    once = dpdb.dp_inconsistency(table(ROWS), FD, unit="patient", max_rows=3, epsilon=1)
    assert "one value of patient" in once.guarantee  # type: ignore[union-attr]


def test_exact_reads_all_rows_unless_a_unit_is_given(tmp_path: Path) -> None:
    assert exact_measures(table(ROWS), FD, non_private=True).rows == len(ROWS)
    limited = exact_measures(table(ROWS), FD, non_private=True, unit="patient", max_rows=2, by_constraint=True)
    assert limited == exact_measures(table(kept(ROWS, 2)), FD, non_private=True, by_constraint=True)
    assert limited.rows == 6
    with pytest.raises(ParameterError, match="leave out the unit"):
        exact_measures(
            table(ROWS), FD, non_private=True, unit="patient", max_rows=2, violations=tmp_path / "v.csv"
        )  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"unit": "patient"}, ParameterError, "go together"),
        ({"max_rows": 3}, ParameterError, "go together"),
        ({"unit": "patient", "max_rows": 0}, ParameterError, "max_rows must be a whole number of at least 1, got 0"),
        ({"unit": "patient", "max_rows": True}, ParameterError, "max_rows must be"),
        ({"unit": "patient", "max_rows": 2.0}, ParameterError, "max_rows must be"),
        ({"unit": "", "max_rows": 2}, ParameterError, "name of a column"),
        ({"unit": "patient", "max_rows": 2, "rows_per_person": 2}, ParameterError, "exclude each other"),
        ({"unit": "patiant", "max_rows": 2}, UnknownColumnError, "nearest is 'patient'"),
        ({"unit": "tags", "max_rows": 2}, ParameterError, r"'tags' has type VARCHAR\[\], whose values cannot be"),
    ],
)
def test_bad_units_are_refused(options: dict[str, Any], error: type[Exception], words: str) -> None:
    rows = table(ROWS).append_column("tags", pa.array([[]] * len(ROWS), pa.list_(pa.string())))
    for door in (lambda: dpdb.open(rows, constraints=FD, **options), lambda: explain(rows, FD, **options)):
        with pytest.raises(error, match=words):
            door()


def test_a_source_that_is_gone_is_refused_before_the_debit(source: Path) -> None:
    with dpdb.open(source, constraints=FD, unit="patient", max_rows=2, budget=1) as session:
        source.unlink()
        with pytest.raises(SourceError, match="no such file"):
            session.dp_count(1)
        assert session.remaining() == 1


# -- the ledger -----------------------------------------------------------------------------------------------


@pytest.mark.heavy(family="long")
def test_a_ledger_is_bound_to_its_unit(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.ledger"
    Ledger.create(path, 1).close()
    with dpdb.open(source, constraints=FD, ledger=path, unit="patient", max_rows=3) as session:
        session.dp_count(0.5)
    for options in ({}, {"rows_per_person": 3}, {"unit": "patient", "max_rows": 2}, {"unit": "zip", "max_rows": 3}):
        with pytest.raises(LedgerError, match="counts for values of patient with at most 3 rows each, not for"):
            dpdb.open(source, constraints=FD, ledger=path, **options)  # type: ignore[arg-type]
    assert main(["budget", "show", str(path)]) == 0
    assert "unit       one value of patient, at most 3 rows of it used" in capsys.readouterr().out
    other = tmp_path / "rows.ledger"
    Ledger.create(other, 1).close()
    with dpdb.open(source, constraints=FD, ledger=other) as session:
        session.dp_count(0.5)
    with pytest.raises(LedgerError, match="counts for 1 rows per person, not for values of patient"):
        dpdb.open(source, constraints=FD, ledger=other, unit="patient", max_rows=1)


def test_an_append_only_ledger_takes_no_unit(source: Path, tmp_path: Path) -> None:
    """A new row may take an older one's place: over time a unit shows more than k rows, in disjoint slices."""
    path = tmp_path / "t.ledger"
    Ledger.create(path, 1, append_only=True).close()
    with pytest.raises(LedgerError, match="append-only ledger cannot count for values of patient"):
        dpdb.open(source, constraints=FD, ledger=path, unit="patient", max_rows=3)


def test_another_engine_may_keep_other_rows_and_needs_an_epoch(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.ledger"
    Ledger.create(path, 1).close()
    with dpdb.open(source, constraints=FD, ledger=path, unit="patient", max_rows=3) as session:
        session.dp_count(0.5)
    monkeypatch.setattr("dpdb.engine.unit_rows.version", lambda _: "another")
    with (
        pytest.raises(LedgerError, match="dpdb budget epoch"),
        dpdb.open(source, constraints=FD, ledger=path, unit="patient", max_rows=3) as session,
    ):
        session.dp_count(epsilon=0.1)


@pytest.mark.heavy(family="long")
def test_two_tables_of_one_file_are_not_one_table(tmp_path: Path) -> None:
    """A unit may have k rows in each; without a unit a row lies in one of them, so there the ledger does not mind."""
    file, path = tmp_path / "t.duckdb", tmp_path / "t.ledger"
    with duckdb.connect(str(file)) as made:
        for name in ("one", "two"):
            made.execute(f"CREATE TABLE {name} (patient VARCHAR, zip VARCHAR, city VARCHAR)")
    Ledger.create(path, 1).close()
    with dpdb.open(file, table="one", constraints=FD, ledger=path, unit="patient", max_rows=3) as session:
        session.dp_count(0.5)
    with dpdb.open(file, table="ONE", constraints=FD, ledger=path, unit="patient", max_rows=3) as session:
        session.dp_count(0.1)
    with (
        pytest.raises(LedgerError, match="dpdb budget epoch"),
        dpdb.open(file, table="two", constraints=FD, ledger=path, unit="patient", max_rows=3) as session,
    ):
        session.dp_count(epsilon=0.1)


def test_a_run_id_gives_its_answer_again(source: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.ledger"
    Ledger.create(path, 1).close()
    answers = []
    for _ in range(2):
        with dpdb.open(source, constraints=FD, ledger=path, unit="patient", max_rows=3) as session:
            answers.append(session.dp_count(0.7, run_id="x"))
    assert answers[0] == answers[1]


SLICES = [
    "zip = '1'",
    "zip = '2'",
    "city = 'x'",
    "city <> 'x'",
    "zip = '1' AND city = 'y'",
    "zip IS NULL",
    "city < 'y'",
]
COVERS: list[Callable[[str | None, str | None], bool]] = [
    lambda z, c: z == "1",
    lambda z, c: z == "2",
    lambda z, c: c == "x",
    lambda z, c: c is not None and c != "x",
    lambda z, c: z == "1" and c == "y",
    lambda z, c: z is None,
    lambda z, c: c is not None and c < "y",
]


@pytest.mark.heavy
@pytest.mark.parametrize(("notion", "cost"), [("pure", "epsilon"), ("zcdp", "epsilon"), ("zcdp", "rho")])
@pytest.mark.parametrize("chosen", [(0, 1), (0, 1, 5), (2, 3, 4), (0, 2, 4, 6), tuple(range(7))])
def test_no_unit_loses_more_than_the_ledger_says(
    notion: str, cost: str, chosen: tuple[int, ...], source: Path, tmp_path: Path
) -> None:
    """Every possible set of k rows of one unit, against the noise that was really used."""
    most, path = 3, tmp_path / "t.ledger"
    Ledger.create(path, 100, notion).close()
    with dpdb.open(source, constraints=FD, ledger=path, unit="patient", max_rows=most) as session:
        releases = [session.dp_count(**{cost: 0.3 + 0.1 * k}, where=SLICES[k]) for k in chosen]
        spent = session.spent()
    per_row = [1 / release.noise_scale for release in releases]  # type: ignore[union-attr]
    losses = []
    kinds = list(itertools.product(["1", "2", "3", None], ["w", "x", "y", None]))
    for unit in itertools.combinations_with_replacement(kinds, most):
        inside = [sum(COVERS[k](*row) for row in unit) for k in chosen]
        # Group privacy of each release; rho of Laplace noise of scale b and of Gaussian noise alike is (m / b)^2 / 2.
        group = [m * e for m, e in zip(inside, per_row, strict=True)]
        losses.append(sum(group) if notion == "pure" else sum(loss**2 / 2 for loss in group))
    assert max(losses) <= spent * (1 + 1e-9)
    assert max(losses) >= spent * (1 - 1e-6)  # and some unit does lose all of it: a lower charge would be wrong


def test_rows_in_as_many_disjoint_slices_as_a_unit_has_rows_cost_one_charge(tmp_path: Path) -> None:
    """The kept rows of p lie in three slices; each is answered at epsilon / 3, and the ledger charges epsilon once."""
    path = tmp_path / "t.ledger"
    Ledger.create(path, 1).close()
    rows = table([("p", zip_code, "x") for zip_code in "123"])
    with dpdb.open(rows, constraints=FD, ledger=path, unit="patient", max_rows=3) as session:
        releases = [session.dp_count(0.9, where=f"zip = '{zip_code}'") for zip_code in "123"]
        assert session.spent() == 0.9
    assert sum(1 / release.noise_scale for release in releases) == pytest.approx(0.9, abs=1e-8)  # type: ignore[union-attr]


# -- commands -------------------------------------------------------------------------------------------------


@pytest.mark.heavy(family="long")
def test_the_commands_take_a_unit(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "t.ledger")
    unit = ["--unit", "patient", "--max-rows", "2"]
    # epsilon 2000 is 1000 per row: the noise is below 1 except with probability exp(-400)
    measure = ["measure", str(source), "--constraints", FD, "--measure", "all", "--epsilon", "2000", "--format", "json"]
    assert main(["budget", "create", path, "--epsilon", "2500"]) == 0
    capsys.readouterr()
    assert main([*measure, *unit, "--ledger", path]) == 0
    released = {r["measure"]: r for r in json.loads(capsys.readouterr().out)["releases"]}
    expected = exact_measures(table(kept(ROWS, 2)), FD, non_private=True)
    assert released["repair"]["value"] == expected.repair_lower == expected.repair_upper
    assert released["minimal_inconsistency"]["value"] <= expected.minimal_inconsistency
    assert "one value of patient" in released["repair"]["guarantee"]
    assert main([*measure, "--ledger", path]) == 2
    assert "counts for values of patient" in capsys.readouterr().err
    assert main(["exact", str(source), "--constraints", FD, "--non-private", *unit, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == len(kept(ROWS, 2))
    assert main(["explain", str(source), "--constraints", FD, *unit]) == 0
    out = capsys.readouterr().out
    assert "unit:   one value of patient with all its rows, of which at most 2 are used" in out
    assert "PARTITION BY" in out
    assert main([*measure, "--unit", "patient"]) == 2
    assert "go together" in capsys.readouterr().err


def test_the_helper_of_this_file_keeps_two_of_each() -> None:
    assert Counter(row[0] for row in kept(ROWS, 2)) == {"p": 2, "q": 2, "r": 1, "s": 1}
