"""`dpdb run JOB.toml`."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.answers import UnshownError
from dpdb.doors.cli.options import command, quiet_options, receipt_options, words_options
from dpdb.doors.cli.parser import replaced_option
from dpdb.doors.cli.streams import say, show
from dpdb.errors import DpdbError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpdb.doors.jobs import Job, JobPlan
    from dpdb.doors.jobs.outcome import Outcome

_STEPS = 4  # of each slice: reading, ranking, joining, drawing
_CHECK_STEPS = 24  # of each suite: counting, and a step for each level


def add_run(commands: Any) -> None:
    """Add `dpdb run`."""
    text = "run a job file: make its releases and checks, append them to its results, compare them with its gates"
    parser = command(commands, "run", run, text, "dpdb run visits.toml --run-id 2026-11-21")
    parser.add_argument("job", metavar="JOB.toml", help="job file; its paths are relative to its folder")
    parser.add_argument(
        "--run-id",
        metavar="ID",
        help="name of this run, such as the scheduler's: retried, it never spends twice (today)",
    )
    parser.add_argument(
        "--date",
        metavar="DATE",
        help="what the run's data are of, for reports and for {date} in a where (what --run-id names: 2026-11-21)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="check everything and print plan and cost; spends nothing, reads no row"
    )
    replaced_option(parser, "--check", "--dry-run")
    parser.add_argument(
        "--new-epoch",
        action="store_true",
        help="open a new epoch of the ledger if the rows have changed (the job file must say new_epochs = true)",
    )
    parser.add_argument("--junit", metavar="FILE", help="write gates, warnings and checks as JUnit XML")
    receipt_options(parser)
    quiet_options(parser)
    words_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run or plan a job; 1 if a gate or a check failed, 5 if none did and one is not shown or undecided."""
    from dpdb.doors.cli.job_output import JobOutput
    from dpdb.doors.cli.session import clear_bar, step_bar
    from dpdb.doors.jobs import load_job
    from dpdb.doors.jobs.outcome import exit_code_of
    from dpdb.doors.jobs.placeholders import parse_date
    from dpdb.doors.jobs.plan_job import plan_job
    from dpdb.doors.jobs.run_job import run_job

    job = _with_receipts(load_job(options.job), options)
    date = None if options.date is None else parse_date(options.date)
    run_id = options.run_id if options.run_id is not None else f"{datetime.now(UTC):%Y-%m-%d}"
    if options.dry_run:
        return _show_plan(plan_job(job, run_id, date=date, new_epoch=options.new_epoch), options.format)
    if options.run_id is None:
        say(f"run id {run_id} (today, UTC); repeated under it, nothing is spent again")
    if options.junit is not None:
        from dpdb.doors.cli.job_output import check_junit

        check_junit(options.junit)
    shown = JobOutput(job, run_id, options.format, verbose=options.verbose)
    try:
        progress = step_bar(
            options, 1 + _STEPS * len(job.releases) + _CHECK_STEPS * len(job.checks) + len(job.diagnoses)
        )
        for outcome in run_job(job, run_id, date=date, new_epoch=options.new_epoch, progress=progress):
            clear_bar(options)
            shown.add(outcome)
    except DpdbError as error:
        if shown.outcomes:
            shown.end()
            error.args = (f"{error}{shown.problem and f'; {shown.problem}'}", *error.args[1:])
        _tell(job, run_id, shown.outcomes, options.junit, str(error))
        raise
    shown.end()
    for line in _lines(shown.outcomes):
        say(line)
    _tell(job, run_id, shown.outcomes, options.junit)
    if shown.problem:
        raise UnshownError(shown.problem)
    return exit_code_of(shown.outcomes)


def _with_receipts(job: Job, options: argparse.Namespace) -> Job:
    """Return the job with the receipts that the command line names, if it names any."""
    if options.receipt is None and options.receipt_key is None:
        return job
    receipt, key = (None if path is None else Path(path) for path in (options.receipt, options.receipt_key))
    return replace(job, receipt=receipt or job.receipt, receipt_key=key or job.receipt_key)


def _show_plan(plan: JobPlan, form: str) -> int:
    show(json.dumps(plan.to_dict(), indent=2) if form == "json" else str(plan))
    return 0


def _lines(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Give a line for each gate, warning that is due and list of keys, and for what changed in a suite's verdicts."""
    for outcome in outcomes:
        yield from () if outcome.listed is None else (f"{outcome.name}: {outcome.listed}",)
        yield from (str(result) for result in outcome.gates if not (result.warns and result.passed))
        yield from (f"{outcome.name}: {line}" for line in outcome.changes)


def _tell(job: Job, run_id: str, outcomes: Sequence[Outcome], junit: str | None, error: str | None = None) -> None:
    """Report the result of a run to other systems; a failure of that does not change the run."""
    if junit is not None:
        from dpdb.doors.cli.job_output import write_junit

        try:
            write_junit(junit, job.name, run_id, outcomes, error)
        except ParameterError as problem:
            say(str(problem))
    problem_of_alert = None if job.alert is None else job.alert.send(job.name, run_id, outcomes, error)
    if problem_of_alert is not None:
        say(f"not sent: {problem_of_alert}")
