"""The picture of the front page comes from a real run, and the queries of its page run on the exported graph."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import duckdb
import pytest

from dpdb.doors.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "examples" / "manual" / "how_it_works.md"
PICTURE = PAGE.with_suffix(".svg")


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "examples")
    import how_it_works

    return how_it_works


def words(svg: str) -> list[str]:
    """The texts of a picture, without the numbers that noise draws."""
    root = ElementTree.fromstring(svg)
    texts = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]
    return [re.sub(r"\d[\d,.]*", "N", text) if re.search("about|sure", text) else text for text in texts]


@pytest.mark.heavy(family="long")
def test_the_picture_is_drawn_from_a_run(example: ModuleType) -> None:
    assert words(example.picture(example.boxes())) == words(PICTURE.read_text(encoding="utf-8"))


def test_the_picture_can_be_read_on_light_and_dark_pages() -> None:
    svg = PICTURE.read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in svg
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")
    named = re.findall(r"sql/(\w+)\.sql", svg)
    assert len(named) >= 5
    assert all((ROOT / "sql" / f"{name}.sql").is_file() for name in named)


@pytest.mark.heavy(family="long")
def test_the_queries_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (command,) = re.findall(r"^    dpdb (exact .*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    monkeypatch.chdir(ROOT)
    graph = tmp_path / "graph.duckdb"
    assert main(command.replace("graph.duckdb", str(graph)).split()) == 0
    (block,) = re.findall(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    queries = [query for query in block.split(";") if query.strip()]
    assert len(queries) == 3
    with duckdb.connect(str(graph), read_only=True) as connection:
        rules, rows, values = (connection.execute(query).fetchall() for query in queries)
        assert sum(pairs for _, pairs in rules) == 1325
        assert rows[0][1] == 28  # the greatest degree, as `dpdb exact` prints it
        assert all(
            one != other for text, _, one, other in values if text == "not(t1.city!=t2.city&t1.zip_code=t2.zip_code)"
        )
        ordered = connection.execute("SELECT u, dc, v FROM conflict_edge").fetchall()
    assert ordered == sorted(ordered)


README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_front_page_is_one_screen_of_short_sentences() -> None:
    """At most 900 words, and 16 a sentence in the mean, tables and code left out of the sentences."""
    assert len(README.split()) <= 900
    prose = re.sub(r"```.*?```", "", README, flags=re.DOTALL)
    prose = re.sub(r"^(    |\||#|!).*$", "", prose, flags=re.MULTILINE)
    parts = re.split(r"\n\s*\n|\n(?=\d\. |- )|(?<=[.?])\s+", re.sub(r"\]\([^)]*\)", "]", prose))
    lengths = [len(part.split()) for part in parts if len(part.split()) > 2]
    assert len(lengths) > 40
    assert sum(lengths) / len(lengths) <= 16


@pytest.mark.heavy(family="long")
def test_the_front_page_shows_what_the_demo_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    out, told = capsys.readouterr()
    assert told in README
    table = [line for line in README.splitlines() if line.startswith(("measure  ", "repair  "))]
    shown = [line for line in out.splitlines() if line.startswith(("measure  ", "repair  "))]
    assert [re.sub(r"[\d.]+ +|  +", " ", line) for line in table] == [
        re.sub(r"[\d.]+ +|  +", " ", line) for line in shown
    ]
