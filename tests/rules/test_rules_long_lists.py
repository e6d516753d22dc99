"""Messages about a stranger's names are as long as somebody reads, however many and long the names are."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import dpdb
from dpdb.doors.cli.streams import say
from dpdb.errors import ParameterError, SourceError
from dpdb.names import listed_names, nearest_words
from dpdb.rules.importing import import_rules


def test_names_are_listed_up_to_a_number_and_a_length() -> None:
    assert listed_names(["a", "b"]) == "a, b"
    assert listed_names([f"n{number}" for number in range(1_234)]).endswith("n98, n99, and 1,134 more")
    assert len(nearest_words("x" * 1_000_000, ["x" * 1_000_000] * 5_000)) < 30_000
    assert nearest_words("tabel", ["table", "view"]) == "; did you mean 'table'? (known: table, view)"


@pytest.mark.heavy
@pytest.mark.parametrize("table", [None, "nope"])
def test_tables_of_a_file_of_rules(table: str | None, tmp_path: Path) -> None:
    path = tmp_path / "many.sql"
    path.write_text("".join(f"CREATE TABLE t{number} (a INT NOT NULL);\n" for number in range(300)))
    with pytest.raises(ParameterError, match=r"t99, and 200 more") as caught:
        import_rules(path, table)
    assert len(str(caught.value)) < 2_000


def test_tables_of_a_database(tmp_path: Path) -> None:
    path = tmp_path / "many.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("".join(f"CREATE TABLE t{number:03} (a INT);" for number in range(300)))
    with pytest.raises(SourceError, match=r"main.t099, and 200 more"):
        dpdb.open(str(path))


def test_whatever_else_is_said_has_an_end(capfd: pytest.CaptureFixture[str]) -> None:
    say("x" * 1_000_000)
    assert capfd.readouterr().err == f"dpdb: {'x' * 10_000}... (1,000,000 characters)\n"
