"""A ledger has one place and one name, also in a folder where others may put files."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from inside import file_of
from text_reader import parse_where

from dpdb.errors import LedgerError
from dpdb.files import owned_file
from dpdb.files.owned_file import FileLock, is_mounted_alone, read_owned, replace_owned
from dpdb.ledger import Ledger, SourceMark
from dpdb.ledger.store.file import LedgerFile, RunLock

SOURCE = SourceMark("table", "content")


def spend(path: Path, run_id: str | None = None) -> None:
    with Ledger.open(path) as ledger:
        debit(ledger, run_id)


def debit(ledger: Ledger, run_id: str | None = None) -> None:
    found = ledger.reserve(parse_where("a = 1"), 1000, source=SOURCE, request="{}", run_id=run_id)
    with contextlib.closing(found):
        ledger.record(found, '"answer"')


def spent(path: Path) -> int:
    with Ledger.open(path) as ledger:
        return ledger.spent_units()


@pytest.fixture
def used(tmp_path: Path) -> Path:
    """A ledger with one release, in a folder of its own."""
    path = tmp_path / "real" / "t.ledger"
    path.parent.mkdir()
    Ledger.create(path, 1).close()
    spend(path)
    return path


# -- names ----------------------------------------------------------------------------------------------------


def test_a_second_name_is_refused_before_and_after_it_is_opened(used: Path) -> None:
    """Two names would have two heads and two write-ahead logs: 1.8 was released from a budget of 1."""
    with Ledger.open(used) as ledger:
        other = used.with_name("other.ledger")
        other.hardlink_to(used)
        for ask in (lambda: debit(ledger), lambda: spent(used), lambda: spent(other)):
            with pytest.raises(LedgerError, match=r"it has 2 names \(hard links\); keep one; nothing was released"):
                ask()
        other.unlink()
        debit(ledger)
    assert spent(used) == 2000


def test_the_log_of_a_killed_ledger_is_not_taken_for_a_new_ones(tmp_path: Path) -> None:
    """SQLite reads it into whatever file has the name: a ledger made with a budget of 1 had the old one of 5."""
    path = tmp_path / "t.ledger"
    if (child := os.fork()) == 0:
        debit(Ledger.create(path, 5))
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    path.unlink()
    with pytest.raises(LedgerError, match=r"t.ledger-wal: is left of a ledger .*remove this file, too"):
        Ledger.create(path, 1)
    for side in ("-wal", "-shm"):
        Path(f"{path}{side}").unlink()
    with Ledger.create(path, 1) as ledger:
        assert (ledger.summary().budget, ledger.spent_units()) == (1, 0)


@pytest.mark.parametrize("text", [None, "a letter\n", '{"format": 3}\n00ff\n'])
def test_what_is_no_head_is_not_removed_as_one(text: str | None, tmp_path: Path) -> None:
    other = tmp_path / "t.ledger-head"
    if text is None:
        Ledger.create(other, 1).close()
    else:
        other.write_text(text)
        other.chmod(0o600)
    before = other.read_bytes()
    with pytest.raises(LedgerError, match="another file has the name of the ledger's head; move it away"):
        Ledger.create(tmp_path / "t.ledger", 1)
    assert other.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["t.ledger-head"]


@pytest.mark.parametrize("name", ["other.ledger", "with \\ and space.ledger"])
def test_a_ledger_that_is_mounted_alone_is_refused(
    name: str, used: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container that is given the ledger only takes its write-ahead log, and so its debits, with it when it ends."""
    place = used.with_name(name)
    shutil.copy(used, place)
    mounts = tmp_path / "mountinfo"
    escaped = str(place).replace("\\", "\\134").replace(" ", "\\040")
    mounts.write_text(
        f"22 1 254:0 / / rw - ext4 /dev/vda rw\n63 22 254:0 {used} {escaped} rw,relatime - ext4 /dev/vda rw\n"
    )
    monkeypatch.setattr(owned_file, "MOUNTS", mounts)
    with pytest.raises(LedgerError, match=r"mounted alone.*nothing was released, mount the folder"):
        spent(place)
    assert spent(used) == 1000
    mounts.unlink()  # a system that has none
    assert spent(used) == 1000


