"""Warnings beside gates, JUnit XML, and webhooks: what a run tells others."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from dpdb.doors.cli import main
from dpdb.doors.cli.job_output import write_junit
from dpdb.doors.jobs.outcome import Alert
from dpdb.ledger import Ledger

GATE = "[release.gate]\nrepair = 1000000000\n"
WARNED = "[release.gate]\nrepair = 1000000000\n[release.warn]\nminimal_inconsistency = 0\n"


class Hook(ThreadingHTTPServer):
    """A web server that keeps what it is told."""

    daemon_threads = True
    told: list[Any]
    logins: list[str | None]
    answer = 200


class Handler(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        self.server.told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.server.logins.append(self.headers["Authorization"])
        self.send_response(self.server.answer)
        if self.server.answer == 301:
            self.send_header("Location", f"http://localhost:{self.server.server_port}/elsewhere")
        self.end_headers()

    def do_GET(self) -> None:
        self.server.told.append("followed")
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def hook() -> Iterator[Hook]:
    with Hook(("127.0.0.1", 0), Handler) as server:
        server.told, server.logins = [], []
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def run(job: Path, *more: str) -> int:
    return main(["run", str(job), "--run-id", "monday", *more])


def changed(job: Path, gates: str = GATE, alert: str = "") -> None:
    text = job.read_text().replace(GATE, gates)
    job.write_text(text.replace("[[release]]", f"{alert}\n[[release]]", 1))


def certain(job: Path) -> None:
    """Give the releases so much epsilon that they are above 0: the chance that the noise leaves 0 is below e^-50."""
    for left in job.parent.glob("t.ledger*"):
        left.unlink()
    Ledger.create(job.parent / "t.ledger", 1000).close()
    job.write_text(job.read_text().replace("epsilon = 0.3", "epsilon = 600"))


@pytest.mark.heavy(family="long")
def test_a_warning_is_said_and_fails_nothing(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    certain(job)
    changed(job, WARNED)
    code = run(job, "--junit", str(job.parent / "gates.xml"))
    said = capsys.readouterr().err
    suites = Xml.parse(job.parent / "gates.xml").getroot()
    assert code == 0
    assert "warning: minimal_inconsistency = 2 > 0" in said
    assert [case.get("name") for case in suites.iter("testcase")] == [
        *("run", "minimal_inconsistency <= 0", "repair <= 1e+09"),
    ]
    words = [str(case.text) for case in suites.iter("system-out")]
    assert [text.split(":")[0] for text in words] == ["warning", "gate passed"]
    assert suites.get("failures") == suites.get("errors") == "0"


@pytest.mark.heavy(family="long")
def test_a_failed_gate_is_a_failure_in_junit_and_is_sent(
    job: Path, hook: Hook, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    certain(job)
    monkeypatch.setenv("HOOK", f"http://127.0.0.1:{hook.server_port}/secret")
    changed(job, "[release.gate]\nrepair = 0\n[release.warn]\nrepair = 0\n", '[alert]\nurl = "$HOOK"')
    junit = job.parent / "gates.xml"
    junit.write_text("")
    assert run(job, "--junit", str(junit)) == 1
    [told] = hook.told
    assert told["status"] == "fail"
    assert len(list(Xml.parse(junit).getroot().iter("failure"))) == 1
    assert [line.split(" = ")[0] for line in told["gates"]] == ["gate failed: repair", "warning: repair"]
    assert [release["name"] for release in told["releases"]] == ["overall"] * 3 + ["by-zip"] * 2 + ["rows"]
    out, err = capsys.readouterr()
    assert "secret" not in out + err


@pytest.mark.heavy(family="long")
def test_an_error_is_told_and_the_exit_code_stays(job: Path, hook: Hook, capsys: pytest.CaptureFixture[str]) -> None:
    changed(job, alert=f'[alert]\nurl = "http://127.0.0.1:{hook.server_port}"\nformat = "slack"')
    (job.parent / "t.ledger").unlink()
    for left in job.parent.glob("t.ledger*"):
        left.unlink()
    Ledger.create(job.parent / "t.ledger", 0.1).close()
    assert run(job, "--junit", str(job.parent / "gates.xml")) == 4
    assert [list(told) for told in hook.told] == [["text"]]
    assert hook.told[0]["text"].startswith("dpdb: job visits, run monday: error\n")
    assert "do not fit the budget together" in hook.told[0]["text"]
    assert Xml.parse(job.parent / "gates.xml").getroot().get("errors") == "1"
    assert "not sent" not in capsys.readouterr().err


@pytest.mark.heavy(family="long")
def test_an_alert_that_cannot_be_sent_changes_nothing_of_the_run(
    job: Path, hook: Hook, capsys: pytest.CaptureFixture[str]
) -> None:
    hook.answer = 500
    changed(job, alert=f'[alert]\nurl = "http://127.0.0.1:{hook.server_port}"\non = ["ok"]')
    assert run(job) == 0
    assert "not sent: the alert's server answers 500" in capsys.readouterr().err
    job.write_text(job.read_text().replace(f"127.0.0.1:{hook.server_port}", "127.0.0.1:1"))
    assert run(job) == 0
    assert "not sent: the alert's server could not be reached" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("alert", "says"),
    [
        ("[alert]\non = ['fail']", "the key 'url' is missing"),
        ("[alert]\nurl = 'ftp://x'", "must begin with https://"),
        ("[alert]\nurl = '$X'\non = ['failed']", "'failed' is none of ok, warn, fail, error"),
        ("[alert]\nurl = '$X'\nformat = 'xml'", "'xml' is none of json, slack"),
        ("[alert]\nurll = '$X'", "did you mean 'url'?"),
    ],
)
def test_a_bad_alert_is_one_line_before_anything_is_spent(
    alert: str, says: str, job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed(job, alert=alert)
    assert run(job) == 2
    assert says in capsys.readouterr().err
    with Ledger.open(job.parent / "t.ledger") as ledger:
        assert ledger.summary().spent == 0


def test_a_file_that_is_no_junit_is_not_replaced(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notes = job.parent / "notes.txt"
    notes.write_text("mine")
    assert run(job, "--junit", str(notes)) == 2
    assert run(job, "--junit", str(job.parent / "none" / "x.xml")) == 2
    assert notes.read_text() == "mine"
    assert "name another file" in capsys.readouterr().err
    with Ledger.open(job.parent / "t.ledger") as ledger:
        assert ledger.summary().spent == 0


@pytest.mark.heavy(family="long")
def test_nothing_in_a_message_of_slack_is_a_link_or_calls_people(hook: Hook) -> None:
    error = "city = '<!channel>' & <http://evil.example|click> @here @everyone, a@example.org"
    alert = Alert(f"http://127.0.0.1:{hook.server_port}", format="slack")
    assert alert.send("<@U1>", "monday", [], error) is None
    text = hook.told[0]["text"]
    assert not {"<", ">"} & set(text)
    assert (
        "&lt;!channel&gt;' &amp; &lt;http://evil.example|click&gt; @\u200bhere @\u200beveryone, a@example.org" in text
    )
    assert Alert(alert.url).send("<@U1>", "monday", [], error) is None
    assert (hook.told[1]["job"], hook.told[1]["error"]) == ("<@U1>", error)  # JSON is data


@pytest.mark.heavy(family="long")
def test_a_password_of_the_address_is_sent_and_shown_nowhere(
    hook: Hook, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level("DEBUG")
    monkeypatch.setenv("HOOK", f"http://ann:open%20sesame@127.0.0.1:{hook.server_port}/x\n")
    assert Alert("$HOOK").send("job", "monday", [], "why") is None
    assert hook.logins == ["Basic YW5uOm9wZW4gc2VzYW1l"]  # ann:open sesame
    hook.answer = 301
    problems = [Alert("$HOOK").send("job", "monday", [], "why")]
    for server in ("127.0.0.1:1", "[", "x:port", f"127.0.0.1:{10**20}"):
        problems.append(Alert(f"http://ann:sesame@{server}/").send("job", "monday", [], "why"))
    assert problems == ["the alert's server answers 301", *["the alert's server could not be reached"] * 4]
    assert "followed" not in hook.told  # a redirection would lose the message, and show the password elsewhere
    assert "sesame" not in caplog.text + str(problems)


def test_junit_holds_whatever_an_error_or_a_name_holds(tmp_path: Path) -> None:
    hostile = "".join(map(chr, [*range(0x20), 0x7F, 0x85, 0x2028, 0x202E, 0xD800, 0xFFFE, 0x1F600])) + "]]><error/>\"'&"
    write_junit(tmp_path / "j.xml", hostile, hostile, [], hostile)
    [suite] = Xml.parse(tmp_path / "j.xml").getroot()
    [case] = suite
    [error] = case
    assert error.get("message", "").endswith("\U0001f600]]><error/>\"'&")
    assert case.get("name") == "run"


@pytest.mark.heavy(family="long")
def test_a_server_that_drips_bytes_does_not_hold_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpdb.doors.jobs.outcome.SECONDS", 0.5)
    over = threading.Event()

    def drip(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection, suppress(OSError):
            while not over.wait(0.05):  # each byte well within the limit of a single step
                connection.send(b"x")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip, args=(server,))
        thread.start()
        try:
            told = Alert(f"http://127.0.0.1:{server.getsockname()[1]}/").send("job", "monday", [], "why")
        finally:
            over.set()
            thread.join()
    assert told == "the alert's server could not be reached"
