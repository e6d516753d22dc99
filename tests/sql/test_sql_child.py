"""The processes in which statements run: what they hold, how they are stopped, and that nothing of them stays."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pyarrow as pa
import pytest
from checked_runs import PATIENCE
from counting_noise import CountingNoise
from inside import database_of, public_file
from private_rows import RULE

import dpdb
from dpdb.doors.sql import FrontEnd
from dpdb.doors.sql.child.children import START
from dpdb.doors.sql.child.messages import Limits
from dpdb.doors.sql.child.remote_database import RemoteDatabase
from dpdb.errors import DpdbError, EngineError, StatementRefusedError
from dpdb.privacy.noise import replaced_noise
from dpdb.release.published.release_fields import RELEASE_SCHEMA

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, which only Linux has")

# Nothing ends these by themselves.
ENDLESS = "WITH RECURSIVE r AS (SELECT 1 x UNION ALL SELECT x + 1 FROM r) SELECT count(*) FROM r"
STATES = ", ".join(f"states s{k}" for k in range(24))
ENDLESS_AND_LEGITIMATE = f"SELECT count(*) FROM {STATES}"
ENDLESS_OVER_ANSWERS = (
    f"SELECT count(*) FROM dp_count('visits', epsilon := 1) r, {STATES}"  # over empty answers it ends at once
)


@pytest.fixture
def remote(public: dict[str, Path]) -> Iterator[RemoteDatabase]:
    with closing(RemoteDatabase(public, Limits(seconds=20))) as opened:
        yield opened


@pytest.fixture
def door(folder: Path, public: dict[str, Path]) -> Iterator[FrontEnd]:
    with (
        dpdb.open(folder / "visits.parquet", constraints=RULE) as session,
        FrontEnd(session, "visits", public, seconds=20) as opened,
        replaced_noise(CountingNoise()),
    ):
        yield opened


def zygote_of(remote: RemoteDatabase) -> int:
    return remote._children._zygote._process.pid


def workers_of(zygote: int) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{zygote}/task/{zygote}/children").read_text().split()]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_for(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not come true"
        time.sleep(0.005)


def busy_worker_of(zygote: int) -> int:
    """Wait until there is a worker and its statement runs: it has raised its last wall by then."""
    wait_for(lambda: bool(workers_of(zygote)))
    (worker,) = workers_of(zygote)
    wait_for(lambda: "NoNewPrivs:\t1" in Path(f"/proc/{worker}/status").read_text())
    return worker


class Running:
    """A statement that another thread rehearses, and what came of it."""

    def __init__(self, run: Callable[[], object]) -> None:
        self.error: BaseException | None = None
        self._run = run
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        try:
            self._run()
        except BaseException as error:
            self.error = error

    def outcome(self, seconds: float = 30.0) -> BaseException | None:
        self._thread.join(seconds)
        assert not self._thread.is_alive(), "the statement has not ended"
        return self.error


def rehearsing(remote: RemoteDatabase, query: str = ENDLESS) -> Running:
    def run() -> None:
        with remote.statement(query, {}) as statement:
            statement.rehearse()

    return Running(run)


# -- what a worker holds --------------------------------------------------------------------------------------


@pytest.mark.heavy(family="privacy")
@linux
def test_a_worker_holds_nothing_of_ours(remote: RemoteDatabase, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPDB_SECRET", "canary_environment")
    with (folder / "visits.parquet").open("rb"), closing(RemoteDatabase({}, Limits(seconds=20))) as second:
        for database, files in ((remote, ["public.duckdb"]), (second, [])):
            running = rehearsing(database)
            worker = busy_worker_of(zygote_of(database))
            process = Path(f"/proc/{worker}")
            assert b"canary" not in (process / "environ").read_bytes()
            opened = [str(entry.readlink()) for entry in (process / "fd").iterdir()]
            kinds = sorted(Path(target).name for target in opened if not target.startswith(("socket:", "/dev/null")))
            assert kinds == files
            assert sum(target.startswith("socket:") for target in opened) == 1  # to us and to nobody else
            assert os.getpgid(worker) == os.getsid(worker) == worker
            assert len(list((process / "task").iterdir())) == 1
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
            assert isinstance(running.outcome(), StatementRefusedError)


@pytest.mark.heavy(family="long")
@linux
def test_a_worker_is_under_its_limits(remote: RemoteDatabase) -> None:
    running = rehearsing(remote)
    worker = busy_worker_of(zygote_of(remote))
    lines = Path(f"/proc/{worker}/limits").read_text().splitlines()[1:]
    found = {line[:26].strip(): line[26:].split()[:2] for line in lines}  # soft and hard
    assert found["Max address space"] == [str(2 << 30)] * 2
    assert found["Max cpu time"] == ["41"] * 2
    for name in ("file size", "core file size", "processes"):
        assert found[f"Max {name}"] == ["0"] * 2
    assert found["Max open files"] == ["16"] * 2
    remote.close()
    assert isinstance(running.outcome(), DpdbError)


def sessions_may_step_back() -> bool:
    """Whether a session of this system's may let other sessions have the processors first."""
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as process:
        group = Path(f"/proc/{process.pid}/autogroup")
        for _ in range(20):  # the system takes ten wishes a second, from everybody together
            with suppress(OSError):
                group.write_text("5")
                break
            time.sleep(0.1)
        taken = group.exists() and group.read_text().endswith("nice 5\n")
        process.kill()
    return taken


