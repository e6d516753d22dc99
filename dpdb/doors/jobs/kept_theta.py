"""`theta = "keep"`: a release of a job uses the theta that its first run chose, so that its runs can be compared.

A kept theta stands in a recorded answer of the ledger, so it is public and costs nothing (see
`dpdb.measures.mechanisms.fixed_theta`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from dpdb.doors.jobs.job_file import Job, JobRelease, ledger_run
from dpdb.doors.jobs.placeholders import is_filled_from
from dpdb.doors.jobs.toml_keys import explained
from dpdb.ledger import Ledger, RecordedAnswer
from dpdb.release import Ask, PublicTheta, Session, recorded_releases

__all__ = ["with_kept_thetas"]

# Requests with one theta may differ in these fields: they change the noise, concern theta itself, or tell that the rows
# of parents have changed (those of the table may change, too).
_MAY_DIFFER = ("epsilon", "parts", "confidence", "max_degree", "theta", "theta_from", "public_parents")


def with_kept_thetas(job: Job, session: Session, ledger: Ledger, run_id: str) -> Job:
    """Return the job with every `"keep"` replaced by the thetas of an earlier run, or by None: chosen anew.

    A run that was debited before keeps its request, so that its retries repeat it. Reads recorded
    releases and requests only.

    Parameters
    ----------
    job
        The job of this run, its placeholders filled.
    session
        Prepares the releases, to know whether they have a theta and what they request.
    ledger
        The job's ledger.
    run_id
        Name of the run.

    Raises
    ------
    DpdbError
        As `Session.prepare`, for an invalid release; also for a release without a theta.
    """
    releases = tuple(
        replace(release, ask=_kept(job, release, session, ledger, run_id), keeps_theta=False)
        if release.keeps_theta
        else release
        for release in job.releases
    )
    return replace(job, releases=releases)


def _kept(job: Job, release: JobRelease, session: Session, ledger: Ledger, run_id: str) -> Ask:
    with explained(f"{job.path}, [[release]] {release.name!r}: "):
        prepared = session.prepare(release.ask)
        if all(part.on_one_row for part in prepared.parts):
            return release.ask  # a count without a theta: its runs can be compared as they are
        session.prepare(replace(release.ask, theta=1))  # it has a theta at all
    return replace(release.ask, theta=_earlier(job, release, ledger, run_id, prepared.charge.request_text))


def _earlier(job: Job, release: JobRelease, ledger: Ledger, run_id: str, asked: str) -> PublicTheta | None:
    """Return the thetas of this run's own request, or of the latest run with the same request, or None."""
    latest = _latest(job, release, ledger, json.loads(asked))
    before = ledger.request_of(ledger_run(job, run_id, release))
    if before is None:
        return latest
    own = PublicTheta.read(json.loads(before))
    return latest if latest == own else own  # an answer has more details of its thetas than a request


def _latest(job: Job, release: JobRelease, ledger: Ledger, wanted: Mapping[str, Any]) -> PublicTheta | None:
    for run, answer in _recorded_runs(job, release, ledger):
        if _asks_alike(json.loads(answer.request), wanted, release.where_template):
            found = recorded_releases(answer.answer)
            thetas = tuple(one.theta for one in found)  # None where rows are counted
            if any(thetas):
                words = next((one.theta_from for one in found if one.theta_from), f"kept, as chosen in run {run}")
                return PublicTheta(thetas, words, kept=True, limits=tuple(one.theta_limits for one in found))
    return None


def _asks_alike(earlier: Mapping[str, Any], wanted: Mapping[str, Any], template: str | None) -> bool:
    """Return whether two requests can share a theta; each run fills the template with literals of its own."""
    same_template = template is not None and is_filled_from(template, str(earlier.get("where")))
    may_differ = (*_MAY_DIFFER, "where") if same_template else _MAY_DIFFER
    one, other = ({key: value for key, value in each.items() if key not in may_differ} for each in (earlier, wanted))
    return one == other


def _recorded_runs(job: Job, release: JobRelease, ledger: Ledger) -> Iterator[tuple[str, RecordedAnswer]]:
    """Give the runs of this release of this job with their recorded answers, newest first; read no other answers."""
    for name in reversed(ledger.run_ids()):
        parts = name.split("/")
        if len(parts) == 3 and (parts[0], parts[2]) == (job.name, release.name):
            for answer in ledger.answers(run_id=name):
                yield parts[1], answer
