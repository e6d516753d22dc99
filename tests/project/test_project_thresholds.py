"""A number that code compares something with is in `dpdb.thresholds`, or stands here with what makes it harmless."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import dpdb
from dpdb.thresholds import THRESHOLDS

PACKAGE = Path(dpdb.__file__).parent
ROOMS = ("graph", "sources", "database", "engine", "remote", "release", "measures")

PUBLIC = "what is compared is public: text, options, a schema, a released number, the machine"
CELL = "what one cell or line is read as, whatever others are"
PIECE = "how large the pieces are in which the same is done; no piece is a step that is shown"
OWNER = "only the owner sees what comes of it, and it says so"

HARMLESS = {
    "database/database.py _UNLIMITED": PUBLIC,
    "database/database.py MOST_THREADS": PUBLIC,
    "database/database.py SPARED": PUBLIC,
    "database/database.py _LEAST_MEBIBYTES": PUBLIC,
    "database/database.py _READ_TOGETHER": PIECE,
    "engine/closed_forms.py _MOST_LOOSE": PUBLIC,
    "engine/count_all.py FEWEST_ALIKE": PUBLIC,
    "engine/sql/comparison.py 10": PUBLIC,
    "engine/sql/comparison.py _BITS": PUBLIC,
    "engine/sql/comparison.py _LONGEST_REMEMBERED": PUBLIC,
    "engine/sql/comparison.py _MAX_DIGITS": PUBLIC,
    "engine/sql/comparison.py _MAX_EXPONENT": PUBLIC,
    "engine/sql/comparison.py _MOST_AT_ONCE": PUBLIC,
    "engine/sql/comparison.py MOST_REMEMBERED": PUBLIC,
    "engine/sql/joins.py NESTED_LOOP_ROWS": PUBLIC,
    "engine/sql/comparison.py 31": PUBLIC,
    "engine/sql/comparison.py 63": PUBLIC,
    "engine/table.py _FEW_CONSTRAINTS": PUBLIC,
    "engine/table.py _FEW_SLICES": PUBLIC,
    "engine/table_spec.py _MOST_ROWS": PUBLIC,
    "graph/exact/search.py _MAX_COMPONENT_EDGES": OWNER,
    "graph/exact/search.py _MAX_KERNEL_EDGES": OWNER,
    "graph/exact/search.py _MAX_DEGREE": OWNER,
    "graph/kernels/block_degrees.py _CLEAR": "which sweep it is",
    "graph/kernels/block_degrees.py _CLEAR_AGAIN": "which sweep it is",
    "graph/kernels/range_matching.py _ABOVE": "a place in an array, not a bound",
    "graph/kernels/range_matching.py _END": "a place in an array, not a bound",
    "graph/kernels/range_matching.py _EQUAL": "a place in an array, not a bound",
    "graph/blocks/block_graph.py BATCH": PIECE,
    "graph/blocks/block_scans.py _VECTOR": "part of what is compared with COUNTED_WORK",
    "measures/estimate.py _DOUBT": PUBLIC,
    "measures/estimate.py _FEW_SCALES": PUBLIC,
    "measures/estimate.py _ROOM": PUBLIC,
    "release/conflict_graph.py 90": PUBLIC,
    "release/ask.py _LARGEST_DEGREE": PUBLIC,
    "release/ask.py _SMALLEST_EPSILON": PUBLIC,
    "release/ask.py _SMALLEST_RHO": PUBLIC,
    "release/conflict_graph.py _MANY": PUBLIC,
    "release/parts.py _SHOWN_KEY": PUBLIC,
    "release/parts.py _WRITTEN_BITS": PUBLIC,
    "release/statistics.py _KEPT": PUBLIC,
    "release/published/release_fields.py _ALL_DIGITS": PUBLIC,
    "release/published/release_fields.py _CUT_SCALES": PUBLIC,
    "release/published/release_fields.py _EXACT": PUBLIC,
    "release/published/release_fields.py _FEW_DIGITS": PUBLIC,
    "release/costs.py 100": PUBLIC,
    "release/costs.py 700": PUBLIC,
    "remote/postgres_table.py _LONGEST_NAME": PUBLIC,
    "remote/thinning.py ALL": "the unit of a share, not a bound",
    "remote/clickhouse/http.py 65535": PUBLIC,
    "remote/clickhouse/table.py _MOST_DIGITS": PUBLIC,
    "remote/foreign_spelling.py 10": PUBLIC,
    "remote/foreign_spelling.py _BITS": PUBLIC,
    "remote/foreign_spelling.py _EXACT_DIGITS": PUBLIC,
    "remote/foreign_spelling.py _MOST_DAYS": PUBLIC,
    "remote/postgres_catalog.py _MOST_DIGITS": PUBLIC,
    "remote/postgres_catalog.py _OLDEST": PUBLIC,
    "remote/adbc/vendors.py _BIGINT_DIGITS": PUBLIC,
    "remote/asking.py _JOINS_PER_QUERY": PUBLIC,
    "remote/asking.py _PER_QUERY": PUBLIC,
    "remote/spelling.py 65535": PUBLIC,
    "sources/files/likely_writing.py _ODD": OWNER,
    "sources/files/likely_writing.py _ROWS": OWNER,
    "sources/files/sqlite_file.py 38": PUBLIC,
    "sources/files/workbook.py 53": CELL,
    "sources/csv_lines.py LONGEST": CELL,
    "sources/cells/writing.py _MOST_LINES": PUBLIC,
    "sources/files/csv_header.py _LONGEST_HEADER": PUBLIC,
}


def test_every_bound_is_a_threshold_or_harmless() -> None:
    found = {f"{path.relative_to(PACKAGE)} {name}" for path in modules() for name in compared(path)}
    assert sorted(found) == sorted(HARMLESS)


def test_every_threshold_is_read_and_says_why_it_is_harmless() -> None:
    read = {node.value.id for path in modules() for node in ast.walk(tree(path)) if is_threshold(node)}
    assert read == THRESHOLDS.keys()
    for threshold in THRESHOLDS.values():
        assert threshold.of and threshold.below and threshold.above and threshold.agree  # noqa: PT018
        assert threshold.least <= threshold.at <= threshold.most


def modules() -> list[Path]:
    return [path for room in ROOMS for path in sorted((PACKAGE / room).rglob("*.py"))]


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def is_threshold(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "at" and isinstance(node.value, ast.Name)


def compared(path: Path) -> Iterator[str]:
    """Give the module's numbers, and literals above 2, that something is less or more than."""
    module = tree(path)
    constants = {
        name.id
        for node in module.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and any(numbers(node.value))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }
    for node in ast.walk(module):
        if isinstance(node, ast.Compare) and any(
            isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in node.ops
        ):
            yield from (n.id for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in constants)
            yield from (str(number) for number in numbers(node) if abs(number) > 2)


def numbers(node: ast.AST) -> Iterator[float]:
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, int | float) and not isinstance(each.value, bool):
            yield each.value
