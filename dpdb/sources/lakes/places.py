"""What a path tells of a lake's table."""

from __future__ import annotations

from pathlib import Path

from dpdb.sources.files import Files

__all__ = ["ICEBERG", "lake_table"]

ICEBERG = "iceberg:"


def lake_table(place: str) -> Files | None:
    """Return what a path names if it is a table of a lake, whose library finds its files; else None.

    That is a folder with ``_delta_log``, a folder whose ``metadata/version-hint.text`` tells the current version, a
    file ``*.metadata.json``, or ``iceberg:catalog.namespace.table``. No library reads a lake in place: its rows are
    copied, and what a ledger compares are the rows, not their files, so that compaction changes nothing.
    """
    folder = Path(place)
    if (
        place.startswith(ICEBERG)
        or place.endswith(".metadata.json")
        or (folder / "metadata/version-hint.text").exists()
    ):
        return Files("iceberg", place, (place,), is_fetched=True)
    return Files("delta", place, (place,), is_fetched=True) if (folder / "_delta_log").is_dir() else None
