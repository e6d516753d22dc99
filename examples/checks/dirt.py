"""A table that gets dirtier: what goes wrong with it, by a seeded schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

__all__ = ["Dirt", "Fault", "schedule"]

LOADS = (("phone_number", None), ("address", "swapped"), ("measure_name", "swapped"), ("Alaska", "lost"))
DRIFTS = (("hospital_type", "swapped"), ("city", "lower"))
SLIPS = (("zip_code", 99), ("hospital_owner", None), ("provider_number", "1234567"))


@dataclass(frozen=True)
class Fault:
    """From `day` on, `first` cells of a column are wrong, and `daily` more on each later day."""

    column: str
    wrong: object
    day: int
    first: int
    daily: int

    def rows(self, day: int) -> int:
        """Return how many cells are wrong on a day."""
        return 0 if day < self.day else self.first + self.daily * (day - self.day)

    @property
    def words(self) -> str:
        what = f"{self.first} rows" if self.first else "from 0 rows on"
        return f"day {self.day}: {self.column}, {what}{f', {self.daily} more each day' if self.daily else ''}"


def schedule(rng: np.random.Generator, days: int) -> list[Fault]:
    """Draw the days, sizes and paces of all faults."""

    def day() -> int:
        return int(rng.integers(days // 20 + 1, days - days // 10))

    loads = [Fault(column, wrong, day(), int(rng.integers(150, 601)), 0) for column, wrong in LOADS]
    drifts = [Fault(column, wrong, day(), 0, int(rng.integers(1, 4))) for column, wrong in DRIFTS]
    return [*loads, *drifts, *(Fault(column, wrong, day(), int(rng.integers(3, 16)), 0) for column, wrong in SLIPS)]


class Dirt:
    """A clean table and its faults; each has rows of its own order, so later days hold earlier days' errors."""

    def __init__(self, clean: pa.Table, faults: Sequence[Fault], rng: np.random.Generator) -> None:
        self._clean, self._values = clean, {name: clean[name].to_pylist() for name in clean.column_names}
        self._faults = [
            (fault, rng.permutation(clean.num_rows).tolist(), rng.permutation(clean.num_rows).tolist())
            for fault in faults
        ]

    def after(self, day: int) -> pa.Table:
        """Return the table of a day."""
        columns, lost = {}, set[int]()
        for fault, order, others in self._faults:
            if fault.column == "Alaska":
                state = self._values["state"]
                lost.update([row for row in order if state[row] == "AK"][: fault.rows(day)])
                continue
            clean = self._values[fault.column]
            values = columns.setdefault(fault.column, list(clean))
            for row, other in zip(order[: fault.rows(day)], others, strict=False):
                values[row] = {"swapped": clean[other], "lower": str(clean[row]).lower()}.get(fault.wrong, fault.wrong)
        table = self._clean
        for name, values in columns.items():
            place = table.schema.get_field_index(name)
            table = table.set_column(place, pa.field(name, table.schema.field(name).type), pa.array(values))
        return table.filter(pa.array([row not in lost for row in range(table.num_rows)])) if lost else table
