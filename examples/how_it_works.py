"""Draw how one rule becomes one noisy number, from a real run on the bundled table: an SVG for light and dark pages.

    python examples/how_it_works.py examples/manual/how_it_works.svg

The bundled table is public, so the picture may show its rows; of a private one it could show the last box only.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.sax.saxutils import escape

import duckdb

import dpdb
from dpdb.owner import exact_measures
from dpdb.release.ask import Ask
from dpdb.release.explain import explain

DATA = Path(__file__).resolve().parent / "data"
TABLE, RULES = DATA / "hospital.parquet", DATA / "hospital.dcs.txt"
OUT = ' class="out"'
WIDTH, HEIGHT, BOX, GAP = 960, 404, 296, 36
STYLE = """
text { font: 13px ui-monospace, Menlo, Consolas, monospace; fill: #1f2328 }
.name { font: bold 14px system-ui, sans-serif }
.why { font: 12px system-ui, sans-serif; fill: #57606a }
rect { fill: #f6f8fa; stroke: #8c959f; rx: 8 }
.out { fill: #ddf4ff; stroke: #0969da }
path { stroke: #57606a; stroke-width: 2; fill: none; marker-end: url(#end) }
marker path { fill: #57606a; stroke: none }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .why { fill: #9198a1 } rect { fill: #151b23; stroke: #656c76 }
  .out { fill: #121d2f; stroke: #4493f8 } path { stroke: #9198a1 } marker path { fill: #9198a1 }
}
"""


def first_edges(count: int) -> list[tuple[int, int, int]]:
    with TemporaryDirectory() as folder:
        graph = Path(folder) / "graph.duckdb"
        exact_measures(TABLE, RULES, non_private=True, measures=["drastic"], materialize=graph)
        with duckdb.connect(str(graph), read_only=True) as connection:
            return connection.execute(f"SELECT u, v, dc FROM conflict_edge LIMIT {count}").fetchall()


def release() -> dpdb.Release:
    with dpdb.open(TABLE, constraints=RULES, budget=3, edges="table") as session:
        found = session.dp_inconsistency("repair", epsilon=1)
    assert isinstance(found, dpdb.Release)
    return found


def files() -> list[str]:
    queries = explain(TABLE, RULES, Ask("repair", 1), edges="table")["queries"]
    return list(dict.fromkeys(f"sql/{name}.sql" for query in queries for name in query["files"]))


def named(ran: list[str], *names: str) -> list[str]:
    """Return the files of some names; the run must have used each."""
    return [next(file for file in ran if file.endswith(f"_{name}.sql")) for name in names]


def boxes() -> list[tuple[str, str, list[str]]]:
    """Return name, words and lines of each stage, in the order of the arrows."""
    ran, noisy = files(), release()
    edges = [f"{u:5} {v:5} {dc:3}" for u, v, dc in first_edges(2)]
    return [
        ("1. rule", "sqlglot makes a tree of SQL of it", ["zip_code -> city", "and six more"]),
        ("2. self-join", "DuckDB joins the table with itself", [
            *named(ran, "dependency_row", "conflict_pairs"), "a.zip_code = b.zip_code", "AND a.city <> b.city",
        ]),
        ("3. conflict_edge", "a table inside the database, each pair once", [
            *named(ran, "conflict_edge", "ordered_edges"), "    u     v  dc", *edges,
        ]),
        ("4. ordered scan", "the edges stream once into Python", [
            *named(ran, "edge_scan"), "projection, witnesses,", "vertex cover",
        ]),
        ("5. ledger, then noise", "debited first; then OpenDP draws", [
            "epsilon 1 of 3 spent", f"noise scale {noisy.noise_scale:g}",
        ]),
        ("6. noisy number", f"{noisy.confidence:.0%} sure: {noisy.lower:g} to {noisy.upper:g}", [
            f"about {noisy.value:g} rows to delete,", "at least",
        ]),
    ]  # fmt: skip


def picture(stages: list[tuple[str, str, list[str]]]) -> str:
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        "<title>From a rule to a noisy number: self-join, conflict_edge, ordered scan, ledger, noise</title>",
        f"<style>{STYLE}</style>",
        '<defs><marker id="end" markerWidth="8" markerHeight="8" refX="6" refY="3" orient="auto">'
        '<path d="M0,0 L6,3 L0,6 z"/></marker></defs>',
    ]
    for place, (name, why, lines) in enumerate(stages):
        row, column = divmod(place, 3)
        column = 2 - column if row else column  # the second row runs back
        left, top = column * (BOX + GAP), row * 216
        parts.append(f'<rect x="{left + 1}" y="{top + 1}" width="{BOX - 2}" height="174"{OUT if place == 5 else ""}/>')
        parts.append(f'<text class="name" x="{left + 16}" y="{top + 28}">{escape(name)}</text>')
        parts.append(f'<text class="why" x="{left + 16}" y="{top + 48}">{escape(why)}</text>')
        for number, line in enumerate(lines):
            shown = escape(line)
            parts.append(f'<text xml:space="preserve" x="{left + 16}" y="{top + 74 + 18 * number}">{shown}</text>')
        if place in {0, 1}:
            parts.append(f'<path d="M{left + BOX + 4},{top + 88} h{GAP - 10}"/>')
        elif place == 2:
            parts.append(f'<path d="M{left + BOX // 2},180 v30"/>')
        elif place < 5:
            parts.append(f'<path d="M{left - 4},{top + 88} h-{GAP - 10}"/>')
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(picture(boxes()), encoding="utf-8")
