"""`Outcome`: the published result of one part of a run; and `Alert`, which reports a run to a webhook.

A part is a `[[release]]`, `[[check]]` or `[[diagnose]]`. An alert sends published values only.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes, urlsplit, urlunsplit

from dpdb._version import __version__
from dpdb.doors.jobs.changes import Earlier, changed_words
from dpdb.errors import OWNER_LOG, ParameterError
from dpdb.release import GateResult, Release

if TYPE_CHECKING:
    from dpdb.diagnosis import Diagnosis
    from dpdb.doors.jobs.toml_keys import TomlKeys
    from dpdb.suites import CheckResults


@dataclass(frozen=True)
class Outcome:
    """One part of a run, published: a release with the results of its gates, a suite with its verdicts, or a diagnosis.

    `time` is when the run's first release was debited, the same for all of the run and its retries: the times at which
    the others were answered would tell how long private work took. `receipt` is a line of the job's file of receipts,
    `before` the run before of the suite, with which verdicts are compared, `listed` what is said of a list of keys.
    """

    name: str
    time: datetime
    releases: tuple[Release, ...] = ()
    gates: tuple[GateResult, ...] = ()
    checks: CheckResults | None = None
    diagnosis: Diagnosis | None = None
    receipt: str | None = None
    before: Earlier | None = None
    listed: str | None = None

    @property
    def changes(self) -> list[str]:
        """What changed in the verdicts of a suite since the run before, in lines; one for what stands."""
        return [] if self.checks is None else list(changed_words(self.checks, self.before))


_CODES = {"passed": 0, "failed": 1, "not shown": 5}


def exit_code_of(outcomes: Iterable[Outcome]) -> int:
    """Return 1 if a gate or check failed, 5 if one is not shown or undecided, else 0; warnings change nothing."""
    codes = set()
    for outcome in outcomes:
        codes |= {_CODES[result.outcome] for result in outcome.gates if not result.warns}
        codes |= set() if outcome.checks is None else {outcome.checks.exit_code}
    return 1 if 1 in codes else max(codes, default=0)


ALERT_KEYS = ("url", "on", "format")
STATUSES = ("ok", "warn", "fail", "error")
_DEFAULT_STATUSES = STATUSES[1:]
_FORMATS = ("json", "slack")
SECONDS = 10
_CALLS = re.compile(r"@(?=(?:all|channel|everyone|here)\b)")


@dataclass(frozen=True)
class Alert:
    """The `[alert]` of a job.

    Attributes
    ----------
    url : str
        A webhook; it may hold a secret and is shown nowhere. `$NAME` stands for an environment variable.
    statuses : tuple of str
        The statuses of runs after which it is called; see `STATUSES`.
    format : str
        ``"json"``, or ``"slack"``: a text for Slack and services that take its messages.
    """

    url: str
    statuses: tuple[str, ...] = _DEFAULT_STATUSES
    format: str = "json"

    def send(self, job: str, run_id: str, outcomes: Sequence[Outcome], error: str | None = None) -> str | None:
        """Send the result of a run, if the alert is for its status; return why that failed, or None.

        Parameters
        ----------
        outcomes
            The published releases of the run, with their gates, and its verdicts.
        error
            Message of the error that ended the run; None without one.
        """
        status = status_of(outcomes, error)
        if status not in self.statuses:
            return None
        lines = [str(result) for outcome in outcomes for result in outcome.gates]
        checks = [(found.name, check) for found in outcomes for check in found.checks or ()]
        changes = [f"{outcome.name}: {line}" for outcome in outcomes for line in outcome.changes]
        message = message_of(job, run_id, status, [*([error] if error else []), *lines, *changes])
        releases = [{"name": found.name, **release.to_dict()} for found in outcomes for release in found.releases]
        document: dict[str, Any] = {"job": job, "run_id": run_id, "status": status, "error": error}
        document |= {"gates": lines, "releases": releases}
        if checks:
            document["checks"] = [{"suite": suite, **check.to_dict()} for suite, check in checks]
            document["changes"] = changes
        if self.format == "slack":
            document = {"text": _slack_text(message)}
        url = (os.environ.get(self.url[1:], "") if self.url.startswith("$") else self.url).strip()
        if not url.lower().startswith(("https://", "http://")):
            return "the alert's url is no https address"
        headers = {"Content-Type": "application/json", "User-Agent": f"dpdb/{__version__}"}
        try:
            url, login = _without_login(url)
            _call(urllib.request.Request(url, data=json.dumps(document).encode(), headers=headers | login))
            return None
        except urllib.error.HTTPError as answer:
            return f"the alert's server answers {answer.code}"
        except (OSError, http.client.HTTPException, ValueError, OverflowError) as problem:  # of a port of many digits
            OWNER_LOG.error("alert of job %s: %s", job, type(problem).__name__)
            return "the alert's server could not be reached"


def _call(request: urllib.request.Request) -> None:
    """Send a request and wait for the head of the answer, in a bounded time; errors as `urllib`, and `TimeoutError`.

    A socket's own limit is for each of its steps: a server that sends a byte now and then never reaches it. So the call
    runs in a thread, which is abandoned if it does not end.
    """
    problems: list[BaseException] = []

    def call() -> None:
        try:
            with urllib.request.build_opener(_NoRedirect).open(request, timeout=SECONDS):
                pass
        except BaseException as problem:
            problems.append(problem)

    thread = threading.Thread(target=call, name="dpdb-alert", daemon=True)
    thread.start()
    thread.join(SECONDS)
    if thread.is_alive():
        raise TimeoutError
    if problems:
        raise problems.pop()  # if it stayed in the list, its frames would keep the list, and a socket open


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Treats a redirection as a refusal: following it would lose the message and show a password to another server."""

    def redirect_request(self, *_: Any) -> None:
        """Follow nothing."""


