"""`JobCheck`: a suite of checks that a job runs, `[[check]]`, and the session in which it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpdb.constraints import ConstraintsLike, written_lines
from dpdb.doors.jobs.placeholders import placeholders
from dpdb.doors.jobs.toml_keys import TomlKeys, explained
from dpdb.release import Charge, Session

if TYPE_CHECKING:
    from dpdb.suites import CheckRun

__all__ = ["JobCheck", "OpenedCheck", "due_charges", "open_check", "read_check"]

_CHECK_KEYS = (
    "name", "suite", "epsilon", "keep", "runs", "certain", "confidence", "where", "by", "keys", "label",
)  # fmt: skip
_CERTAIN = ("fail", "pass")


@dataclass(frozen=True)
class JobCheck:
    """One `[[check]]` of a job.

    Attributes
    ----------
    name : str
        By default that of the suite's file, without its endings.
    suite : Path
        The file of rules and limits.
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
    path
        The job file.
    values
        The table.
    place
        Where it stands, for messages.
    """
    keys = TomlKeys(values, place, _CHECK_KEYS)
    file = keys.required_text("suite", "a file of rules with limits")
    suite = path.parent / file
    if not suite.is_file():
        raise keys.error("suite", f"no such file: {suite}")
    name = keys.name_of_part(suite.name.split(".")[0] or suite.name)
    given = {
        "epsilon": keys.amount("epsilon"),
        "certain": keys.text("certain"),
        "confidence": keys.number("confidence"),
        "runs": keys.whole("runs"),
        **{key: keys.text(key) for key in ("keep", "by", "label")},
        "keys": keys.scalars("keys"),
    }
    if given["certain"] not in (None, *_CERTAIN):
        raise keys.error("certain", f"{given['certain']!r} is none of {', '.join(_CERTAIN)}")
    where = keys.text("where")
    with explained(f"{path}, [[check]] {name!r}: "):
        placeholders(where or "")
    return JobCheck(name, suite, {key: value for key, value in given.items() if value is not None}, where)


def open_check(
    open_session: Callable[[ConstraintsLike | None], Session], check: JobCheck, run_id: str, *, who: str | None
) -> OpenedCheck:
    """Check everything public about the run of a suite, in a session of its rules.

    Parameters
    ----------
    open_session
        Gives the session of some rules.
    check
        The check of this run, its placeholders filled.
    run_id
        Run id of the check in the ledger.
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
