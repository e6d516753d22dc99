"""Make a folder with the five data sets of the experiments and their rules, from the bundled tables and by chance.

    python examples/make_data.py made                  # Tax with a million rows, Flight with 500,000
    python examples/make_data.py made --rows 100000    # both smaller

`accuracy.py`, `interval_coverage.py`, the figures of paper A (`--data made`) and the benchmarks read such a folder.
Hospital, Flight and Stock are the bundled real tables, and the large Flight is rows of the small one, drawn again. Tax
and Adult are made with the domains of the literature's tables, so figures differ from those of the real ones. Every
table keeps its rules; the same seed makes the same tables.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpdb.constraints import functional_dependency, load_constraints

EXAMPLES = Path(__file__).resolve().parent
BUNDLED = EXAMPLES / "inconsistency_paper" / "data"
RULES = {
    "tax": """\
not(t1.area_code=t2.area_code&t1.phone=t2.phone)
not(t1.city!=t2.city&t1.zip=t2.zip)
not(t1.area_code=t2.area_code&t1.state!=t2.state)
not(t1.state!=t2.state&t1.zip=t2.zip)
not(t1.state=t2.state&t1.has_child=t2.has_child&t1.child_exemp!=t2.child_exemp)
not(t1.state=t2.state&t1.marital_status=t2.marital_status&t1.single_exemp!=t2.single_exemp)
not(t1.state=t2.state&t1.salary=t2.salary&t1.rate!=t2.rate)
not(t1.state=t2.state&t1.salary>t2.salary&t1.rate<t2.rate)
not(t1.state=t2.state&t1.salary<t2.salary&t1.rate>t2.rate)
""",
    "adult": """\
