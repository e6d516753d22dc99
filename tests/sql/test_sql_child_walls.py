"""The kernel's walls around a worker, tried from inside it: whoever takes it over reaches its own socket only."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import platform
import re
import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dpdb.doors.sql.child import sandbox as system_calls
from dpdb.doors.sql.child.children import START
from dpdb.doors.sql.child.messages import Limits
from dpdb.doors.sql.child.remote_database import RemoteDatabase
from dpdb.errors import StatementRefusedError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these walls are Linux's")

# In the zygote, before it serves: an attacker stands in the place of the statement, behind the walls.
TAKEN_OVER = """
import sys; sys.path.insert(0, {folder!r}); import escape_attempts
from dpdb.doors.sql.child import worker, sandbox
def taken_over(connection, request):
    raise worker._RefusedError(escape_attempts.outcomes(request.query))
worker._statement = taken_over
"""
WALLS = {
    "filter": "sandbox.forbid_system_calls = lambda: 'no filter here'\n",
    "landlock": "sandbox._close_files = lambda: 'no Landlock here'\n",
    "root": "sandbox.leave_files = lambda: 'no root here'\n",
    "network": "sandbox.unshare_network = lambda: 'no network here'\n",
}


@pytest.fixture
def target(tmp_path: Path) -> Iterator[str]:
    """What the attacker is after, and reaches without walls."""
    (tmp_path / "private").write_text("mine")
    path = f"/tmp/dpdb-walls-{os.getpid()}"  # a socket's name must be short
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(path)
        unix.listen()
        try:
            names = {"file": str(tmp_path / "private"), "folder": str(tmp_path), "socket": path}
            yield json.dumps(names | {"port": server.getsockname()[1], "process": os.getpid()})
        finally:
            Path(path).unlink()
    assert (tmp_path / "private").read_text() == "mine"


def attacked(target: str, monkeypatch: pytest.MonkeyPatch, *, without: tuple[str, ...] = ()) -> dict[str, str]:
    """Take a worker over; return how each of its attempts ended: "done" or the name of an error."""
    patches = TAKEN_OVER.format(folder=str(Path(__file__).parent)) + "".join(WALLS[name] for name in without)
    monkeypatch.setattr("dpdb.doors.sql.child.children.START", START.replace("main()", f"{patches}\nmain()"))
    monkeypatch.setattr("dpdb.doors.sql.child.remote_database.one_line", lambda text: text)  # of any length
    with (
        closing(RemoteDatabase({}, Limits(seconds=20))) as remote,
        remote.statement(target, {}) as statement,
        pytest.raises(StatementRefusedError) as caught,
    ):
        statement.rehearse()
    ended: dict[str, str] = json.loads(str(caught.value).removesuffix("; nothing was spent"))
    return ended


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what the owner was warned of; a record may reach pytest by two ways."""
    records = {id(record): record for record in caplog.records if record.levelname == "WARNING"}
    return [record.getMessage() for record in records.values()]


def need_filter() -> None:
    """Skip where the kernel has no filters, which it says about one that is nowhere, or none is known."""
    library = ctypes.CDLL(None, use_errno=True)
    library.prctl(system_calls._PR_SET_SECCOMP, system_calls._SECCOMP_MODE_FILTER, None, 0, 0)
    if ctypes.get_errno() != errno.EFAULT or platform.machine() not in system_calls._ARCHITECTURES:
        pytest.skip("this kernel or machine has no filter of system calls")


@pytest.mark.heavy(family="long")
def test_whoever_takes_a_worker_over_reaches_nothing(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    need_filter()
    ended = attacked(target, monkeypatch)
    assert len(ended) > 50
    assert {name: how for name, how in ended.items() if how != "EPERM"} == {}


@pytest.mark.heavy(family="long")
def test_the_filter_alone_stops_all_of_it_and_the_attempts_are_real(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_filter()
    assert set(attacked(target, monkeypatch, without=("landlock", "root", "network")).values()) == {"EPERM"}
    ended = attacked(target, monkeypatch, without=tuple(WALLS))
    done = {name for name, how in ended.items() if how == "done"}
    assert {"Unix socket", "TCP", "read", "write", "stat", "list", "/proc of the parent", "kill the parent"} <= done
    assert sum(how != "EPERM" for how in ended.values()) > 40  # the kernel looked at these


def test_without_the_filter_the_other_walls_stand_and_the_owner_is_told(
    target: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("dpdb.errors.OWNER_LOG.propagate", True)
    ended = attacked(target, monkeypatch, without=("filter",))
    (told,) = warnings(caplog)
    assert "no filter here" in told
    if "root" not in told:
        for name in ("Unix socket", "read", "write", "stat", "access", "list", "/proc of the parent", "chmod"):
            assert ended[name] == "ENOENT", name
    if "Landlock" not in told:
        assert {ended[name] for name in ("create", "list root", "fifo")} <= {"EACCES", "EROFS", "ENOENT"}
    if "network" not in told:
        assert ended["TCP"] != "done"


@pytest.mark.heavy
@pytest.mark.parametrize("lacking", [(), ("filter",), ("root", "network"), tuple(WALLS)])
def test_statements_run_behind_whatever_walls_there_are(
    lacking: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("dpdb.errors.OWNER_LOG.propagate", True)
    start = "from dpdb.doors.sql.child import sandbox\n" + "".join(WALLS[name] for name in lacking)
    monkeypatch.setattr("dpdb.doors.sql.child.children.START", START.replace("main()", f"{start}\nmain()"))
    with closing(RemoteDatabase({}, Limits(seconds=20))) as remote:
        for _ in range(2):
            with remote.statement("SELECT sum(x) AS n FROM range(1000) t(x)", {}) as statement:
                statement.rehearse()
                assert statement.run({}).to_pylist() == [{"n": 499500}]
    told = warnings(caplog)
    assert len(told) == 1 if lacking else len(told) <= 1  # once, not for every statement
    assert all(WALLS[name].split("'")[1] in told[0] for name in lacking)


HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


@pytest.mark.parametrize("machine", HEADERS)
def test_numbers_of_calls_are_the_kernels(machine: str) -> None:
    if not HEADERS[machine].exists():
        pytest.skip(f"no {HEADERS[machine]} here: the kernel's headers are not installed")
    text = HEADERS[machine].read_text()
    numbers = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text)}
    ours = system_calls._ARCHITECTURES[machine].numbers
    assert {name: numbers[name] for name in ours} == ours
    assert set(ours) == set(system_calls._CALLS) - ({"poll"} if machine == "aarch64" else set())


def test_a_machine_without_a_known_filter_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert system_calls.forbid_system_calls() == "no filter of system calls is known for riscv64"