@linux
def test_a_long_statement_steps_behind_short_ones(remote: RemoteDatabase) -> None:
    """In its session, and among sessions where the system shares processors so."""
    running = rehearsing(remote)
    worker = busy_worker_of(zygote_of(remote))
    wait_for(lambda: os.getpriority(os.PRIO_PROCESS, worker) == 5)
    if sessions_may_step_back():
        wait_for(lambda: Path(f"/proc/{worker}/autogroup").read_text().endswith("nice 5\n"))
    assert os.getpriority(os.PRIO_PROCESS, zygote_of(remote)) == os.getpriority(os.PRIO_PROCESS, 0)
    remote.close()
    assert isinstance(running.outcome(), DpdbError)


@linux
def test_one_that_begins_behind_is_there_before_it_runs(remote: RemoteDatabase) -> None:
    with remote.statement("SELECT 1", {}, behind=True) as statement:
        (worker,) = workers_of(zygote_of(remote))
        assert os.getpriority(os.PRIO_PROCESS, worker) == 5
        statement.rehearse()


def test_each_statement_draws_its_own_random_numbers(remote: RemoteDatabase) -> None:
    """They are forks of one process, whose database was open before."""
    drawn = set()
    for _ in range(5):
        with remote.statement("SELECT random() AS a, uuid() AS b", {}) as statement:
            statement.rehearse()
            drawn |= {*statement.run({}).to_pylist()[0].values()}
    assert len(drawn) == 10


UNSHARE = """
import ctypes
library = ctypes.CDLL(None)
print("yes" if library.unshare(0x40000000) == 0 or library.unshare(0x50000000) == 0 else "no")
"""


@pytest.mark.heavy(family="long")
@linux
def test_the_zygote_has_one_thread_and_no_network(remote: RemoteDatabase) -> None:
    with remote.statement("SELECT 1", {}) as statement:
        statement.rehearse()
    zygote = Path(f"/proc/{zygote_of(remote)}")
    assert len(list((zygote / "task").iterdir())) == 1  # forking more is not safe
    if subprocess.run([sys.executable, "-c", UNSHARE], capture_output=True, check=True).stdout != b"yes\n":
        pytest.skip("this system gives processes no network namespace of their own")
    assert (zygote / "ns" / "net").readlink() != Path("/proc/self/ns/net").readlink()
    assert [line.split(":")[0].strip() for line in (zygote / "net" / "dev").read_text().splitlines()[2:]] == ["lo"]


def test_public_tables_are_files_that_only_we_can_read_and_go_with_us(public: dict[str, Path]) -> None:
    remote = RemoteDatabase(public, Limits())
    assert public_file(remote) is not None
    assert (public_file(remote).parent.stat().st_mode & 0o777, public_file(remote).stat().st_mode & 0o777) == (
        0o700,
        0o400,
    )
    remote.close()
    remote.close()
    assert not public_file(remote).parent.exists()


