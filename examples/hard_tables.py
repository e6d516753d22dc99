"""Tables on which a private count of conflicts is hard: a huge clean group, and few violations without an equality."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpdb.owner.dirt import write_noisy

__all__ = ["hard_tables"]

_MOVED = 4_000
_ROWS, _WRONG = 10_000, 50


def hard_tables(data: Path, folder: Path, alpha: float, seed: int) -> Iterator[tuple[str, Path, Path]]:
    """Yield (name, table, constraints): Tax with a huge clean group; order constraints broken far away and nearby."""
    yield "huge clean", _huge_clean_group(data, folder, alpha, seed), data / "tax.dcs.txt"
    rules = folder / "order.dcs.txt"
    rules.write_text("not(t1.a>t2.a&t1.b<t2.b)\n")
    for name, reach in (("order far", None), ("order near", 5)):
        yield name, _order_table(folder / f"{name}.parquet", reach, seed), rules


def _huge_clean_group(data: Path, folder: Path, alpha: float, seed: int) -> Path:
    """Tax with noise, then 4,000 rows that no noise has touched, moved to one new state, zip, city and area code."""
    source, noisy_path = data / "tax.parquet", folder / "tax.parquet"
    write_noisy(source, data / "tax.dcs.txt", noisy_path, "rnoise", alpha=alpha, seed=seed)
    original, noisy = pq.read_table(source), pq.read_table(noisy_path)
    touched = np.zeros(noisy.num_rows, dtype=bool)
    for name in noisy.column_names:
        touched |= np.array(original[name].cast(pa.string())) != np.array(noisy[name].cast(pa.string()))
    moved = np.random.default_rng(seed).choice(np.flatnonzero(~touched), _MOVED, replace=False)
    new = {
        "state": "ZZ",
        "zip": 99_999,
        "city": "NEWTOWN",
        "area_code": 999,
        "child_exemp": 0,
        "single_exemp": 0,
        "rate": 5,
    }
    columns: dict[str, list[object]] = {name: [value] * _MOVED for name, value in new.items()}
    columns["phone"] = list(range(10_000_000, 10_000_000 + _MOVED))  # a key together with the area code
    for name, values in columns.items():
        field = noisy.schema.field(name)
        cells = np.array(noisy[name].to_pylist(), dtype=object)
        cells[moved] = np.array([str(v) if pa.types.is_string(field.type) else v for v in values], dtype=object)
        noisy = noisy.set_column(noisy.schema.get_field_index(name), field, pa.array(cells, type=field.type))
    path = folder / "huge_clean_group.parquet"
    pq.write_table(noisy, path)
    return path


def _order_table(path: Path, reach: int | None, seed: int) -> Path:
    """Two columns that grow together; the b of 50 rows comes from anywhere, or from at most `reach` rows away."""
    draw = np.random.default_rng(seed)
    a, b = (np.sort(draw.uniform(0, 1e5, _ROWS)) for _ in "ab")
    wrong = draw.choice(_ROWS, _WRONG, replace=False)
    away = draw.choice(_ROWS, _WRONG) if reach is None else wrong + draw.integers(-reach, reach + 1, _WRONG)
    b[wrong] = b[np.clip(away, 0, _ROWS - 1)]
    pq.write_table(pa.table({"a": a, "b": b}), path)
    return path
