"""One release is of one state of its files: a change between two slices is noticed on every account, however made."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from stub_noise import StubNoise

import dpdb
from dpdb.doors.cli.main import main
from dpdb.errors import EngineError, LedgerError, SourceError
from dpdb.ledger import Ledger
from dpdb.privacy.noise import replaced_noise
from dpdb.release.ask import Ask
from dpdb.release.statistics import PrivateSlices
from dpdb.sources.open import find_files

RULE = "k -> v"
SLICES: dict[str, Any] = {"by": "g", "keys": ["a", "b"], "theta": 100}


def people(first: str, second: str) -> pa.Table:
    """50 people who are in conflict with one another, all in the first slice, and one in the second."""
    return pa.table({"g": [first] * 50 + [second], "k": [0] * 51, "v": list(range(51))})


BEFORE, AFTER = people("a", "b"), people("b", "a")


def parquet(path: Path, rows: pa.Table) -> Path:
    pq.write_table(rows, path)
    return path


def database(path: Path, rows: pa.Table) -> Path:
    with duckdb.connect(str(path)) as connection:
        connection.register("given", rows)
        connection.execute("CREATE TABLE t AS FROM given")
    return path


def folder(path: Path, rows: pa.Table) -> Path:
    """Write the people into a folder of files, of which the last one has them; return that one."""
    path.mkdir()
    parquet(path / "1.parquet", rows.slice(0, 0))
    return parquet(path / "2.parquet", rows)


KINDS: dict[str, Callable[[Path, pa.Table], Path]] = {"parquet": parquet, "duckdb": database, "folder": folder}


def replaced(path: Path, other: Path) -> None:
    other.replace(path)


def replaced_with_its_times(path: Path, other: Path) -> None:
    found = path.stat()
    os.utime(other, ns=(found.st_atime_ns, found.st_mtime_ns))
    other.replace(path)


def rewritten(path: Path, other: Path) -> None:
    """Write other bytes into the same file, and set its time back."""
    found = path.stat()
    with path.open("r+b") as file:
        file.write(other.read_bytes())
        file.truncate()
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


CHANGES = (replaced, replaced_with_its_times, rewritten)


def budget(_: Path) -> dict[str, Any]:
    return {"budget": 10}


def unlimited(_: Path) -> dict[str, Any]:
    return {}


def epochs(place: Path) -> dict[str, Any]:
    Ledger.create(place / "t.ledger", 10).close()
    return {"ledger": place / "t.ledger"}


def append_only(place: Path) -> dict[str, Any]:
    Ledger.create(place / "t.ledger", 10, append_only=True).close()
    return {"ledger": place / "t.ledger"}


ACCOUNTS = (budget, unlimited, epochs, append_only)


@contextmanager
def after_the_first_slice(change: Callable[[], object]) -> Iterator[None]:
    """Let something happen when the first slice of a release has been read."""
    pending = [change]
    with pytest.MonkeyPatch.context() as patch:
        for name in ("statistics", "by_rule"):
            read = getattr(PrivateSlices, name)

            def changing(*arguments: Any, read: Any = read, **options: Any) -> Any:
                found = read(*arguments, **options)
                found.degree_bound()
                while pending:
                    pending.pop()()
                return found

            patch.setattr(PrivateSlices, name, changing)
        yield
    assert not pending


@pytest.mark.heavy
@pytest.mark.parametrize("account", ACCOUNTS)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", KINDS)
def test_slices_of_one_release_are_of_one_state(
    kind: str, change: Callable[[Path, Path], None], account: Callable[[Path], dict[str, Any]], tmp_path: Path
) -> None:
    """The 50 would be answered about in both slices, for one charge."""
    path = KINDS[kind](tmp_path / "t", BEFORE)
    other = KINDS["duckdb" if kind == "duckdb" else "parquet"](tmp_path / "other", AFTER)
    # As large as the other one, so that its size alone tells nothing.
    assert kind == "duckdb" or path.stat().st_size == other.stat().st_size
    with (
        replaced_noise(StubNoise()),
        dpdb.open(tmp_path / "t", constraints=RULE, **account(tmp_path)) as session,
    ):
        with after_the_first_slice(lambda: change(path, other)), pytest.raises(EngineError) as failed:
            session.dp_inconsistency("problematic", 1, **SLICES)
        assert "failed after its budget was debited" in str(failed.value)
        assert session.spent() == 1
        for ask in (lambda: session.dp_inconsistency("problematic", 1, **SLICES), lambda: session.dp_count(1)):
            with pytest.raises(SourceError, match="changed after this session opened it"):
                ask()
        assert session.spent() == 1


@pytest.mark.heavy
@pytest.mark.parametrize("ask", [("problematic", "by_rule"), ("count", None)])
@pytest.mark.parametrize("account", ACCOUNTS)
def test_so_are_those_of_other_ways_to_read(
    ask: tuple[str, str | None], account: Callable[[Path], dict[str, Any]], tmp_path: Path
) -> None:
    path, other = parquet(tmp_path / "t", BEFORE), parquet(tmp_path / "other", AFTER)
    ways = StubNoise(lambda: rewritten(path, other) if other.exists() and not done.append(1) else None)
    done: list[int] = []
    with dpdb.open(path, constraints=RULE, **account(tmp_path)) as session, replaced_noise(ways):
        with pytest.raises(EngineError, match="failed after its budget was debited"):
            session.release(Ask(ask[0], 1, by="g", keys=["a", "b"], mechanism=ask[1]))
        assert done
        assert session.spent() == 1


@pytest.mark.parametrize("account", ACCOUNTS)
def test_between_releases_a_change_costs_nothing(account: Callable[[Path], dict[str, Any]], tmp_path: Path) -> None:
    path, other = parquet(tmp_path / "t", BEFORE), parquet(tmp_path / "other", AFTER)
    with dpdb.open(path, constraints=RULE, **account(tmp_path)) as session, replaced_noise(StubNoise()):
        assert session.dp_inconsistency("problematic", 1, theta=100).value == 51  # type: ignore[union-attr]
        rewritten(path, other)
        with pytest.raises(SourceError, match="changed after this session opened it"):
            session.dp_inconsistency("problematic", 1, theta=100)
        path.unlink()
        with pytest.raises(SourceError, match="no such file"):
            session.dp_count(1)
        assert session.spent() == 1


def test_a_ledger_notices_between_sessions_what_was_rewritten_with_its_old_size_and_time(tmp_path: Path) -> None:
    path, other = parquet(tmp_path / "t", BEFORE), parquet(tmp_path / "other", AFTER)
    options = epochs(tmp_path)
    with dpdb.open(path, constraints=RULE, **options) as session:
        session.dp_count(1, where="g = 'a'")
    with dpdb.open(path, constraints=RULE, **options) as session:
        session.dp_count(1, where="g = 'a'")
    before = path.stat()
    rewritten(path, other)
    assert (before.st_size, before.st_mtime_ns) == (path.stat().st_size, path.stat().st_mtime_ns)
    with dpdb.open(path, constraints=RULE, **options) as session:
        spent = session.spent()
        with pytest.raises(LedgerError, match="dpdb budget epoch"):
            session.dp_count(1, where="g = 'a'")
        assert session.spent() == spent


@pytest.mark.parametrize("account", [budget, append_only])
def test_rows_in_the_log_of_a_duckdb_file_are_rows(account: Callable[[Path], dict[str, Any]], tmp_path: Path) -> None:
    path, log = tmp_path / "t", tmp_path / "t.wal"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (g VARCHAR, k INTEGER, v INTEGER)")
        connection.execute("CHECKPOINT")
        connection.execute("PRAGMA disable_checkpoint_on_shutdown")
        connection.execute("INSERT INTO t SELECT 'a', 0, range FROM range(3)")
    assert log.stat().st_size
    with dpdb.open(path, constraints=RULE, **account(tmp_path)) as session, replaced_noise(StubNoise()):
        assert session.dp_count(1).value == 3  # type: ignore[union-attr]
        times = log.stat().st_atime_ns, log.stat().st_mtime_ns
        log.write_bytes(log.read_bytes())
        os.utime(log, ns=times)
        with pytest.raises(SourceError, match="changed after this session opened it"):
            session.dp_count(1)


def test_what_is_written_twice_within_one_step_of_the_clock_is_noticed(tmp_path: Path) -> None:
    """Else a file that is written, opened and rewritten at once has one state for both contents."""
    path = tmp_path / "t.csv"
    for number in range(30):
        path.write_text("a,b\n1,2\n")
        found = find_files(str(path))
        opened = found.settled_state()
        path.write_text("a,b\n2,1\n")
        os.utime(path, ns=(1, 1))
        again = path.stat().st_ctime_ns
        assert found.state() != opened, number
        assert f",{again}," in (found.state() or "")


@pytest.mark.heavy
@pytest.mark.parametrize("account", ACCOUNTS)
def test_the_command_line_prints_no_answer_about_two_states(
    account: Callable[[Path], dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, other = parquet(tmp_path / "t.parquet", BEFORE), parquet(tmp_path / "other", AFTER)
    options = [f"--{name}={value}" for name, value in account(tmp_path).items()]
    command = ["measure", str(path), "--constraints", RULE, "--measure", "problematic", "--epsilon", "1", "--theta"]
    command += ["100", "--by", "g", "--keys", "a,b", *(option for option in options if "ledger" in option)]
    with after_the_first_slice(lambda: rewritten(path, other)):
        assert main(command) not in (0, None)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "the release failed after its budget was debited" in shown.err
    if "ledger" in account.__name__:
        with Ledger.open(tmp_path / "t.ledger") as ledger:
            assert ledger.summary().spent == 1


def csv(path: Path, rows: pa.Table) -> Path:
    pyarrow.csv.write_csv(rows, path)
    return path


def feather(path: Path, rows: pa.Table) -> Path:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_table(rows)
    return path


@pytest.mark.heavy
@pytest.mark.parametrize("kind", [csv, feather])
@pytest.mark.parametrize("account", [budget, unlimited, append_only])
def test_what_was_copied_at_the_opening_is_answered_whatever_becomes_of_its_files(
    kind: Callable[[Path, pa.Table], Path], account: Callable[[Path], dict[str, Any]], tmp_path: Path
) -> None:
    path, other = kind(tmp_path / "t.csv", BEFORE), kind(tmp_path / "other.csv", AFTER)
    with dpdb.open(path, constraints=RULE, **account(tmp_path)) as session, replaced_noise(StubNoise()):
        with after_the_first_slice(lambda: replaced(path, other)):
            found = session.dp_inconsistency("problematic", 1, **SLICES)
        assert [release.value for release in found] == [50, 0]


def test_a_ledger_of_epochs_publishes_nothing_about_a_copy_whose_file_has_changed_meanwhile(tmp_path: Path) -> None:
    """The next session will read other rows, and its debits shall not count beside this one in one epoch."""
    path, other = csv(tmp_path / "t.csv", BEFORE), csv(tmp_path / "other.csv", AFTER)
    with dpdb.open(path, constraints=RULE, **epochs(tmp_path)) as session, replaced_noise(StubNoise()):
        with (
            after_the_first_slice(lambda: replaced(path, other)),
            pytest.raises(EngineError, match="failed after its budget was debited"),
        ):
            session.dp_inconsistency("problematic", 1, **SLICES)
        assert session.spent() == 1


@pytest.mark.heavy
@pytest.mark.parametrize("account", [budget, append_only])
def test_so_are_keys_of_parents(account: Callable[[Path], dict[str, Any]], tmp_path: Path) -> None:
    path = parquet(tmp_path / "t", BEFORE)
    parent = parquet(tmp_path / "p", pa.table({"id": [1]}))
    rules = ["k IN p.id"]
    with (
        dpdb.open(path, constraints=rules, public_parents={"p": parent}, **account(tmp_path)) as session,
        replaced_noise(StubNoise()),
    ):
        with after_the_first_slice(lambda: parquet(parent, pa.table({"id": [0, 1]}))):
            found = session.dp_inconsistency("problematic", 1, by="g", keys=["a", "b"])
        assert [release.value for release in found] == [50, 1]


def test_a_link_that_leads_elsewhere_and_back_is_not_followed_again(tmp_path: Path) -> None:
    """Of two slices each is of the file that was opened, whatever the link says while the second one is read."""
    first, second = parquet(tmp_path / "1.parquet", BEFORE), parquet(tmp_path / "2.parquet", AFTER)
    link, read = tmp_path / "t.parquet", []
    link.symlink_to(first)

    def lead(step: str) -> None:
        if step == "reading the table":
            read.append(step)
        if len(read) == 2 and step in ("reading the table", "drawing noise"):
            (tmp_path / "other").symlink_to(second if step == "reading the table" else first)
            (tmp_path / "other").replace(link)

    with replaced_noise(StubNoise()), dpdb.open(link, constraints=RULE, budget=1, progress=lead) as session:
        found = session.dp_inconsistency("minimal_inconsistency", 1, **SLICES)
    assert len(read) == 2
    assert [release.value for release in found] == [50 * 49 // 2, 0]
