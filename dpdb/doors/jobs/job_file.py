"""The job file: TOML to frozen values. Everything is checked here or by `plan_job`, before anything is spent.

Paths are relative to the job file's folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpdb.constraints import ConstraintsLike, written_lines
from dpdb.diagnosis import ASKED, DiagnosisAsk
from dpdb.doors.jobs.outcome import ALERT_KEYS, Alert, read_alert
from dpdb.doors.jobs.placeholders import date_in, fill, placeholders
from dpdb.doors.jobs.toml_keys import TABLE_KEYS, TomlKeys, existing_file, explained, ledgers_of_parents, read_table
from dpdb.errors import ParameterError
from dpdb.files.bounded_file import bounded_bytes, toml_values
from dpdb.options import Option, asked_in
from dpdb.release import COUNT, OPTIONS, Ask, Charge, Gate, Session, parse_gate
from dpdb.settings import TableSpec
from dpdb.suites import RUN_OPTIONS

if TYPE_CHECKING:
    from dpdb.suites import CheckRun

JOB_KEYS = (
    "name", *TABLE_KEYS, "ledger", "parent_ledgers", "results", "results_table", "receipt", "receipt_key", "who",
    "new_epochs", "alert", "release", "check", "diagnose",
)  # fmt: skip
# Options in a job file: the run id comes with the run, and so does the day of checks.
_ASKED, _ASKED_OF_CHECK, _ASKED_OF_DIAGNOSIS = (asked_in("jobs", own) for own in (OPTIONS, RUN_OPTIONS, ASKED))
RELEASE_KEYS = ("name", *_ASKED, "keys_from", "gate", "gate_by", "warn")
_GATE_BY = ("bounds", "value")
_LARGEST = 1 << 20
_MOST_PARTS = 1_000

# The theta of a release that uses the one of its job's earlier runs.
_KEEP = "keep"


@dataclass(frozen=True)
class JobRelease:
    """One `[[release]]` of a job.

    Attributes
    ----------
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
    parent_ledgers
        Those of other private tables that the job looks into, by name.
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
    parent_ledgers: Mapping[str, Path] = field(default_factory=dict)


