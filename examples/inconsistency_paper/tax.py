"""The literature's Tax table, which its authors generate: persons of the United States with their taxes, by chance.

The recipe is public (Bohannon et al. 2007, and the papers after it). A zip code has one city and one state, an area
code one state, a phone one person. Exemptions depend on the state and on who is married or has a child. Within a state
no rate falls while the salary rises. Numbers of states, areas, zip codes, cities and names are those of the published
tables; the words are numbered. All nine rules hold, and the same seed makes the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SEED = 2026
STATES, AREAS, ZIPS, CITIES, SALARIES = 52, 273, 22_362, 11_881, 200
BATCH = 1_000_000


def words(prefix: str, places: np.ndarray) -> pa.Array:
    """Text of each place, from a dictionary."""
    known = pa.array([f"{prefix}{number}" for number in range(int(places.max()) + 1)])
    return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32)), known).cast(pa.string())


def made(rows: int, seed: int) -> Iterator[pa.Table]:
    """Yield persons with areas, zips, salaries and taxes by state, batch after batch."""
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
        yield pa.table(columns)


def write_tax(path: Path, rows: int, seed: int = SEED) -> None:
    """Write a table of `rows` persons; the file appears when it is complete."""
    partial, batches = path.with_suffix(".partial"), made(rows, seed)
    first = next(batches)
    with pq.ParquetWriter(partial, first.schema, compression="zstd") as writer:
        writer.write_table(first)
        for batch in batches:
            writer.write_table(batch)
    partial.rename(path)