# -- how it is stopped ----------------------------------------------------------------------------------------


@pytest.mark.heavy(family="long")
def test_statements_end_in_time(public: dict[str, Path]) -> None:
    with closing(RemoteDatabase(public, Limits(seconds=0.5))) as remote:
        start = time.monotonic()
        with (
            remote.statement(ENDLESS, {}) as statement,
            pytest.raises(StatementRefusedError, match=r"stopped after 0\.5 seconds; nothing was spent"),
        ):
            statement.rehearse()
        assert time.monotonic() - start < 0.5 + PATIENCE
        with remote.statement("SELECT count(*) AS n FROM states", {}) as statement:
            statement.rehearse()
            assert statement.run({}).to_pylist() == [{"n": 3}]


def kill_at_random(count: int, door: FrontEnd, seed: int) -> list[str]:
    """Kill, stop or end processes of statements that are running; return what the analyst is told."""
    chance = random.Random(seed)
    zygote = zygote_of(database_of(door))
    told = []
    for k in range(count):
        statement = (
            ENDLESS_OVER_ANSWERS,
            ENDLESS_AND_LEGITIMATE,
            "SELECT dp_count('visits', epsilon := 1).value FROM states",
        )[k % 3]
        before, finished = door.session.spent(), 0
        running = Running(lambda statement=statement: door.run(statement))
        time.sleep(chance.random() * 0.3)
        for worker in workers_of(zygote):
            with suppress(ProcessLookupError):
                os.kill(worker, chance.choice((signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGSEGV)))
        while running._thread.is_alive():  # it came too early, or stopped it only
            running._thread.join(0.1)
            for worker in workers_of(zygote):
                with suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
        error = running.outcome()
        if error is None:
            finished = 1
        else:
            assert isinstance(error, DpdbError)
            assert "\n" not in str(error)
            told.append(str(error))
        spent = door.session.spent() - before
        kept = [release for releases in door._paid.take(list(door._paid._answers)).values() for release in releases]
        assert spent == len(kept) + finished * ("dp_count" in statement)  # paid means kept or shown
        assert workers_of(zygote) == []
        assert is_running(zygote)
    return told


@pytest.mark.heavy(family="privacy")
@linux
def test_a_killed_process_is_one_line_and_loses_no_answer(door: FrontEnd) -> None:
    told = kill_at_random(9, door, seed=1)
    assert any("ended (SIG" in line for line in told)


@linux
@pytest.mark.slow
def test_two_hundred_processes_are_killed_at_random_times(door: FrontEnd) -> None:
    told = kill_at_random(200, door, seed=2)
    print(f"\n200 processes killed: {len(told)} errors of one line, {200 - len(told)} statements had ended before")
    assert len(told) > 100


@pytest.mark.heavy(family="long")
@linux
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_dead_or_stopped_zygote_is_replaced(number: signal.Signals, door: FrontEnd) -> None:
    assert door.run("SELECT 1 AS x").table.to_pylist() == [{"x": 1}]
    before = zygote_of(database_of(door))
    running = Running(lambda: door.run(ENDLESS_OVER_ANSWERS))
    wait_for(lambda: door.session.spent() == 1)
    (worker,) = workers_of(before)
    os.kill(before, number)
    if number == signal.SIGSTOP:  # the worker lives on until its time is over: we end it
        os.kill(worker, signal.SIGKILL)
    error = running.outcome()
    assert isinstance(error, EngineError)
    assert "the process that ran the statement ended" in str(error)
    wait_for(lambda: not is_running(worker) and not is_running(before))
    (kept,) = door.kept
    assert door.run("SELECT value FROM dp_count('visits', epsilon := 1)").releases == (kept,)
    assert zygote_of(database_of(door)) != before
    assert (door.session.spent(), door.kept) == (1, ())


