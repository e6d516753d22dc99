"""Databases that DuckDB attaches by an extension: DuckLake, where that is there, and what is said where it is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

import dpdb
from dpdb.doors.cli.main import main
from dpdb.errors import SourceError
from dpdb.opening import open_table
from dpdb.sources.open import AttachedAddress

_NO_NETWORK = {"autoinstall_known_extensions": "false"}


def why_no_lake() -> str | None:
    try:
        duckdb.connect(config=_NO_NETWORK).execute("LOAD ducklake")
    except duckdb.Error as error:
        return f"DuckLake's extension is not installed in this DuckDB: {str(error).splitlines()[0]}"
    return None


@pytest.mark.parametrize("scheme", ["ducklake", "md", "motherduck", "DuckLake"])
def test_without_its_extension_the_address_is_one_line_without_secrets(
    scheme: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    connect, asked = duckdb.connect, []

    class Without:
        def execute(self, text: str) -> None:
            asked.append(text)
            raise duckdb.IOException("not found")

    def connected(*args: Any, **options: Any) -> Any:
        return Without() if options == {"config": _NO_NETWORK} else connect(*args, **options)

    monkeypatch.setattr("dpdb.sources.objects.attached.duckdb.connect", connected)
    with pytest.raises(
        SourceError, match=r"extension .* cannot be loaded, and dpdb fetches none: run INSTALL"
    ) as refused:
        open_table(f"{scheme}:x?motherduck_token=sesame", table="t")
    assert "sesame" not in str(refused.value)
    assert main(["exact", f"{scheme}:sesame", "--table", "t", "--constraints", "a -> b"]) != 0
    shown = capsys.readouterr()
    assert "sesame" not in shown.out + shown.err
    assert {text.split()[0] for text in asked} == {"LOAD"}  # nothing is installed


def test_a_file_of_such_a_name_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    duckdb.sql("SELECT 1 AS a").write_parquet("md:x.parquet")
    with open_table("md:x.parquet") as there:
        assert there.count_rows([None]) == [1]
    assert AttachedAddress.parse("mdx:visits") is None
    assert "sesame" not in repr(AttachedAddress.parse("md:x?token=sesame"))


@pytest.mark.skipif(why_no_lake() is not None, reason=str(why_no_lake()))
def test_a_session_reads_one_snapshot_of_a_lake(tmp_path: Path) -> None:
    place = f"ducklake:{tmp_path}/meta.ducklake"

    def lake(*statements: str) -> None:
        with duckdb.connect(config=_NO_NETWORK) as connection:
            connection.execute("LOAD ducklake")
            connection.execute(f"ATTACH '{place}' AS lake (DATA_PATH '{tmp_path}/data')")
            for statement in statements:
                connection.execute(statement)

    lake(
        "CREATE TABLE lake.visits AS SELECT * FROM (VALUES (1, 'a'), (1, 'b'), (2, 'c')) AS v(zip, city)",
        "CREATE VIEW lake.seen AS SELECT * FROM lake.visits",
    )
    with dpdb.open(place, table="visits", constraints="zip -> city") as session:
        lake("INSERT INTO lake.visits VALUES (1, 'z')", "ALTER TABLE lake.visits ADD COLUMN more INT")
        assert session.dp_count(epsilon=1_000).value == 3
    for table in ("visits", "main.seen"):
        with open_table(place, table=table, constraints="zip -> city") as there:
            assert there.count_rows([None]) == [4]
    with pytest.raises(SourceError, match="name one with table="):
        open_table(place)
