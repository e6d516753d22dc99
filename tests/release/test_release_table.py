"""The Arrow layout of releases holds every field of `Release`, in its order."""

from dataclasses import fields
from pathlib import Path

import dpdb
from dpdb.release.published.release import Release
from dpdb.release.published.release_fields import RELEASE_SCHEMA, release_table


def test_one_column_per_field() -> None:
    assert RELEASE_SCHEMA.names == [field.name for field in fields(Release)]


def test_releases_round_trip(hospital: Path, hospital_constraints: Path) -> None:
    with dpdb.open(hospital, constraints=hospital_constraints) as session:
        releases = session.dp_inconsistency("all", 1.0, where="state = 'AL'")
    assert isinstance(releases, tuple)
    assert [Release(**row) for row in release_table(releases).to_pylist()] == list(releases)
