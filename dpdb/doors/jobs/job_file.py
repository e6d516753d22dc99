"""The job file: TOML to frozen values. Everything is checked here or by `plan_job`, before anything is spent.

Paths are relative to the job file's folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from dpdb.doors.jobs.alert import ALERT_KEYS, Alert, read_alert
from dpdb.doors.jobs.diagnoses.asked import JobDiagnosis, read_diagnosis
from dpdb.doors.jobs.job_check import JobCheck, read_check
from dpdb.doors.jobs.placeholders import fill, placeholders
from dpdb.doors.jobs.run_date import date_in
from dpdb.doors.jobs.table_keys import TABLE_KEYS, existing_file, read_table
from dpdb.doors.jobs.toml_keys import TomlKeys, explained
from dpdb.engine import TableSpec
from dpdb.errors import ParameterError
from dpdb.files.bounded_file import bounded_bytes, toml_values
from dpdb.release import COUNT, OPTIONS, Ask, Gate, Kind, parse_gate

__all__ = ["Job", "JobRelease", "filled_job", "ledger_ask", "ledger_run", "load_job"]

_JOB_KEYS = (
    "name", *TABLE_KEYS, "ledger", "results", "results_table", "receipt", "receipt_key", "who",
    "new_epochs", "alert", "release", "check", "diagnose",
)  # fmt: skip
# Options of a release in a job file: the run id comes with the run, and jobs pay in epsilon.
_ASKED = tuple(name for name in OPTIONS if name not in {"rho", "run_id"})
_RELEASE_KEYS = ("name", *_ASKED, "gate", "warn")
_LARGEST = 1 << 20
_MOST_PARTS = 1_000

# The theta of a release that uses the one of its job's earlier runs.
_KEEP = "keep"


@dataclass(frozen=True)
class JobRelease:
    """One `[[release]]` of a job.

    Attributes
    ----------
    name : str
    ask : Ask
        The request, without the run id.
    gates : tuple of Gate
        Gates, which fail the run, and warnings, which are only printed and sent.
    keeps_theta : bool
        Whether the release uses the theta of an earlier run, which `with_kept_thetas` finds.
    where_template : str or None
        The `where` of the file, if it has placeholders; see `filled_job`.
    """

    name: str
    ask: Ask
    gates: tuple[Gate, ...]
    keeps_theta: bool = False
    where_template: str | None = None


@dataclass(frozen=True)
class Job:
    """A job file, read.

    Attributes
    ----------
    table : TableSpec
        The source and the unit of protection.
    results, results_table
        A DuckDB file and its table, or a folder of Parquet files.
    receipt, receipt_key
        The file that collects the receipts of the job's releases, checks and diagnoses, and the private key that signs
        them; both or neither.
    new_epochs
        The owner's word that a source whose rows have changed is the same table: a run may open an epoch for them.
    """

    path: Path
    name: str
    table: TableSpec
    ledger: Path
    results: Path
    results_table: str | None
    releases: tuple[JobRelease, ...]
    checks: tuple[JobCheck, ...] = ()
    diagnoses: tuple[JobDiagnosis, ...] = ()
    alert: Alert | None = None
    who: str | None = None
    new_epochs: bool = False
    receipt: Path | None = None
    receipt_key: Path | None = None


def load_job(path: str | Path) -> Job:
    """Read a job file.

    Raises
    ------
    ParameterError
        The file cannot be read or is not TOML, a key is missing, unknown or of another type, or a file that it names
        does not exist; the message names the key, its table and the nearest known key.
    """
    path = Path(path)
    keys = TomlKeys(_toml(path), str(path), _JOB_KEYS)
    folder = path.parent
    tables = {kind: keys.tables(kind) for kind in ("release", "check", "diagnose")}
    if not any(tables.values()):
        raise ParameterError(f"{path}: there is no [[release]], [[check]] or [[diagnose]]; a job needs at least one")
    for kind, found in tables.items():
        if len(found) > _MOST_PARTS:
            raise ParameterError(f"{path}: {len(found):,} [[{kind}]]; a job has at most {_MOST_PARTS:,}: split it")
    releases = tuple(_release(path, *each) for each in _placed(path, "release", tables["release"]))
    checks = tuple(read_check(path, *each) for each in _placed(path, "check", tables["check"]))
    diagnoses = tuple(read_diagnosis(path, *each) for each in _placed(path, "diagnose", tables["diagnose"]))
    kinds: dict[str, str] = {}
    named = (("release", releases), ("check", checks), ("diagnose", diagnoses))
    for kind, name in ((kind, part.name) for kind, parts in named for part in parts):
        if name in kinds:
            two = f"two [[{kind}]]" if kinds[name] == kind else f"a [[{kinds[name]}]] and a [[{kind}]]"
            raise ParameterError(f"{path}: {two} have the name {name!r}; give each its own")
        kinds[name] = kind
    return Job(
        path=path,
        name=keys.name_of_part(),
        table=read_table(keys, folder, path, needs_rules=bool(releases or diagnoses)),
        ledger=existing_file(
            keys,
            folder / keys.required_text("ledger", "only a ledger remembers what a run has published and spent"),
            "ledger",
            lambda missing: f"; make it once with `dpdb budget create {missing} --epsilon E`",
        ),
        results=folder / keys.required_text("results", "a DuckDB file (.duckdb) or a folder of Parquet files"),
        results_table=keys.text("results_table"),
        releases=releases,
        checks=checks,
        diagnoses=diagnoses,
        alert=_alert(keys, path),
        who=keys.text("who"),
        new_epochs=bool(keys.flag("new_epochs")),
        receipt=_beside(keys, folder, "receipt"),
        receipt_key=_beside(keys, folder, "receipt_key"),
    )


def filled_job(job: Job, run_id: str, date: datetime | None) -> Job:
    """Return the job of one run: `{date}` and `{run_id}` in a `where` are literals, and checks know the date.

    Parameters
    ----------
    job
        The job as its file has it.
    run_id
        Name of the run.
    date
        The date of the run's data; by default the date in the run id. A literal has its day, in UTC.

    Raises
    ------
    ParameterError
        A release or a check needs a date, and there is none.
    """
    date = date or date_in(run_id)
    values = {"run_id": run_id} if date is None else {"run_id": run_id, "date": f"{date:%Y-%m-%d}"}
    releases, checks, diagnoses = [], [], []
    for release in job.releases:
        where = _filled(release.where_template, values, f"{job.path}, [[release]] {release.name!r}")
        releases.append(release if where is None else replace(release, ask=replace(release.ask, where=where)))
    for check in job.checks:
        where = _filled(check.where, values, f"{job.path}, [[check]] {check.name!r}")
        checks.append(replace(check, where=where, day=values.get("date")))
    for one in job.diagnoses:
        where = _filled(one.ask.where, values, f"{job.path}, [[diagnose]] {one.name!r}")
        diagnoses.append(replace(one, ask=replace(one.ask, where=where)))
    return replace(job, releases=tuple(releases), checks=tuple(checks), diagnoses=tuple(diagnoses))


def _filled(where: str | None, values: Mapping[str, str], place: str) -> str | None:
    if where is None:
        return None
    if not placeholders(where) <= values.keys():
        raise ParameterError(
            f"{place}: where has {{date}}, and the run id {values['run_id']!r} names none; give "
            "the run an id such as 2026-11-21, or say --date 2026-11-21 (date=)"
        )
    return fill(where, values)


def ledger_run(job: Job, run_id: str, release: JobRelease | JobCheck | JobDiagnosis) -> str:
    """Return the run id of a release, a check or a diagnosis in the ledger.

    Parameters
    ----------
    job
        The job.
    run_id
        Name of the run.
    release
        The release, one of the job's.
    """
    return f"{job.name}/{run_id}/{release.name}"


def _placed(path: Path, kind: str, tables: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], str]]:
    for number, values in enumerate(tables, 1):
        yield values, f"{path}, [[{kind}]] {number}"


def ledger_ask(job: Job, run_id: str, release: JobRelease) -> Ask:
    """Return the request of a release of a run, under the release's run id in the ledger.

    Parameters
    ----------
    job
        The job.
    run_id
        Name of the run.
    release
        The release, one of the job's.
    """
    return replace(release.ask, run_id=ledger_run(job, run_id, release))


def _toml(path: Path) -> dict[str, Any]:
    try:
        content = bounded_bytes(path, _LARGEST, "a job file")
    except OSError as error:
        raise ParameterError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from None
    return toml_values(content, path)


def _beside(keys: TomlKeys, folder: Path, key: str) -> Path | None:
    text = keys.text(key)
    return None if text is None else folder / text


def _alert(keys: TomlKeys, path: Path) -> Alert | None:
    found = keys.table("alert")
    return read_alert(TomlKeys(found, f"{path}, [alert]", ALERT_KEYS)) if found else None


def _release(path: Path, values: Mapping[str, Any], place: str) -> JobRelease:
    keys = TomlKeys(values, place, _RELEASE_KEYS)
    name = keys.name_of_part()
    asked = {option: value for option in _ASKED if (value := _option(keys, option)) is not None}
    asked.setdefault("measure", "all")
    keeps_theta = asked.get("theta") == _KEEP
    if keeps_theta:
        del asked["theta"]
    with explained(f"{path}, [[release]] {name!r}: ", of=ParameterError):
        ask = Ask.of(asked)
        has_placeholders = ask.where is not None and bool(placeholders(ask.where))
    released = ask.measures or (COUNT,)
    return JobRelease(
        name=name,
        ask=ask,
        gates=tuple(gate for key in ("gate", "warn") for gate in _gates(keys, key, released, place, ask)),
        keeps_theta=keeps_theta,
        where_template=ask.where if has_placeholders else None,
    )


def _gates(keys: TomlKeys, key: str, released: Sequence[str], place: str, ask: Ask) -> Iterator[Gate]:
    for gated, number in keys.table(key).items():
        yield parse_gate(gated, number, released, f"{place}, {key} {gated!r}", rate=ask.rate, warns=key == "warn")


def _option(keys: TomlKeys, name: str) -> Any:
    """Return an option of the file; None if it is missing."""
    if name == "theta":
        return keys.whole_or(name, _KEEP)
    read: Mapping[Kind, Callable[[str], Any]] = {
        "text": keys.text, "amount": keys.amount, "keys": keys.scalars, "whole": keys.whole, "number": keys.number,
        "flag": keys.flag,
    }  # fmt: skip
    return read[OPTIONS[name].metadata["kind"]](name)
