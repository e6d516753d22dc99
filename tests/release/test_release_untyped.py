"""Text that nobody has declared is compared for equality only: as text '10' is below '9'."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from stub_noise import StubNoise

import dpdb
from dpdb.doors.cli import main
from dpdb.errors import ConstraintTypeError, DpdbError, ParameterError, PredicateError
from dpdb.privacy.noise import replaced_noise
from dpdb.release.explain import explain

ROWS = {"a": ["9", "10", "05"], "b": ["1", "2", "3"]}
RULE = "UNIQUE(a, b)"


def csv(folder: Path) -> Path:
    path = folder / "t.csv"
    path.write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in zip(*ROWS.values(), strict=True)))
    return path


def folders(folder: Path) -> Path:
    for a, b in zip(*ROWS.values(), strict=True):
        (folder / "t" / f"a={a}").mkdir(parents=True)
        (folder / "t" / f"a={a}" / "x.csv").write_text(f"b\n{b}\n")
    return folder / "t"


def objects(folder: Path) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in ROWS.items()})


SOURCES: list[Callable[[Path], Any]] = [csv, folders, objects]


@pytest.mark.heavy
@pytest.mark.parametrize("make", SOURCES)
@pytest.mark.parametrize("constraint", [
    "not(t1.a<t2.a&t1.b>t2.b)", "not(t1.b=t2.b&t1.a>=t2.a)", "not(t1.a<=t2.b)", "not(t1.a=5)", "not(t1.a!=5)",
    "not(t1.a>'5')", "not(t1.a=t2.a&t1.b!=3)",
])  # fmt: skip
def test_constraints_compare_untyped_text_for_equality_only(
    make: Callable[[Path], Any], constraint: str, tmp_path: Path
) -> None:
    with pytest.raises(ConstraintTypeError, match="text because nobody has given it a type"):
        dpdb.open(make(tmp_path), constraints=constraint)
    (tmp_path / "again").mkdir()
    with pytest.raises(ConstraintTypeError, match="text because nobody has given it a type"):
        explain(make(tmp_path / "again"), constraint)


@pytest.mark.heavy
@pytest.mark.parametrize("make", SOURCES)
@pytest.mark.parametrize("where", [
    "a < '9'", "a > 9", "'9' >= a", "a <= b", "a BETWEEN '1' AND '9'", "NOT a BETWEEN 1 AND 9", "a = 9", "9 = a",
    "a != -9", "a IN ('9', 10)", "a = 9.5", "b = '1' OR (b = '2' AND a < '5')",
])  # fmt: skip
def test_predicates_compare_untyped_text_for_equality_only(
    make: Callable[[Path], Any], where: str, tmp_path: Path
) -> None:
    with dpdb.open(make(tmp_path), constraints=RULE, budget=1) as session:
        with pytest.raises(PredicateError, match="where: column 'a' is text because nobody has given it a type"):
            session.dp_count(1.0, where=where)
        assert session.spent() == 0


@pytest.mark.heavy
@pytest.mark.parametrize("make", SOURCES)
def test_keys_of_untyped_text_are_texts(make: Callable[[Path], Any], tmp_path: Path) -> None:
    with replaced_noise(StubNoise()), dpdb.open(make(tmp_path), constraints=RULE, budget=1) as session:
        for key in (9, 9.0):
            with pytest.raises(ParameterError, match=r"key 9.*column 'a' is text because nobody"):
                session.dp_count(1.0, by="a", keys=["10", key])
        assert session.spent() == 0
        assert [release.value for release in session.dp_count(1.0, by="a", keys=["9", "5"])] == [1, 0]  # type: ignore[union-attr]


@pytest.mark.heavy
@pytest.mark.parametrize("make", SOURCES)
def test_equality_of_untyped_text_is_allowed(make: Callable[[Path], Any], tmp_path: Path) -> None:
    rules = ["a -> b", "not(t1.a=t2.b)", "not(t1.a='x')", "not(t1.a=t1.b)"]
    with replaced_noise(StubNoise()), dpdb.open(make(tmp_path), constraints=rules) as session:
        session.dp_inconsistency("repair", 1.0)
        where = "a = '9' OR a IN ('10') OR a != b AND a LIKE '1%' OR a IS NULL OR NOT a <> '5'"
        assert session.dp_count(1.0, where=where).value == 2  # type: ignore[union-attr]


@pytest.mark.heavy(family="alone")
def test_a_declared_text_may_be_compared_as_text(tmp_path: Path) -> None:
    for source, types in (
        (csv(tmp_path), {"a": "VARCHAR"}),
        (folders(tmp_path), {"a": "VARCHAR"}),
        (pa.table(ROWS), None),
    ):
        with replaced_noise(StubNoise()), dpdb.open(source, constraints="not(t1.a<'1')", csv_schema=types) as session:
            assert session.dp_inconsistency("repair", 1.0).value == 1  # type: ignore[union-attr]
            assert session.dp_count(1.0, where="a < '9'").value == 2  # type: ignore[union-attr]
    for frame in (objects(tmp_path).astype("string"), pl.DataFrame(ROWS)):
        with dpdb.open(frame, constraints="not(t1.a<'1')"):
            pass


def test_a_declared_text_is_not_ordered_against_an_untyped_one(tmp_path: Path) -> None:
    with pytest.raises(ConstraintTypeError, match="column 'b' is text because"):
        dpdb.open(csv(tmp_path), constraints="not(t1.a<t2.b)", csv_schema={"a": "VARCHAR"})
    with dpdb.open(csv(tmp_path), constraints=RULE, csv_schema={"a": "VARCHAR"}) as session:
        for where in ("a < b", "b >= a"):
            with pytest.raises(PredicateError, match="column 'b' is text because"):
                session.dp_count(1.0, where=where)


ADVICE = {
    "a < 5": "--schema 'a DOUBLE' (csv_schema={'a': 'DOUBLE'})",
    "a = 5": "--schema 'a INTEGER' (csv_schema={'a': 'INTEGER'})",
    "a = -5000000000": "--schema 'a BIGINT'",
    "a = 5.5": "--schema 'a DOUBLE'",
    "a = true": "--schema 'a BOOLEAN'",
    "a > '10'": "--schema 'a DOUBLE'",
    "a > '2020-01-31'": "--schema 'a DATE'",
    "a > '2020-01-31 10:00'": "--schema 'a TIMESTAMP'",
    "a > b": "--schema 'a DOUBLE'",
    '"order" > 1': """--schema '"order" DOUBLE'""",
    '"it\'s" > 1': """--schema '"it'"'"'s" DOUBLE'""",
}


@pytest.mark.heavy
@pytest.mark.parametrize("where", ADVICE)
def test_the_message_has_the_remedy(where: str, tmp_path: Path) -> None:
    path = csv(tmp_path)
    path.write_text("a,b,it's,order\n1,2,3,4\n")
    with dpdb.open(path, constraints=RULE) as session, pytest.raises(PredicateError) as caught:
        session.dp_count(1.0, where=where)
    assert ADVICE[where] in str(caught.value)
    assert "or VARCHAR to compare it as text" in str(caught.value)


def test_the_remedy_for_a_frame_works(tmp_path: Path) -> None:
    frame = objects(tmp_path)
    with dpdb.open(frame, constraints=RULE) as session, pytest.raises(PredicateError) as caught:
        session.dp_count(1.0, where="a > 5")
    assert "frame.astype({'a': 'float64'})" in str(caught.value)
    typed = frame.astype({"a": "float64"})
    with replaced_noise(StubNoise()), dpdb.open(typed, constraints=RULE) as session:
        assert session.dp_count(1.0, where="a > 5").value == 2  # type: ignore[union-attr]


def test_the_remedy_on_the_command_line_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["count", str(csv(tmp_path)), "--epsilon", "1", "--where", "a > 5", "--quiet"]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert main([*command, "--schema", error.split("--schema '")[1].split("'")[0]]) == 0


def test_amounts_lose_no_cell_by_the_type_that_is_advised(tmp_path: Path) -> None:
    """As INTEGER -0.5 would be NULL, which breaks no rule."""
    path = tmp_path / "shop.csv"
    path.write_text("amount\n12.5\n-0.5\n-3\n")
    with pytest.raises(ConstraintTypeError) as caught:
        dpdb.open(path, constraints="amount >= 0")
    option = str(caught.value).split("csv_schema={'amount': '")[1].split("'")[0]
    with (
        replaced_noise(StubNoise()),
        dpdb.open(path, constraints="amount >= 0", csv_schema={"amount": option}) as session,
    ):
        assert session.dp_inconsistency("repair", 1.0).value == 2  # type: ignore[union-attr]


def test_comparing_typed_with_untyped_names_the_type_to_give(tmp_path: Path) -> None:
    with pytest.raises(DpdbError, match=r"cannot compare 'a' \(VARCHAR\) with 'b' \(INTEGER\); give it one, such as"):
        dpdb.open(csv(tmp_path), constraints="not(t1.a=t2.b)", csv_schema={"b": "INTEGER"})


def test_a_frame_whose_objects_have_no_text_is_read(tmp_path: Path) -> None:
    class Silent:
        def __str__(self) -> str:
            raise RuntimeError("alice")

    frame = pd.DataFrame({"a": pd.Series([1, "\ud800", Silent(), "x"], dtype=object), "b": [1, 2, 3, 4]})
    with replaced_noise(StubNoise()), dpdb.open(frame, constraints="a -> b") as session:
        assert session.dp_count(1.0, where="a IS NULL").value == 2  # type: ignore[union-attr]
