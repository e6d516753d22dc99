"""`dpdb demo`: the main job on the bundled real table."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dpdb.doors.cli.answers import AnswerOutput
from dpdb.doors.cli.options import command, quiet_options
from dpdb.errors import SourceError

_PACKAGE = Path(__file__).resolve().parents[3]


def add_demo(commands: Any) -> None:
    """Add `dpdb demo`."""
    parser = command(
        commands, "demo", run, "release how many rows of the bundled hospital table must go", "dpdb demo --epsilon 1"
    )
    parser.add_argument("--epsilon", default="1", metavar="E", help="privacy cost (1)")
    quiet_options(parser)


def run(options: argparse.Namespace) -> None:
    """Release the default measure of the hospital table."""
    from dpdb.doors.cli.session import step_bar
    from dpdb.doors.cli.texts import releases_text
    from dpdb.release import Session

    folder = _bundled_data()
    with (
        AnswerOutput(warn=False) as output,
        Session(
            folder / "hospital.parquet",
            constraints=folder / "hospital.dcs.txt",
            budget=options.epsilon,
            progress=step_bar(options, 5),
        ) as session,
    ):
        releases = [session.dp_inconsistency(epsilon=options.epsilon)]
        output.show(
            "US Hospital Compare: 15 columns, 7 functional dependencies, real errors. Its rows stay private.\n\n"
            f"{releases_text(releases, 'text')}\n"
            "Run it again and the noise differs. `dpdb measure` releases other measures, too. The owner may compare "
            "with:\n"
            f"  dpdb exact {folder / 'hospital.parquet'} --constraints {folder / 'hospital.dcs.txt'} --non-private\n",
            releases,
        )


def _bundled_data() -> Path:
    """Find the data: `dpdb/data` in an installed package, `examples/data` in a checkout."""
    for folder in (_PACKAGE / "data", _PACKAGE.parent / "examples" / "data"):
        if (folder / "hospital.parquet").is_file():
            return folder
    raise SourceError("the bundled hospital table is missing from the installed package")