@pytest.mark.heavy(family="long")
@linux
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_processes_die_with_their_parent(number: signal.Signals, folder: Path) -> None:
    script = f"""
import sys, threading, dpdb
from dpdb.doors.sql import FrontEnd
door = FrontEnd(dpdb.open(sys.argv[1], constraints={RULE!r}), "visits", {{"states": sys.argv[2]}})
print(door._remote._children._zygote._process.pid, flush=True)
door.run({ENDLESS_AND_LEGITIMATE!r})
"""
    command = [sys.executable, "-c", script, folder / "visits.parquet", folder / "states.csv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        zygote = int(parent.stdout.readline())
        worker = busy_worker_of(zygote)
        parent.send_signal(number)
        parent.wait(10)
        wait_for(lambda: not is_running(worker) and not is_running(zygote))


@pytest.mark.heavy(family="long")
@linux
def test_workers_end_with_the_zygote_where_no_signal_tells_them(
    public: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    without = "from dpdb.doors.sql.child import sandbox; sandbox.die_with = lambda parent: None"
    monkeypatch.setattr("dpdb.doors.sql.child.children.START", START.replace("main()", f"{without}; main()"))
    remote = RemoteDatabase(public, Limits(seconds=60))
    running = rehearsing(remote, ENDLESS_AND_LEGITIMATE)
    worker = busy_worker_of(zygote_of(remote))
    remote.close()
    wait_for(lambda: not is_running(worker))
    assert isinstance(running.outcome(), StatementRefusedError)


@pytest.mark.heavy(family="long")
@linux
def test_an_interrupted_statement_leaves_no_process(remote: RemoteDatabase) -> None:
    def run() -> None:
        with remote.statement(ENDLESS, {}) as statement:
            threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
            statement.rehearse()

    with pytest.raises(KeyboardInterrupt):
        run()
    assert workers_of(zygote_of(remote)) == []
    with remote.statement("SELECT 1", {}) as statement:
        statement.rehearse()


@pytest.mark.heavy(family="spending")
@linux
def test_ctrl_c_stops_a_statement_at_once_with_one_line(folder: Path) -> None:
    command = [sys.executable, "-m", "dpdb", "sql", folder / "visits.parquet", "--constraints", RULE, "--budget", "1"]
    command += ["--public", f"states={folder / 'states.csv'}", "--quiet", ENDLESS_AND_LEGITIMATE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:

        def worker() -> list[int]:
            return [pid for zygote in workers_of(process.pid) for pid in workers_of(zygote)]

        wait_for(lambda: bool(worker()), seconds=30)
        (running,) = worker()
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert time.monotonic() - start < PATIENCE
        assert (process.returncode, out) == (130, "")
        assert (err.startswith("dpdb: interrupted"), err.count("\n")) == (True, 1)
        wait_for(lambda: not is_running(running))  # killed, which a crowded machine takes its time for


@pytest.mark.heavy(family="long")
@linux
def test_nothing_stays_behind(folder: Path, public: dict[str, Path]) -> None:
    with dpdb.open(folder / "visits.parquet", constraints=RULE) as session:
        door = FrontEnd(session, "visits", public)
        door.run("SELECT 1")
        zygote, path = zygote_of(database_of(door)), public_file(database_of(door))
        assert path is not None
        del door  # abandoned, not closed
        wait_for(lambda: not is_running(zygote))
        assert not path.exists()


def test_an_interpreter_that_does_not_start_is_one_error_and_the_owner_is_told_why(
    public: dict[str, Path], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("dpdb.doors.sql.child.children.START", "raise SystemExit('no such library')")
    monkeypatch.setattr("dpdb.errors.OWNER_LOG.propagate", True)
    with (
        closing(RemoteDatabase(public, Limits())) as remote,
        pytest.raises(EngineError, match="no process can be started to run statements"),
        remote.statement("SELECT 1", {}),
    ):
        pass
    assert "no such library" in caplog.text


@pytest.mark.heavy(family="long")
def test_a_machine_without_descriptors_or_programs_is_one_error(
    public: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object) -> None:
        raise OSError(24, "Too many open files")

    with closing(RemoteDatabase(public, Limits())) as remote, monkeypatch.context() as patch:
        patch.setattr("dpdb.doors.sql.child.children.socket.socketpair", full)
        with pytest.raises(EngineError, match="no process can be started"), remote.statement("SELECT 1", {}):
            pass
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    with pytest.raises(EngineError, match="no process can be started"):
        RemoteDatabase(public, Limits())


def test_a_closed_front_end_starts_nothing(door: FrontEnd) -> None:
    door.close()
    with pytest.raises(EngineError, match="is closed"):
        door.run("SELECT 1")


# -- several at once ------------------------------------------------------------------------------------------


@pytest.mark.heavy(family="privacy")
def test_nobody_waits_for_another_statement_to_run(door: FrontEnd) -> None:
    running = Running(lambda: door.run(ENDLESS_OVER_ANSWERS))
    wait_for(lambda: door.session.spent() == 1)
    assert door.run("SELECT value FROM dp_count('visits', 0.5)").table.to_pylist() == [{"value": 6.0}]
    assert door.kept == ()  # the other statement has its answer in use
    assert door.session.spent() == 1.5
    door.close()
    assert isinstance(running.outcome(), EngineError)
    assert len(door.kept) == 1


@pytest.mark.heavy(family="long")
def test_one_thread_at_a_time_uses_the_session(door: FrontEnd, monkeypatch: pytest.MonkeyPatch) -> None:
    inside: list[str] = []

    def alone(name: str) -> None:
        real = getattr(dpdb.Session, name)

        def method(self: dpdb.Session, *args: object, **options: object) -> object:
            assert not inside
            inside.append(name)
            time.sleep(0.05)
            inside.pop()
            return real(self, *args, **options)

        monkeypatch.setattr(dpdb.Session, name, method)

    for name in ("prepare", "check_together", "release"):
        alone(name)
    asked = "SELECT a.value + b.value FROM dp_count('visits', 0.25) a, dp_count('visits', 0.25, 'age > 30') b"
    threads = [Running(lambda: door.run(asked)) for _ in range(3)]
    assert [thread.outcome() for thread in threads] == [None] * 3
    assert door.session.spent() == 1.5


@pytest.mark.heavy(family="spending")
def test_the_same_question_at_once_is_paid_by_each_and_answered_apart(door: FrontEnd) -> None:
    results: list[str] = []

    def ask() -> None:
        (release,) = door.run("SELECT value FROM dp_count('visits', 0.25)").releases
        results.append(release.release_id)

    threads = [Running(ask) for _ in range(4)]
    assert [thread.outcome() for thread in threads] == [None] * 4
    assert len(set(results)) == 4
    assert (door.session.spent(), door.kept) == (1, ())


@pytest.mark.heavy(family="spending")
def test_a_kept_answer_is_given_once(door: FrontEnd) -> None:
    for _ in range(2):
        with pytest.raises(EngineError):
            door.run("SELECT value, measure::INT FROM dp_count('visits', epsilon := 1)")
    assert (door.session.spent(), len(door.kept)) == (1, 1)  # the second time it was there
    door.run("SELECT value FROM dp_count('visits', epsilon := 1)")
    door.run("SELECT value FROM dp_count('visits', epsilon := 1)")
    assert (door.session.spent(), door.kept) == (2, ())


@pytest.mark.heavy(family="long")
def test_explaining_does_not_run_the_statement(door: FrontEnd) -> None:
    for form, columns in (("EXPLAIN", ["explain_key", "explain_value"]), ("DESCRIBE", None)):
        table = door.run(f"{form} {ENDLESS_AND_LEGITIMATE}").table
        assert columns is None or table.column_names == columns
    assert door.session.spent() == 0


@pytest.mark.heavy(family="long")
def test_answers_arrive_as_they_are(remote: RemoteDatabase) -> None:
    row = {field.name: None for field in RELEASE_SCHEMA} | {
        "measure": "it's \u00e9\n",
        "value": 0.1,
        "theta": 2**53 + 1,
    }
    answers = {"release_1": pa.Table.from_pylist([row] * 3_000, schema=RELEASE_SCHEMA)}
    with remote.statement("SELECT * FROM answers.release_1", {"release_1": RELEASE_SCHEMA}) as statement:
        statement.rehearse()
        assert statement.run(answers).to_pylist() == [row] * 3_000
