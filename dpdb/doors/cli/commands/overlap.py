"""`dpdb overlap`: the joint cost of a file of WHERE clauses or counting queries (paper B)."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.options import command, csv_schema, format_option
from dpdb.doors.cli.parser import positive
from dpdb.doors.cli.streams import read_input, show
from dpdb.errors import ParameterError
from dpdb.files.bounded_file import bounded_bytes

if TYPE_CHECKING:
    from dpdb.overlap import OverlapReport

_LARGEST = 16 << 20
_MOST_NAMED = 12
_MOST_NOTES = 20


def add_overlap(commands: Any) -> None:
    """Add `dpdb overlap`."""
    text = "bound what a set of WHERE clauses or counting queries costs together; opens no table, spends nothing"
    example = "dpdb overlap queries.sql --schema 'age INTEGER' --weights 5,5,10 --format json"
    parser = command(commands, "overlap", run, text, example)
    parser.add_argument(
        "file", metavar="FILE.sql", help="one WHERE clause or counting query per line; - reads standard input"
    )
    parser.add_argument(
        "--weights", metavar="W,W,...", help="whole-number charge per query, or a file of them (1 each)"
    )
    parser.add_argument(
        "--method",
        default="auto",
        metavar="M",
        help="auto, or one of paper B's: clique, clique_overlap, dsatur, hypergraph (auto)",
    )
    parser.add_argument(
        "--deadline", metavar="S", type=positive, default=10.0, help="seconds after which the search stops (10)"
    )
    columns = "all columns that the queries name, with types: 'age INTEGER, day DATE'"
    parser.add_argument("--schema", required=True, metavar="COLS", harmless=True, help=columns)
    format_option(parser)


def run(options: argparse.Namespace) -> None:
    """Read the queries, bound their joint cost, print it; no table is opened and nothing is spent."""
    from dpdb.overlap import overlap_report

    report = overlap_report(
        _lines(options.file),
        _weights(options.weights),
        method=options.method,
        deadline=options.deadline,
        types=csv_schema(options) or {},
    )
    show(json.dumps(report.to_dict(), indent=2) if options.format == "json" else _in_words(report))


def _lines(name: str) -> list[str]:
    return (read_input(_LARGEST) if name == "-" else _text(name)).splitlines()


def _text(name: str) -> str:
    try:
        return bounded_bytes(Path(name), _LARGEST, "one WHERE clause or counting query per line").decode("utf-8-sig")
    except OSError as error:
        raise ParameterError(f"{name}: {error.strerror or 'cannot be read'}") from None
    except UnicodeDecodeError:
        raise ParameterError(f"{name} is not UTF-8 text; give one WHERE clause or counting query per line") from None


def _weights(given: str | None) -> list[int] | None:
    """Read weights from `W,W,...`, or from a file with commas or white space between them."""
    if given is None:
        return None
    text = _text(given) if Path(given).is_file() else given
    weights = []
    for word in text.replace(",", " ").split():
        if not (word.isascii() and word.isdigit()):
            raise ParameterError(
                f"--weights: {word!r} is neither a whole number of at least 0 nor a file; "
                "give charges in whole units, such as thousandths of epsilon"
            )
        weights.append(int(word))
    return weights


def _in_words(report: OverlapReport) -> str:
    charge = "" if report.total == report.queries else f" with a total charge of {report.total:,}"
    reached = "exact" if report.optimal else f"at least {report.lower:,}; charge the upper bound"
    saved = report.noise_saved
    lines = [
        f"queries          {report.queries:,}{charge}",
        f"maximum overlap  {report.upper:,} ({reached})",
        f"utility gain     {report.utility_gain:.1%} (1 - {report.upper:,} / {report.total:,})",
        f"noise saved      {saved['laplace']:.1%} Laplace, {saved['gaussian']:.1%} Gaussian, at equal budget",
        f"worst row        {report.witness}",
        f"covered by       {_named(report.witness_queries)}",
        f"method           {report.method}, {report.seconds:.3f} s",
        "neighbours       tables that differ by one added or removed row; double the overlap for a replaced row",
    ]
    lines += [f"note             {note}" for note in report.notes[:_MOST_NOTES]]
    if len(report.notes) > _MOST_NOTES:
        lines.append(f"note             {len(report.notes) - _MOST_NOTES} more; --format json has all")
    return "\n".join(lines)


def _named(queries: tuple[int, ...]) -> str:
    if not queries:
        return "no query"
    words = ", ".join(str(query) for query in queries[:_MOST_NAMED])
    more = len(queries) - _MOST_NAMED
    kind = "query" if len(queries) == 1 else "queries"
    return f"{kind} {words}" + (f" and {more:,} more" if more > 0 else "")