def _without_login(url: str) -> tuple[str, dict[str, str]]:
    """Split an address into one without name and password, and the header that holds them."""
    parts = urlsplit(url)
    login, at, server = parts.netloc.rpartition("@")
    if not at:
        return url, {}
    token = base64.b64encode(unquote_to_bytes(login)).decode()
    return urlunsplit(parts._replace(netloc=server)), {"Authorization": f"Basic {token}"}


def _slack_text(text: str) -> str:
    """Escape a text so that neither Slack nor services that take its messages find links or mentions in it."""
    return _CALLS.sub("@\u200b", text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def read_alert(keys: TomlKeys | None) -> Alert | None:
    """Read the `[alert]` table of a job file; see `TomlKeys` for the errors."""
    if keys is None:
        return None
    statuses = keys.texts("on") or _DEFAULT_STATUSES
    kind = keys.text("format") or _FORMATS[0]
    if unknown := [status for status in statuses if status not in STATUSES]:
        raise keys.error("on", f"{unknown[0]!r} is none of {', '.join(STATUSES)}")
    if kind not in _FORMATS:
        raise keys.error("format", f"{kind!r} is none of {', '.join(_FORMATS)}")
    url = keys.required_text("url", "the address of a webhook, or $NAME of an environment variable that has it")
    if not url.startswith("$") and not url.lower().startswith(("https://", "http://")):
        raise ParameterError("[alert]: the url must begin with https://, http:// or $")
    return Alert(url, tuple(statuses), kind)


def status_of(outcomes: Sequence[Outcome], error: str | None = None) -> str:
    """Return the status of a run: the worst that happened; what is not shown or undecided is a warning."""
    if error is not None:
        return "error"
    missed = [result for outcome in outcomes for result in outcome.gates if not result.passed]
    checks = [check for outcome in outcomes for check in outcome.checks or () if check.verdict != "pass"]
    if any(result.failed for result in missed) or any(check.fails for check in checks):
        return "fail"
    return "warn" if missed or checks else "ok"


def message_of(job: str, run_id: str, status: str, lines: Sequence[str]) -> str:
    """Return a run's status in words, with one line for each reason."""
    return "\n".join([f"dpdb: job {job}, run {run_id}: {status}", *lines])
