"""Files that ask for more than anybody has: one clear error, and this process lives on."""

from __future__ import annotations

import sqlite3
import zipfile
from pathlib import Path

import pytest

import dpdb
from dpdb.errors import SourceError

SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1">'
    '<c r="A1" t="inlineStr"><is><t>a</t></is></c><c r="B1" t="inlineStr"><is><t>b</t></is></c></row>'
    '<row r="{row}"><c r="{column}{row}"><v>3</v></c></row></sheetData></worksheet>'
)
TYPES = "http://schemas.openxmlformats.org/package/2006"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{TYPES}/content-types"><Default Extension="rels" ContentType="application/'
    'vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{TYPES}/relationships"><Relationship Id="r1" Type="{OFFICE}/officeDocument" '
    'Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
    f'xmlns:r="{OFFICE}"><sheets><sheet name="s" sheetId="1" r:id="r1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{TYPES}/relationships"><Relationship Id="r1" '
    f'Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
}


def workbook(path: Path, column: str, row: int) -> Path:
    """A workbook with two columns and one cell more, anywhere."""
    with zipfile.ZipFile(path, "w") as file:
        for name, content in PARTS.items():
            file.writestr(name, content)
        file.writestr("xl/worksheets/sheet1.xml", SHEET.format(column=column, row=row))
    return path


@pytest.mark.heavy(family="long")
def test_a_cell_in_the_far_corner_does_not_end_this_process(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    dpdb.open(workbook(tmp_path / "near.xlsx", "B", 4), constraints="a -> b", budget=1).close()
    with pytest.raises(SourceError, match=r"far\.xlsx: cannot be read as a workbook"):
        dpdb.open(workbook(tmp_path / "far.xlsx", "XFD", 1_048_576), constraints="a -> b", budget=1)


@pytest.mark.heavy(family="long")
def test_a_view_without_end_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpdb.sources.files.sqlite_file.MOST_STEPS", 5_000_000)
    endless = "WITH RECURSIVE r(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM r) SELECT"
    path = tmp_path / "t.db"
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE VIEW counted AS {endless} count(*) AS a, 1 AS b FROM r")
        connection.execute(f"CREATE VIEW listed AS {endless} a, 1 AS b FROM r")
        connection.execute("CREATE VIEW short AS SELECT 1 AS a, 2 AS b")
    connection.close()
    for view in ("counted", "listed"):
        with pytest.raises(SourceError, match=r"the view takes too long; save what it selects as a table"):
            dpdb.open(path, table=view, constraints="a -> b", budget=1)
    dpdb.open(path, table="short", constraints="a -> b", budget=1).close()


def test_a_table_of_too_many_columns_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(",".join(f"c{k}" for k in range(10_001)) + "\n")
    with pytest.raises(SourceError, match=r"a table has at most 10,000 columns"):
        dpdb.open(tmp_path / "t.csv", constraints="c0 -> c1", budget=1)
