"""The scripts behind paper A's figures on tiny bundled tables, and the whole --quick set under `slow`.

Of the scripts that take longest a fifth runs by default, by the commit (`case_share`).
"""

from __future__ import annotations

import csv
import importlib.util
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from case_share import fifth

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "inconsistency_paper"
SCRIPTS = [*(f"table_{number}" for number in range(1, 6)), *(f"figure_{number}" for number in range(3, 10))]
LONG = ("table_1", "figure_4", "figure_6", "figure_7", "figure_8")
CHOSEN = [name for name in SCRIPTS if name not in LONG or name in fifth(LONG)]
TINY = (
    "import sys; sys.modules['matplotlib'] = None; sys.path.insert(0, sys.argv[1]); import common;"
    "common.FULL = common.Scale(rows=200, levels=2, tables=1, releases=2, largest=100, repeats=1, samples=1,"
    " constraint_step=12);"
    "import estimate; estimate._SAMPLED_RELEASES = 1; import run_all;"
    "run_all.SCRIPTS = tuple(name for name in run_all.SCRIPTS if name in sys.argv[2].split());"
    "run_all.main(sys.argv[3:])"
)


def run(*program: str, timeout: int = 300) -> str:
    """Run a program with the checkout on its path and return what it printed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, *program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=timeout)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The output folder and what was printed: 200 rows of each bundled data set, without matplotlib."""
    folder = tmp_path_factory.mktemp("paper_a")
    shown = run("-c", TINY, str(FOLDER), " ".join(CHOSEN), str(folder / "out"))
    return folder / "out", shown


@pytest.mark.heavy
@pytest.mark.parametrize("name", CHOSEN)
def test_each_script_writes_its_table(tiny: tuple[Path, str], name: str) -> None:
    out, shown = tiny
    assert rows_of(out / f"{name}.csv")
    assert f"no {name}.png: matplotlib is not installed" in shown


def test_the_full_form_says_how_long_it_will_take(tiny: tuple[Path, str]) -> None:
    assert "this will take about" in tiny[1]


def test_all_five_data_sets_are_in_a_clone(tiny: tuple[Path, str]) -> None:
    out, shown = tiny
    assert "data sets: stock (stock.parquet), tax (tax_made_10000.parquet), hospital (hospital.parquet)" in shown
    for name in {"table_1", "table_5", "figure_3", "figure_5", "figure_8"} & set(CHOSEN):
        assert {row["data"] for row in rows_of(out / f"{name}.csv")} == {"stock", "tax", "hospital", "flight", "adult"}


def test_lists_what_is_not_confirmed(tiny: tuple[Path, str]) -> None:
    out, shown = tiny
    verdicts = {row["place"]: row["confirmed"] for row in rows_of(out / "statements.csv")}
    assert {place for place in ("Lemma 1", "Lemma 2", "Example 4", "Theorem 2") if verdicts[place] == "False"} == {
        "Lemma 1",
        "Lemma 2",
        "Example 4",
        "Theorem 2",
    }
    assert verdicts["Table 3"] == "True"
    unconfirmed = shown.partition("== statements of the paper that this run does not confirm ==")[2]
    assert "theta 1: change 2, theta 2: change 3" in unconfirmed


def test_baselines_and_all_registered_mechanisms_are_compared(tiny: tuple[Path, str]) -> None:
    from dpdb.measures.registry import measure_named

    names = {row["mechanism"] for row in rows_of(tiny[0] / "figure_5.csv") if row["measure"] == "problematic"}
    # every rule of these data sets is over two rows and none is a key, so what counts such rules has no say here
    over_pairs = {one.name for one in measure_named("problematic").mechanisms if not one.is_default_where_it_applies}
    assert names == {*over_pairs, "baseline_true"}


def test_the_bound_holds_with_the_missing_tail(tiny: tuple[Path, str]) -> None:
    rows = rows_of(tiny[0] / "figure_9.csv")
    assert any(float(row["exceeds_printed"]) > float(row["beta"]) for row in rows)
    assert all(float(row["exceeds_corrected"]) <= float(row["beta"]) for row in rows)
    for row in rows:
        if row["epsilon1"] == row["epsilon2"] == "1":  # |Theta| = 3, theta_max = 3, the best quality is -2 - sqrt 2
            expected = 2 + math.sqrt(2) + 6 * math.log(6 / float(row["beta"]))
            assert float(row["printed_bound"]) == pytest.approx(expected, rel=1e-4)


