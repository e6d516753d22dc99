"""The command behind `dpdb noise`: read a source, sample it, make it dirty, write it."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpdb.constraints import ConstraintsLike, load_constraints
from dpdb.database import WRITTEN
from dpdb.engine import TableSettings, TableSpec, arrow_forgets, read_rows, write_rows
from dpdb.errors import ParameterError
from dpdb.files.new_file import new_file
from dpdb.opening import open_local_table
from dpdb.owner.dirt.column import Column
from dpdb.owner.dirt.generators import change_count, conoise, rnoise
from dpdb.owner.dirt.parameters import Purpose, check_count, generator, known_seed
from dpdb.schema import TableSchema
from dpdb.sources import SourceLike


class OutputFile:
    """A new Parquet (.parquet), CSV (.csv) or DuckDB (.duckdb) file, written whole or not at all.

    Parameters
    ----------
    source
        The source of the rows: never overwritten.
    overwrite
        Whether an existing file may be replaced; the source must then be a path or a pyarrow Table, because the
        files that other sources read are unknown.

    Raises
    ------
    ParameterError
        If the ending is unknown, there is no such directory, or a file would be overwritten that must not be.
    """

    def __init__(self, path: str | os.PathLike[str], source: SourceLike, *, overwrite: bool = False) -> None:
        self.path = Path(path)
        self._overwrite = overwrite
        if self.path.suffix.lower() not in WRITTEN:
            raise ParameterError(f"{self.path}: the output file must end in {', '.join(WRITTEN)}")
        if not self.path.parent.is_dir():
            raise ParameterError(f"{self.path}: there is no directory {str(self.path.parent)!r}")
        self._refuse_source(source)
        self._refuse_existing()

    def write(self, rows: pa.Table, types: Mapping[str, str], table: str = "data") -> None:
        """Write the rows in their order; see `write_rows`.

        Parameters
        ----------
        types
            Column name -> SQL type that Arrow does not know and the file gets back.

        Raises
        ------
        EngineError, ParameterError
            If writing fails; then nothing is left behind.
        """
        with new_file(self.path, replace=self._overwrite) as file:
            write_rows(rows, types, file, self.path.suffix.lower(), table)
            self._refuse_existing()

    def _refuse_existing(self) -> None:
        log = self.path.with_name(f"{self.path.name}.wal")
        if self.path.suffix.lower() == ".duckdb" and log.exists():
            raise ParameterError(f"{log} exists: the database is in use or was not closed; name another output file")
        if self.path.is_dir():
            raise ParameterError(f"{self.path} is a directory; name a file")
        if self.path.exists() and not self._overwrite:
            raise ParameterError(f"{self.path} exists; name another output file or allow overwriting")

    def _refuse_source(self, source: SourceLike) -> None:
        if isinstance(source, (str, os.PathLike)):
            files = filter(Path.exists, _files_of(os.fspath(source)))
            if self.path.exists() and any(file.samefile(self.path) for file in files):
                raise ParameterError(f"{self.path} is the source, which is never overwritten; name another output file")
        elif self.path.exists() and not isinstance(source, pa.Table):
            raise ParameterError(f"{self.path} exists and may be what the source reads; name another output file")


def _files_of(path: str) -> Collection[Path]:
    if Path(path).is_dir():
        return list(Path(path).rglob("*"))
    if has_magic(path) and not Path(path).exists():
        return [Path(file) for file in glob(path, recursive=True)]  # noqa: PTH207 - as the source is read
    return [Path(path)]


_DEFAULT_ITERATIONS = 200


@dataclass(frozen=True)
class NoiseSummary:
    """The summary of the written table. For the owner: it has exact counts.

    Attributes
    ----------
    kind : str
        ``"rnoise"`` or ``"conoise"``.
    rows, columns : int
        Size of the table written.
    iterations : int
        Changes made by RNoise, or iterations of CONoise.
    """

    kind: str
    out: str
    seed: int
    rows: int
    columns: int
    constrained_columns: tuple[str, ...]
    iterations: int
    changed_cells: int

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain values."""
        return asdict(self)


