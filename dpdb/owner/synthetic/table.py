"""`synthesize`: a clean table of a given shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpdb.constraints import DenialConstraint, key_columns
from dpdb.owner.synthetic.codes import ColumnCodes
from dpdb.owner.synthetic.domains import Domain, domain_of
from dpdb.owner.synthetic.families import find_families
from dpdb.owner.synthetic.levels import levels_of

__all__ = ["SyntheticTable", "synthesize"]


@dataclass(frozen=True, eq=False)
class SyntheticTable:
    """A synthetic table.

    Attributes
    ----------
    rows : pyarrow.Table
        The constrained columns.
    distinct : dict
        Column -> the number of values that it may take.
    notes : tuple of str
        Differences from the request, in words.
    """

    rows: pa.Table
    distinct: dict[str, int]
    notes: tuple[str, ...]


def synthesize(
    constraints: Sequence[DenialConstraint],
    types: Mapping[str, str],
    *,
    rows: int,
    distinct: Mapping[str, int],
    usual: int,
    rng: np.random.Generator,
    known: Mapping[str, Domain] = MappingProxyType({}),
) -> SyntheticTable:
    """Make a table whose rows satisfy functional dependencies, keys, order constraints and bounds of single columns.

    Values are spread evenly. Other constraints are ignored, and rows may violate a key whose columns depend on one
    another: check the result.

    Parameters
    ----------
    types : mapping of str to str
        The constrained columns with their SQL types, in the table's order.
    distinct : mapping of str to int
        Numbers of distinct values, by column.
    usual : int
        Number of distinct values of the other columns; more where a key needs more.
    rng
        Seeded by the caller.
    known : mapping of str to Domain
        Values of columns, where they are not the usual ones.

    Raises
    ------
    ParameterError
        If a column of a key has too few values, or the constraints leave a column no value.
    """
    families = find_families(constraints, list(types))
    domains = {name: known.get(name) or domain_of(name, kind, constraints) for name, kind in types.items()}
    levels, notes = levels_of(families, domains, distinct, usual)
    limits = {name: domain.size for name, domain in domains.items() if domain.size is not None}
    draft = ColumnCodes(rows, families, levels, {**limits, **distinct})
    for key in filter(None, map(key_columns, constraints)):
        draft.plan_key(key)
    draft.draw(rng)
    columns = {
        name: domain.column(_codes(draft, name, falling=name in families.falling), draft.count[name])
        for name, domain in domains.items()
    }
    return SyntheticTable(pa.table(columns), {name: draft.count[name] for name in types}, (*families.notes, *notes))


def _codes(draft: ColumnCodes, name: str, *, falling: bool) -> NDArray[np.int64]:
    return draft.count[name] - 1 - draft.codes[name] if falling else draft.codes[name]