def load_job(path: str | Path) -> Job:
    """Read a job file.

    Raises
    ------
    ParameterError
        The file cannot be read or is not TOML, a key is missing, unknown or of another type, or a file that it names
        does not exist; the message names the key, its table and the nearest known key.
    """
    path = Path(path)
    keys = TomlKeys(_toml(path), str(path), JOB_KEYS)
    folder = path.parent
    tables = {kind: keys.tables(kind) for kind in _READERS}
    if not any(tables.values()):
        raise ParameterError(f"{path}: there is no [[release]], [[check]] or [[diagnose]]; a job needs at least one")
    for kind, found in tables.items():
        if len(found) > _MOST_PARTS:
            raise ParameterError(f"{path}: {len(found):,} [[{kind}]]; a job has at most {_MOST_PARTS:,}: split it")
    parts, kinds = {}, dict[str, str]()
    for kind, read in _READERS.items():
        places = enumerate(tables[kind], 1)
        parts[kind] = tuple(read(path, values, f"{path}, [[{kind}]] {number}") for number, values in places)
    for kind, name in ((kind, part.name) for kind, own in parts.items() for part in own):
        if name in kinds:
            two = f"two [[{kind}]]" if kinds[name] == kind else f"a [[{kinds[name]}]] and a [[{kind}]]"
            raise ParameterError(f"{path}: {two} have the name {name!r}; give each its own")
        kinds[name] = kind
    needs_rules = bool(parts["diagnose"]) or any(release.ask.measures for release in parts["release"])
    return Job(
        path=path,
        name=keys.name_of_part(),
        table=read_table(keys, folder, path, needs_rules=needs_rules),
        ledger=existing_file(
            keys,
            folder / keys.required_text("ledger", "only a ledger remembers what a run has published and spent"),
            "ledger",
            lambda missing: f"; make it once with `dpdb budget create {missing} --epsilon E`",
        ),
        parent_ledgers=ledgers_of_parents(keys, folder),
        results=folder / keys.required_text("results", "a DuckDB file (.duckdb) or a folder of Parquet files"),
        results_table=keys.text("results_table"),
        releases=parts["release"],
        checks=parts["check"],
        diagnoses=parts["diagnose"],
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
    date
        The date of the run's data; by default the date in the run id. A literal has its day, in UTC.

    Raises
    ------
    ParameterError
        A release or a check needs a date, and there is none.
    """
    date = date or date_in(run_id)
    values = {"run_id": run_id} if date is None else {"run_id": run_id, "date": f"{date:%Y-%m-%d}"}

    def filled(ask: Any, where: str | None, kind: str, name: str) -> Any:
        return replace(ask, where=_filled(where, values, f"{job.path}, [[{kind}]] {name!r}") or ask.where)

    return replace(
        job,
        releases=tuple(
            replace(one, ask=filled(one.ask, one.where_template, "release", one.name)) for one in job.releases
        ),
        checks=tuple(replace(filled(one, one.where, "check", one.name), day=values.get("date")) for one in job.checks),
        diagnoses=tuple(
            replace(one, ask=filled(one.ask, one.ask.where, "diagnose", one.name)) for one in job.diagnoses
        ),
    )


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
    """Return the run id of a release, a check or a diagnosis in the ledger."""
    return f"{job.name}/{run_id}/{release.name}"


def ledger_ask(job: Job, run_id: str, release: JobRelease) -> Ask:
    """Return the request of a release of a run, under the release's run id in the ledger."""
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
    keys = TomlKeys(values, place, RELEASE_KEYS)
    name = keys.name_of_part()
    asked = keys.options(_paid_once(keys, values, _ASKED), theta=lambda key: keys.whole_or(key, _KEEP))
    keeps_theta = asked.get("theta") == _KEEP
    if keeps_theta:
        del asked["theta"]
    if (listed := keys.text("keys_from")) is not None:
        if "keys" in asked:
            raise keys.error("keys_from", "give keys or keys_from, not both")
        asked["keys"] = path.parent / listed
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
    by = keys.text("gate_by") or _GATE_BY[0]
    if by not in _GATE_BY:
        raise keys.error("gate_by", f"{by!r} is none of {', '.join(_GATE_BY)}")
    how = {"rate": ask.rate, "warns": key == "warn", "by_value": by == "value"}
    for gated, number in keys.table(key).items():
        yield parse_gate(gated, number, released, f"{place}, {key} {gated!r}", **how)


def _paid_once(keys: TomlKeys, values: Mapping[str, Any], asked: Mapping[str, Option]) -> dict[str, Option]:
    """Return the options without the amount that is not given: without rho epsilon must be there."""
    if "rho" in values and "epsilon" in values:
        raise keys.error("rho", "give epsilon or rho, not both")
    return {name: one for name, one in asked.items() if name != ("epsilon" if "rho" in values else "rho")}


_CHECK_KEYS = ("name", "suite", *_ASKED_OF_CHECK)


@dataclass(frozen=True)
class JobCheck:
    """One `[[check]]` of a job.

    Attributes
    ----------
    name : str
        By default that of the suite's file, without its endings.
    options : mapping
        What else the file says, as `dpdb.suites.prepare_check` takes it.
    where : str or None
        The rows that are checked; in a job as its file has it with placeholders, in `filled_job` without.
    day : str or None
        What ``{date}`` stands for in the suite: the date of the run's data, once it is known.
    """

    name: str
    suite: Path
    options: Mapping[str, Any]
    where: str | None = None
    day: str | None = None

    @property
    def keep(self) -> str | None:
        """The name under which the suite is kept."""
        return self.options.get("keep")


class OpenedCheck(NamedTuple):
    """A suite of a run, checked, and the session in which it runs, whose constraints are its rules."""

    check: JobCheck
    session: Session
    prepared: CheckRun


def read_check(path: Path, values: Mapping[str, Any], place: str) -> JobCheck:
    """Read a `[[check]]` table of a job file; see `TomlKeys` for the errors.

    Parameters
    ----------
    place
        Where it stands, for messages.
    """
    from dpdb.suites import checked_within

    keys = TomlKeys(values, place, _CHECK_KEYS)
    file = keys.required_text("suite", "a file of rules with limits")
    suite = path.parent / file
    if not suite.is_file():
        raise keys.error("suite", f"no such file: {suite}")
    name = keys.name_of_part(suite.name.split(".")[0] or suite.name)
    given = keys.options(_paid_once(keys, values, _ASKED_OF_CHECK))
    where = given.pop("where", None)
    with explained(f"{path}, [[check]] {name!r}: "):
        checked_within(given.get("within", 0))
        placeholders(where or "")
    return JobCheck(name, suite, given, where)


def open_check(
    open_session: Callable[[ConstraintsLike | None], Session], check: JobCheck, run_id: str, *, who: str | None
) -> OpenedCheck:
    """Check everything public about the run of a suite, in a session of its rules.

    Parameters
    ----------
    check
        The check of this run, its placeholders filled.
    who
        Who asks, as the owner calls him.
    """
    from dpdb.suites import load_suite, prepare_check

    written = written_lines(check.suite)
    session = open_session(load_suite(written, date=check.day).rules)
    asked = {**check.options, "where": check.where, "run_id": run_id, "who": who, "day": check.day}
    return OpenedCheck(check, session, prepare_check(session, written, **asked))


def due_charges(checks: list[OpenedCheck]) -> list[Charge]:
    """Return what a run may have to debit for its suites: nothing for one that is kept and open."""
    return [found.prepared.charge for found in checks if found.session.opens_suite(found.prepared)]


_DIAGNOSIS_KEYS = ("name", *_ASKED_OF_DIAGNOSIS)


@dataclass(frozen=True)
class JobDiagnosis:
    """One `[[diagnose]]` of a job; in `filled_job` the placeholders of its `where` are filled."""

    name: str
    ask: DiagnosisAsk


def read_diagnosis(path: Path, values: Mapping[str, Any], place: str) -> JobDiagnosis:
    """Read a `[[diagnose]]` table of a job file; see `TomlKeys` for the errors."""
    keys = TomlKeys(values, place, _DIAGNOSIS_KEYS)
    name = keys.name_of_part("diagnose")
    lists = {"by": keys.texts, "keys": keys.lists} if keys.is_list("by") else {}
    given = keys.options(_ASKED_OF_DIAGNOSIS, **lists)
    with explained(f"{path}, [[diagnose]] {name!r}: ", of=ParameterError):
        ask = DiagnosisAsk.of(given)
        placeholders(ask.where or "")
    return JobDiagnosis(name, ask)


_READERS: Mapping[str, Callable[[Path, Mapping[str, Any], str], Any]] = {
    "release": _release,
    "check": read_check,
    "diagnose": read_diagnosis,
}