def write_noisy(
    source: SourceLike,
    constraints: ConstraintsLike,
    out: str | os.PathLike[str],
    kind: Literal["rnoise", "conoise"],
    *,
    alpha: float | None = None,
    typo: float | None = None,
    skew: float | None = None,
    iterations: int | None = None,
    seed: int | None = None,
    sample: int | None = None,
    table: str | None = None,
    overwrite: bool = False,
    **settings: Unpack[TableSettings],
) -> NoiseSummary:
    """Write a dirty copy of a source to a new file.

    Parameters
    ----------
    source, table, **settings
        See `dpdb.engine.TableSpec`. Only read.
    out : path
        Ends in ``.parquet``, ``.csv`` or ``.duckdb``; a DuckDB file gets one table, named `table` or ``data``.
        Appears only when complete.
    kind : str
        ``"rnoise"`` (takes `alpha`, which it needs, `typo` and `skew`) or ``"conoise"`` (takes `iterations`). None
        is the default that `rnoise` and `conoise` document.
    seed : int, optional
        The same seed and version give the same rows; without one, the summary has the seed that was drawn.
    sample : int, optional
        Take this many random rows first, without replacement and in their order; all rows where there are fewer.
    overwrite : bool
        Whether an existing `out` may be replaced; never the source.

    Returns
    -------
    NoiseSummary

    Raises
    ------
    DpdbError
        `ParameterError`, `SourceError`, `ConstraintSyntaxError`, `UnknownColumnError`, `ConstraintTypeError` before
        anything is written; `EngineError` if writing fails. Then no file is left behind.

    Notes
    -----
    For experiments by the owner: the noise is seeded, protects nobody, and the file has the source's private rows.
    Columns keep their types, except constrained ones of type ENUM, UUID, JSON, BIT or TIME WITH TIME ZONE, which a
    DuckDB file gets as VARCHAR, and UHUGEINT, as DECIMAL: a typo need not be a value of such a type. CSV has no types.
    """
    _refuse_foreign(kind, {"alpha": alpha, "typo": typo, "skew": skew}, {"iterations": iterations})
    wanted = None if sample is None else check_count("sample", sample)
    seed = known_seed(seed)
    target = OutputFile(out, source, overwrite=overwrite)
    # Opening refuses columns that do not compare, as a measurement would.
    spec = TableSpec.of(source, settings, constraints=constraints, table=table).with_assumed_parents()
    with open_local_table(spec) as opened:
        schema, clean = opened.schema, _sampled(read_rows(opened), wanted, seed)
        loaded = load_constraints(constraints, schema.names)
    if kind == "rnoise" and alpha is not None:
        noisy = rnoise(clean, loaded, alpha=alpha, typo=_or(typo, 0.5), skew=_or(skew, 0.0), seed=seed)
        done = change_count(clean, alpha)
    else:
        done = _DEFAULT_ITERATIONS if iterations is None else iterations
        noisy = conoise(clean, loaded, iterations=done, seed=seed)
    named = {name for dc in loaded for name in dc.table_columns}
    target.write(noisy, _types_to_restore(schema, named), "data" if table is None else table.rpartition(".")[2])
    constrained = tuple(name for name in clean.column_names if name in named)
    return NoiseSummary(
        kind=kind,
        out=str(target.path),
        seed=seed,
        rows=clean.num_rows,
        columns=clean.num_columns,
        constrained_columns=constrained,
        iterations=done,
        changed_cells=sum(_differing(Column(clean, name).plain, Column(noisy, name).plain) for name in constrained),
    )


def _refuse_foreign(kind: str, of_rnoise: Mapping[str, object], of_conoise: Mapping[str, object]) -> None:
    if kind not in {"rnoise", "conoise"}:
        raise ParameterError(f"the kind of noise must be 'rnoise' or 'conoise', got {kind!r}")
    if kind == "rnoise" and of_rnoise["alpha"] is None:
        raise ParameterError("rnoise needs alpha, the noise level: the share of all cells that it makes changes for")
    for name, value in (of_conoise if kind == "rnoise" else of_rnoise).items():
        if value is not None:
            raise ParameterError(f"{name} does not apply to {kind}")


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def _types_to_restore(schema: TableSchema, constrained: Collection[str]) -> dict[str, str]:
    """Return the declared types that Arrow does not keep, except those of which a typo need not be a value."""
    return {
        column.name: column.declared_type
        for column in schema.columns
        if arrow_forgets(column.declared_type) and (column.name not in constrained or column.declared_type == "HUGEINT")
    }


def _sampled(table: pa.Table, wanted: int | None, seed: int) -> pa.Table:
    if wanted is None or wanted >= table.num_rows:
        return table
    rows = generator(seed, Purpose.SAMPLE).choice(table.num_rows, wanted, replace=False)
    return table.take(pa.array(np.sort(rows)))


def _differing(before: pa.ChunkedArray, after: pa.ChunkedArray) -> int:
    """Count differences; NULL equals NULL and NaN equals NaN."""
    changed = pc.or_(pc.fill_null(pc.not_equal(before, after), False), pc.xor(before.is_null(), after.is_null()))
    if pa.types.is_floating(before.type):
        both_nan = pc.and_(pc.fill_null(pc.is_nan(before), False), pc.fill_null(pc.is_nan(after), False))
        changed = pc.and_not(changed, both_nan)
    return int(pc.sum(changed).as_py() or 0)