def test_worked_numbers(tiny: tuple[Path, str]) -> None:
    out, _ = tiny
    assert [row["n_5"] for row in rows_of(out / "table_2.csv")] == ["1", "4", "5", "3", "1", "1"]
    assert [float(row["quality"]) for row in rows_of(out / "table_3.csv")] == pytest.approx(
        [-2 - math.sqrt(2), -1 - 2 * math.sqrt(2), -3 * math.sqrt(2)], rel=1e-5
    )
    chances = [float(row["algorithm"]) for row in rows_of(out / "table_4.csv")]
    assert [sum(chances[k : k + 3]) for k in (0, 3, 6)] == pytest.approx([1, 1, 1], rel=1e-4)


@pytest.mark.heavy(family="alone")
def test_draws_a_picture(tmp_path: Path) -> None:
    if importlib.util.find_spec("matplotlib") is None:
        pytest.skip("matplotlib is not installed (extra `figures`)")
    run(str(FOLDER / "figure_9.py"), str(tmp_path))
    assert (tmp_path / "figure_9.png").read_bytes().startswith(b"\x89PNG")


LOOKS = (
    "import sys; sys.path.insert(0, sys.argv[1]); import common, styles; from pathlib import Path\n"
    "from measuring import BY_NAME\n"
    "names = sorted({m.name for k in ('problematic', 'minimal_inconsistency') for m in BY_NAME[k].mechanisms})\n"
    "own = [name for name in names if not styles.is_of_the_paper(name)]\n"
    "print(len(own), len({c for c, _, _ in styles.OWN}), len({m for _, _, m in styles.OWN}), len(styles.OWN))\n"
    "def draw(picture, axes):\n"
    "    for number in range(12):\n"
    "        axes[0, 0].plot([1, 2], [number, 1], label=f'a strategy of many words, number {number}')\n"
    "    common.shared_legend(picture, axes, 4)\n"
    "    (legend,) = picture.legends\n"
    "    print(legend.get_window_extent(picture.canvas.get_renderer()).width, picture.bbox.width)\n"
    "for columns in (1, 2, 5):\n"
    "    common.figure(Path(sys.argv[2]) / 'it.png', draw, 1, columns, size=(3.1, 2.9))"
)


@pytest.mark.heavy(family="long")
def test_lines_have_looks_of_their_own_and_legends_fit(tmp_path: Path) -> None:
    """Nine grey lines shared four markers, and a legend of Figure 5 was cut on both sides."""
    if importlib.util.find_spec("matplotlib") is None:
        pytest.skip("matplotlib is not installed (extra `figures`)")
    first, *drawn = run("-c", LOOKS, str(FOLDER), str(tmp_path)).splitlines()
    own, colours, markers, looks = map(int, first.split())
    assert own - 3 <= looks == colours == markers  # the default and two for other rules are not drawn
    sizes = [line.split() for line in drawn if not line.startswith("wrote")]
    assert [float(legend) < float(picture) for legend, picture in sizes] == [True] * 3


@pytest.mark.slow
def test_the_quick_set(tmp_path: Path) -> None:
    shown = run(str(FOLDER / "run_all.py"), str(tmp_path), "--quick", timeout=900)
    assert "all done" in shown
    for name in SCRIPTS:
        assert rows_of(tmp_path / f"{name}.csv")
        if importlib.util.find_spec("matplotlib") is not None:
            assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    # Algorithm 5 counts both ends of every edge it takes: at most twice the minimum vertex cover, here above 100. The
    # mean of 20 draws of Laplace noise of scale 2 exceeds 5 with a probability below 1e-8.
    greedy = [
        row for row in rows_of(tmp_path / "figure_3.csv") if row["mechanism"] == "greedy" and row["data"] != "stock"
    ]
    assert all(0.5 < float(row["error"]) <= 1.05 for row in greedy)