not(t1.education_num!=t2.education_num&t1.education=t2.education)
not(t1.education_num=t2.education_num&t1.education!=t2.education)
not(t1.capital_gain<t2.capital_gain&t1.capital_loss<t2.capital_loss)
""",
}
SEED = 2026
STATES, AREAS, ZIPS, CITIES, SALARIES = 52, 273, 22_362, 11_881, 200
BATCH = 1_000_000
Write = Callable[[pa.Table], None]


def words(prefix: str, places: np.ndarray) -> pa.Array:
    """Text of each place, from a dictionary."""
    known = pa.array([f"{prefix}{number}" for number in range(int(places.max()) + 1)])
    return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32)), known).cast(pa.string())


def make_tax(rows: int, seed: int, write: Write) -> None:
    """Persons with areas, zips, salaries and taxes by state: no rate falls while the salary rises."""
    dice = np.random.default_rng([seed, 1])
    zip_state, zip_city = dice.integers(0, STATES, ZIPS), dice.integers(0, CITIES, ZIPS)
    areas = [np.flatnonzero(np.arange(AREAS) % STATES == state) for state in range(STATES)]
    rates = np.sort(dice.uniform(0, 9, (STATES, SALARIES)).round(4), axis=1)
    exemptions = dice.integers(0, 28, (3, STATES)) * 250
    for begin in range(0, rows, BATCH):
        many = min(BATCH, rows - begin)
        number, zips = np.arange(begin, begin + many), dice.integers(0, ZIPS, many)
        state, salary = zip_state[zips], dice.integers(0, SALARIES, many)
        child, single = dice.random(many) < 0.5, dice.random(many) < 0.5
        area = np.empty(many, np.int64)
        for each, codes in enumerate(areas):
            here = state == each
            area[here] = 201 + dice.choice(codes, here.sum())
        columns = {
            "fname": words("first ", dice.integers(0, 6_274, many)),
            "lname": words("last ", dice.integers(0, 6_305, many)),
            "gender": pa.array(np.where(dice.random(many) < 0.5, "M", "F")),
            "area_code": area,
            "phone": pa.array([f"{n // 10_000:03d}-{n % 10_000:04d}" for n in number.tolist()]),  # one of each row
            "city": words("CITY ", zip_city[zips]),
            "state": words("S", state),
            "zip": zips + 10_000,
            "marital_status": pa.array(np.where(single, "S", "M")),
            "has_child": pa.array(np.where(child, "Y", "N")),
            "salary": 500 * (salary + 1),
            "rate": rates[state, salary],
            "single_exemp": np.where(single, exemptions[0, state], 0),
            "married_exemp": np.where(single, 0, exemptions[1, state]),
            "child_exemp": np.where(child, exemptions[2, state], 0),
        }
        write(pa.table(columns))


def make_adult(rows: int, seed: int, write: Write) -> None:
    """Persons with one number for each education; nobody has a gain and a loss."""
    dice = np.random.default_rng([seed, 2])
    education, kind = dice.integers(0, 16, rows), dice.random(rows)
    gain, loss = dice.integers(1, 119, rows) * 840, dice.integers(1, 92, rows) * 47
    many = {"workclass": 9, "marital_status": 7, "occupation": 15, "relationship": 6, "race": 5, "native_country": 42}
    columns = {
        "age": dice.integers(17, 90, rows),
        "fnlwgt": dice.integers(12_285, 1_484_706, rows),
        "education": words("education ", education),
        "education_num": education + 1,
        **{name: words(f"{name} ", dice.integers(0, values, rows)) for name, values in many.items()},
        "sex": pa.array(np.where(dice.random(rows) < 0.67, "Male", "Female")),
        "capital_gain": np.where(kind < 0.08, gain, 0),
        "capital_loss": np.where(kind > 0.95, loss, 0),
        "hours_per_week": dice.integers(1, 100, rows),
        "income": pa.array(np.where(dice.random(rows) < 0.24, ">50K", "<=50K")),
    }
    write(pa.table(columns))


def without_conflicts(table: pa.Table, rules: Path) -> pa.Table:
    """Leave out every row of a group in which a dependency is broken (103 rows of Hospital)."""
    known = [functional_dependency(dc) for dc in load_constraints(rules, table.column_names)]
    bad = np.zeros(table.num_rows, np.bool_)
    for rule in known:
        assert rule is not None, "only dependencies are looked at"
        left = list(zip(*(table.column(name).to_pylist() for name in rule.lhs), strict=True))
        right, seen = table.column(rule.rhs).to_pylist(), {}
        for key, value in zip(left, right, strict=True):
            seen.setdefault(key, set()).add(value)
        bad |= np.array([len(seen[key]) > 1 for key in left])
    return table.filter(pa.array(~bad))


def write_parquet(path: Path, make: Callable[[int, int, Write], None], rows: int, seed: int) -> None:
    """Write batch after batch; the file appears when it is complete."""
    partial, writers = path.with_suffix(".partial"), []

    def write(table: pa.Table) -> None:
        if not writers:
            writers.append(pq.ParquetWriter(partial, table.schema, compression="zstd"))
        writers[0].write_table(table)

    make(rows, seed, write)
    writers[0].close()
    partial.rename(path)


def make_data(folder: Path, rows: int = 1_000_000, seed: int = SEED) -> None:
    """Make the folder; what is there already stays."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in RULES.items():
        (folder / f"{name}.dcs.txt").write_text(text, encoding="utf-8")
    for name in ("flight", "stock"):
        for file in (f"{name}.parquet", f"{name}.dcs.txt"):
            shutil.copyfile(BUNDLED / file, folder / file)
    for file in ("hospital.parquet", "hospital.dcs.txt"):
        shutil.copyfile(EXAMPLES / "data" / file, folder / file)
    table = pq.read_table(folder / "hospital.parquet")
    pq.write_table(without_conflicts(table, folder / "hospital.dcs.txt"), folder / "hospital_consistent.parquet")
    for name, make, many in (
        ("tax", make_tax, min(rows, 10_000)),
        ("adult", make_adult, min(rows, 32_561)),
        ("tax_synthetic", make_tax, rows),
    ):
        if not (folder / f"{name}.parquet").exists():
            write_parquet(folder / f"{name}.parquet", make, many, seed)
    if not (folder / "flight_synthetic.parquet").exists():
        small = pq.read_table(folder / "flight.parquet")
        drawn = np.random.default_rng([seed, 3]).integers(0, small.num_rows, min(rows, 500_000))
        pq.write_table(small.take(drawn), folder / "flight_synthetic.parquet", compression="zstd")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the large Tax (a million)")
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    if given.rows < 1 or given.seed < 0:
        sys.exit("--rows must be at least 1, and --seed at least 0")
    make_data(given.folder, given.rows, given.seed)
