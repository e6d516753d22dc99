"""`dpdb demo`: the main job on the bundled real table."""

from __future__ import annotations

import argparse
from pathlib import Path

from dpdb.doors.cli.answers import AnswerOutput
from dpdb.doors.cli.commands.measure import releases_text
from dpdb.doors.cli.progress import step_bar
from dpdb.errors import SourceError
from dpdb.release import Session

__all__ = ["run_demo"]

_PACKAGE = Path(__file__).resolve().parents[3]


def run_demo(options: argparse.Namespace) -> int:
    """Release the three measures of the hospital table."""
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
        releases = session.dp_inconsistency("all", options.epsilon)
        output.show(
            "US Hospital Compare: 15 columns, 7 functional dependencies, real errors. Its rows stay private.\n\n"
            f"{releases_text(releases, 'text')}\n"
            "Run it again and the noise differs; the owner may compare with:\n"
            f"  dpdb exact {folder / 'hospital.parquet'} --constraints {folder / 'hospital.dcs.txt'} --non-private\n",
            releases,
        )
    return 0


def _bundled_data() -> Path:
    """Find the data: `dpdb/data` in an installed package, `examples/data` in a checkout."""
    for folder in (_PACKAGE / "data", _PACKAGE.parent / "examples" / "data"):
        if (folder / "hospital.parquet").is_file():
            return folder
    raise SourceError("the bundled hospital table is missing from the installed package")
