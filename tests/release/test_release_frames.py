"""Releases as frames and pictures: what is published, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from IPython.core.formatters import DisplayFormatter

import dpdb
from dpdb.errors import ParameterError
from dpdb.ledger import Ledger
from dpdb.release import Releases

DATA = Path(__file__).resolve().parents[2] / "examples" / "data"


@pytest.fixture(scope="module")
def found() -> Releases:
    with dpdb.open(DATA / "hospital.parquet", constraints=DATA / "hospital.dcs.txt", budget=5) as session:
        return session.dp_inconsistency("all", epsilon=1)


@pytest.mark.heavy(family="long")
def test_frames_hold_the_fields_of_the_releases(found: Releases) -> None:
    expected = [release.value for release in found]
    assert found.to_arrow().column("value").to_pylist() == expected
    assert found.to_pandas()["value"].tolist() == expected
    assert found.to_polars()["value"].to_list() == expected
    assert found.to_arrow().to_pylist()[0]["measure"] == found[0].to_dict()["measure"]


@pytest.mark.heavy(family="long")
def test_a_picture_shows_values_and_intervals(found: Releases, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    rows = Releases(release for release in found if release.quantity == "rows")
    axes = rows.plot()
    points = next(line for line in axes.lines if line.get_marker() == "o")
    assert list(points.get_xdata()) == [release.value for release in rows]
    bars = [list(line.get_xdata()) for line in axes.lines if len(line.get_xdata()) == 2 and line is not points]
    assert [bar[0] for bar in bars] == [release.lower for release in rows]
    assert [bar[1] for bar, release in zip(bars, rows, strict=True) if release.upper is not None] == [
        release.upper for release in rows if release.upper is not None
    ]
    axes.figure.savefig(tmp_path / "releases.png")
    assert rows[0].plot().get_xlabel() == "rows"


@pytest.mark.heavy(family="long")
def test_a_notebook_shows_a_picture(found: Releases) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    shown, _ = DisplayFormatter().format(found[:1].plot())
    assert shown["image/png"].startswith(b"\x89PNG")


def test_a_picture_of_different_things_is_refused(found: Releases) -> None:
    with pytest.raises(ParameterError, match="count the same"):
        found.plot()
    with pytest.raises(ParameterError, match="one or more releases"):
        Releases().plot()


def test_slices_and_sums_are_releases_with_all_that_these_can_do(found: Releases) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    rows = found[1:]
    assert isinstance(rows, dpdb.Releases)
    assert [release.quantity for release in rows] == ["rows", "rows"]
    for some in (rows, found[::-1][:2], rows + rows, (rows[0],) + rows[1:], sum([rows, rows], ()), found[:0]):  # noqa: RUF005
        assert isinstance(some, dpdb.Releases)
        values = [release.value for release in some]
        assert some.to_arrow()["value"].to_pylist() == some.to_polars()["value"].to_list() == values
        assert some.to_pandas()["value"].tolist() == values
        if values:
            assert some._repr_html_().count("<tr>") == 1 + len(values)
            assert len(some.plot().get_yticks()) == len(values)
    assert isinstance(found[0], dpdb.Release)
    assert type(rows + (1,)) is tuple  # noqa: RUF005
    with pytest.raises(TypeError):
        _ = rows + list(rows)  # type: ignore[operator]


@pytest.mark.heavy(family="long")
def test_every_verb_with_several_answers_gives_releases(tmp_path: Path) -> None:
    data, rules = DATA / "hospital.parquet", DATA / "hospital.dcs.txt"
    keys = {"by": "state", "keys": ["AL", "AK"]}
    Ledger.create(tmp_path / "t.ledger", 9).close()
    with dpdb.open(data, constraints=rules, ledger=tmp_path / "t.ledger") as session:
        several = [
            session.dp_inconsistency("repair", 0.5, **keys),
            session.dp_inconsistency("repair", 0.5, **keys, run_id="x"),
            session.dp_inconsistency("repair", 0.5, **keys, run_id="x"),  # as recorded
            session.dp_inconsistency("repair", 0.5, each_constraint=True),
            session.dp_count(0.5, **keys),
            dpdb.dp_inconsistency(data, rules, "repair", 1, **keys),
        ]
    assert all(isinstance(some[1:], Releases) for some in several)