def test_the_kernel_lists_mounted_files_as_is_read_here(used: Path) -> None:
    place = used.with_name("a b.ledger")
    place.touch(0o600)
    mount = ["mount", "--bind", str(used), str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("needs the right to mount a file")
    try:
        assert is_mounted_alone(place)
        assert not is_mounted_alone(used)
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_symbolic_link_is_the_same_ledger_with_the_same_head(used: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.ledger"
    link.symlink_to(used)
    (tmp_path / "folder").symlink_to(used.parent, target_is_directory=True)
    spend(link, "x")
    spend(tmp_path / "folder" / "t.ledger")
    assert spent(used) == 3000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "link.ledger", "real"]
    assert sorted(path.name for path in used.parent.iterdir()) == ["t.ledger", "t.ledger-head"]


def test_messages_name_the_ledger_as_it_was_asked_for(
    used: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link.ledger").symlink_to(used)
    monkeypatch.chdir(tmp_path)
    used.chmod(0o640)
    with pytest.raises(LedgerError, match=r"^link\.ledger: others may read or change it; `chmod 600` it"):
        Ledger.open("link.ledger")
    used.chmod(0o600)
    used.with_name("t.ledger-head").write_text("x")
    with pytest.raises(LedgerError, match=r"^link\.ledger-head: not the head of this ledger"):
        Ledger.open("link.ledger")


def test_a_ledger_is_found_again_after_the_working_folder_changed(used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(used.parent)
    with Ledger.open("t.ledger") as ledger:
        monkeypatch.chdir("/")
        debit(ledger, "x")
    assert spent(used) == 2000


@pytest.mark.parametrize("loop", [True, False])
def test_links_that_lead_nowhere_are_no_ledger(loop: bool, tmp_path: Path) -> None:
    link = tmp_path / "t.ledger"
    link.symlink_to("t.ledger" if loop else "nowhere")
    with pytest.raises(LedgerError, match="no ledger there"):
        Ledger.open(link)
    with pytest.raises(LedgerError, match="exists already"):
        Ledger.create(link, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["t.ledger"]


# -- another file in its place ----------------------------------------------------------------------------------


def in_place(new: Path, used: Path) -> None:
    shutil.copyfile(new, used)


def by_rename(new: Path, used: Path) -> None:
    new.rename(used)


@pytest.mark.parametrize("replace", [in_place, by_rename])
def test_an_old_copy_put_back_under_an_open_ledger_is_noticed_before_a_debit(
    replace: Callable[[Path, Path], None], used: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copy(used, copy)
    spend(used)
    with Ledger.open(used) as ledger:
        replace(copy, used)
        with pytest.raises(LedgerError, match=r"put in the ledger's place|lost its newest|damaged"):
            debit(ledger)
    with pytest.raises(LedgerError, match=r"lost its newest|damaged"):
        Ledger.open(used)


@pytest.mark.parametrize("replace", [in_place, by_rename])
def test_another_ledger_put_under_an_open_one_is_noticed(
    replace: Callable[[Path, Path], None], used: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.ledger"
    Ledger.create(other, 5).close()
    spend(other)
    with Ledger.open(used) as ledger:
        replace(other, used)
        with pytest.raises(LedgerError, match=r"put in the ledger's place|lost its newest"):
            debit(ledger)


@pytest.mark.parametrize("side", ["-wal"])
@pytest.mark.parametrize("put_back", [False, True])
def test_a_write_ahead_log_taken_from_an_open_ledger_is_noticed(side: str, put_back: bool, used: Path) -> None:
    with Ledger.open(used) as ledger:
        debit(ledger)
        log = Path(f"{used}{side}")
        content = log.read_bytes()
        log.unlink()
        if put_back:
            log.write_bytes(content)
            log.chmod(0o600)
        with pytest.raises(LedgerError, match="another file was put in the ledger's place while it was open"):
            debit(ledger)
    assert spent(used) == 2000


def test_a_write_ahead_log_exchanged_while_a_ledger_is_opened_is_noticed(
    used: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite has opened the one, and the other has the name: what is written to the first one is lost."""
    check_format = LedgerFile._check_format

    def slow(file: LedgerFile) -> int:
        log = Path(f"{used}-wal")
        content = log.read_bytes()
        log.unlink()
        log.write_bytes(content)
        log.chmod(0o600)
        return check_format(file)

    with Ledger.open(used) as other:
        debit(other)
        monkeypatch.setattr(LedgerFile, "_check_format", slow)
        with pytest.raises(LedgerError, match="another file was put in the ledger's place while it was open"):
            Ledger.open(used)


def test_a_write_ahead_log_exchanged_as_soon_as_an_opening_made_it_is_not_taken_for_its_own(
    used: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by the simulation (seed 1968): nobody else was there, so nobody knew which log the opening had made."""
    rows, exchanged = LedgerFile.rows, []

    def slow(file: LedgerFile, sql: str, values: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
        found = rows(file, sql, values)
        if sql == "PRAGMA user_version" and not exchanged:
            log = Path(f"{used}-wal")
            exchanged.append(log.stat().st_ino)
            log.rename(f"{used}-aside")
            log.touch(0o600)
        return found

    monkeypatch.setattr(LedgerFile, "rows", slow)
    with Ledger.open(used) as ledger:
        debit(ledger)
        assert Path(f"{used}-wal").stat().st_size > 0
        assert Path(f"{used}-aside").stat().st_size == 0
    assert exchanged
    assert spent(used) == 2000


def test_a_ledger_that_is_open_exists_whatever_lies_beside_it(used: Path) -> None:
    """Its log is no leftover: who removed it would lose what was debited."""
    with Ledger.open(used) as ledger:
        debit(ledger)
        with pytest.raises(LedgerError, match="exists already; it is not overwritten"):
            Ledger.create(used, 1)


def test_a_removed_ledger_is_noticed(used: Path) -> None:
    with Ledger.open(used) as ledger:
        used.unlink()
        with pytest.raises(LedgerError, match="no ledger there"):
            debit(ledger)


# -- files in the way ------------------------------------------------------------------------------------------


def test_what_was_put_under_the_temporary_name_of_the_head_is_not_written_to(used: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    partial = used.with_name("t.ledger-head.partial")
    for put in (partial.symlink_to, partial.hardlink_to):
        put(victim)
        spend(used)
        assert victim.read_text() == "precious"
        assert not partial.exists()
    head = used.with_name("t.ledger-head")
    assert stat.S_IMODE(head.stat().st_mode) == 0o600
    assert not head.is_symlink()


PUT = {
    "symbolic link": (lambda path, victim: path.symlink_to(victim), "it is a symbolic link"),
    "link to nothing": (lambda path, victim: path.symlink_to(f"{victim}-nothing"), "it is a symbolic link"),
    "hard link": (lambda path, victim: path.hardlink_to(victim), "it has 2 names"),
    "pipe": (lambda path, _: os.mkfifo(path, 0o600), "it is not a plain file"),
    "folder": (lambda path, _: path.mkdir(mode=0o700), r"it is not a plain file|Is a directory"),
    "open to others": (lambda path, _: (path.touch(), path.chmod(0o606)), "others may read or change it"),
}


@pytest.mark.heavy
@pytest.mark.parametrize("side", ["-head", "-wal", "-journal", "-run-"])
@pytest.mark.parametrize(("put", "words"), PUT.values(), ids=PUT)
def test_what_lies_beside_a_ledger_is_its_own_or_refused(
    put: Callable[[Path, Path], None], words: str, side: str, used: Path, tmp_path: Path
) -> None:
    """Never followed, never waited for, never written to; nothing is released, and nothing is lost."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    victim.chmod(0o600)
    beside = Path(f"{used}{side}")
    if side == "-run-":
        with Ledger.open(used) as ledger:
            lock = RunLock(file_of(ledger), "x", 1.0)
            beside = lock._path
            lock.close()
    kept = beside.read_bytes() if beside.exists() else None
    beside.unlink(missing_ok=True)
    put(beside, victim)
    with pytest.raises(LedgerError, match=words):
        spend(used, "x")
    assert victim.read_text() == "precious"
    beside.rmdir() if beside.is_dir() and not beside.is_symlink() else beside.unlink()
    if kept is not None:
        beside.write_bytes(kept)
        beside.chmod(0o600)
    assert spent(used) == 1000
    spend(used, "x")


@pytest.mark.parametrize("side", ["", "-head", "-wal", "-run-"])
def test_what_belongs_to_another_user_is_refused(side: str, used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs to be the system's administrator, to make files of other users")
    me, other = 4242, 54321
    for path in used.parent.iterdir():
        os.chown(path, me, -1)
    with Ledger.open(used) as ledger:
        lock = RunLock(file_of(ledger), "x", 1.0)
        lock.close()
    foreign = lock._path if side == "-run-" else Path(f"{used}{side}")
    foreign.touch(0o600)
    os.chown(foreign, other, -1)
    monkeypatch.setattr(os, "geteuid", lambda: me)
    with pytest.raises(LedgerError, match="it belongs to another user"):
        spend(used, "x")


def test_the_administrator_gives_the_files_beside_a_ledger_to_its_owner(used: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs to be the system's administrator")
    for path in used.parent.iterdir():
        os.chown(path, 54321, 54321)
    with Ledger.open(used) as ledger:
        debit(ledger, "x")
        owners = {path.name: path.stat().st_uid for path in used.parent.iterdir()}
    assert owners == dict.fromkeys(["t.ledger", "t.ledger-head", "t.ledger-wal", "t.ledger-shm"], 54321)
    assert spent(used) == 2000


def test_a_ledger_in_a_folder_of_everybody_is_the_owners_only(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    old = os.umask(0)
    try:
        path = tmp_path / "t.ledger"
        with Ledger.create(path, 1) as ledger:
            found = ledger.reserve(parse_where(""), 10, source=SOURCE, request="{}", run_id="x")
            ledger.record(found, "[]")
            modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in tmp_path.iterdir()}
            found.close()
    finally:
        os.umask(old)
    assert len(modes) == 5  # ledger, head, log and its index, lock of the run
    assert set(modes.values()) == {0o600}


# -- making one ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["partial", "name taken"])
def test_a_ledger_is_made_completely_or_not_at_all(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.ledger"
    if step == "partial":
        monkeypatch.setattr("dpdb.ledger.store.head.TABLES", "CREATE TABLE no ledger")
    else:

        def full(*args: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(LedgerError, match="cannot be made"):
        Ledger.create(path, 1)
    assert list(tmp_path.iterdir()) == []


def test_what_a_kill_between_name_and_content_leaves_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "t.ledger"
    path.touch(0o600)
    with pytest.raises(LedgerError, match="the file is empty; remove it and make a ledger"):
        Ledger.open(path)
    with pytest.raises(LedgerError, match="exists already"):
        Ledger.create(path, 1)


# -- the small files --------------------------------------------------------------------------------------------


def test_a_file_is_replaced_completely_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "small"
    replace_owned(path, "one")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            replace_owned(path, "two")
    assert read_owned(path) == "one"
    assert [entry.name for entry in tmp_path.iterdir()] == ["small"]


def test_a_lock_does_not_wait_for_a_file_that_is_not_its_own(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "lock", 0o600)
    with pytest.raises(PermissionError):
        FileLock(tmp_path / "lock", 60.0)


def test_looking_at_a_ledger_does_not_end_the_locks_on_it(used: Path) -> None:
    """Closing any descriptor of a file ends this process's locks on it, so nothing but SQLite may open a ledger."""
    opened = []
    real = os.open

    def watched(path: object, *args: int, **options: object) -> int:
        opened.append(os.fspath(path))  # type: ignore[call-overload]
        return real(path, *args, **options)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "open", watched)
        spend(used, "x")
    assert str(used) not in map(str, opened)
    assert any(str(path).endswith("-head.partial") for path in opened)
    with contextlib.closing(LedgerFile(used)) as file:
        assert file.path == used
