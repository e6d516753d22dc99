"""`dpdb demo`: the main job on the bundled real table, told stage by stage while it runs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dpdb.doors.cli.answers import AnswerOutput
from dpdb.doors.cli.options import command, quiet_options
from dpdb.doors.cli.streams import tell
from dpdb.errors import SourceError
from dpdb.settings import Progress, no_progress

_PACKAGE = Path(__file__).resolve().parents[3]

# What is said when a release reports a step; of the private rows nothing.
_STAGES = {
    "opening the table": ["rule           zip_code -> city and six more are compiled into trees of SQL by sqlglot"],
    "joining conflicts": [
        "self-join      each rule joins the table with itself inside DuckDB; a pair counts at its first rule",
        "conflict_edge  the pairs become a table in that database, in one fixed order of rows",
    ],
    "drawing noise": [
        "ledger         the budget is debited, before anything is drawn",
        "ordered scan   the edges stream once, in that order, from the database into Python",
        "statistics     a fractional vertex cover of them: so many rows must go, at least",
        "noise          discrete Laplace, drawn by OpenDP; only now there is something to show",
    ],
}


def add_demo(commands: Any) -> None:
    """Add `dpdb demo`."""
    text = "release how many rows of the bundled hospital table must go, and tell how"
    parser = command(commands, "demo", run, text, "dpdb demo --epsilon 1")
    parser.add_argument("--epsilon", default="1", metavar="E", help="privacy cost (1)")
    quiet_options(parser)


def run(options: argparse.Namespace) -> None:
    """Release the default measure of the hospital table, from the table of all its conflicts."""
    from dpdb.doors.cli.texts import releases_text
    from dpdb.release import Session

    folder = _bundled_data()
    with (
        AnswerOutput(warn=False) as output,
        Session(
            folder / "hospital.parquet",
            constraints=folder / "hospital.dcs.txt",
            budget=options.epsilon,
            edges="table",
            progress=no_progress if options.quiet else _stages(),
        ) as session,
    ):
        releases = [session.dp_inconsistency(epsilon=options.epsilon)]
        output.show(
            "US Hospital Compare: 15 columns, 7 functional dependencies, real errors.\n\n"
            f"{releases_text(releases, 'text')}\n"
            "Run it again and the noise differs. `dpdb measure` releases other measures, too. This table is public, so "
            "anybody\nmay look at the truth behind it:\n"
            f"  dpdb exact {folder / 'hospital.parquet'} --constraints {folder / 'hospital.dcs.txt'} --non-private\n",
            releases,
        )


def _stages() -> Progress:
    """Return a reporter that says one line for each stage, once."""
    told: set[str] = set()

    def report(step: str) -> None:
        if step not in told:
            told.add(step)
            for line in _STAGES.get(step, ()):
                tell(f"{line}\n")

    return report


def _bundled_data() -> Path:
    """Find the data: `dpdb/data` in an installed package, `examples/data` in a checkout."""
    for folder in (_PACKAGE / "data", _PACKAGE.parent / "examples" / "data"):
        if (folder / "hospital.parquet").is_file():
            return folder
    raise SourceError("the bundled hospital table is missing from the installed package")
