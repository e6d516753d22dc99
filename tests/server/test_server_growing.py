"""Served tables whose files change: opened again by themselves, or when their owner says so, and what analysts see."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from private_rows import private_rows
from server_site import Server, Site, make_site

from dpdb.doors.server.configuration import load_configuration
from dpdb.doors.server.reopening import ServedTables
from dpdb.doors.server.tables import OpenTable
from dpdb.errors import SourceError
from dpdb.ledger import Ledger

CERTAIN = "SELECT value FROM dp_count('visits', 60, label := '{}')"


def site_of(folder: Path, *, append_only: bool, csv: bool = False, unit: bool = False) -> Site:
    site = make_site(folder, analysts={"ann": {}, "olga": {"role": "owner"}})
    for file in folder.glob("visits.ledger*"):
        file.unlink()
    Ledger.create(folder / "visits.ledger", 50_000, append_only=append_only).close()
    if csv:
        text = site.config.read_text().replace('"visits.parquet"', '"visits.csv"')
        kinds = ", ".join(
            f'{one.name} = "{"BIGINT" if one.type == pa.int64() else "VARCHAR"}"' for one in private_rows().schema
        )
        site.config.write_text(text.replace("results =", f"schema = {{ {kinds} }}\nresults ="))
        write(folder, private_rows())
    return Site(folder, {name: site.add(name, role=role) for name, role in (("ann", "analyst"), ("olga", "owner"))})


def write(folder: Path, rows: pa.Table) -> None:
    """Put a file in the place of the one before, as those who know how do it."""
    pq.write_table(rows, folder / "new.parquet")
    pa.csv.write_csv(rows, folder / "new.csv")
    (folder / "new.parquet").replace(folder / "visits.parquet")
    (folder / "new.csv").replace(folder / "visits.csv")


def becomes(found: Callable[[], Any], wanted: Any, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while (last := found()) != wanted:
        assert time.monotonic() < until, (last, wanted)
        time.sleep(0.2)


def counted(server: Server, label: str = "a") -> int | str:
    """The number of rows, or the words of a refusal."""
    found = server.ask("ann", CERTAIN.format(label))
    if found.status_code == 200:
        return round(found.json()["rows"][0][0])
    assert (found.status_code, found.json()["error"]) == (503, "unavailable"), found.text
    return str(found.json()["message"])


TOLD = "the table cannot be read as it was when the server opened it; the reason is in the owner's log"


@pytest.mark.heavy(family="spending")
@pytest.mark.parametrize("csv", [False, True])
def test_a_table_of_an_append_only_ledger_is_opened_again_by_itself(csv: bool, tmp_path: Path) -> None:
    site = site_of(tmp_path, append_only=True, csv=csv)
    rows = private_rows()
    with Server(site) as server:
        assert counted(server) == 6
        for size in (12, 24):
            rows = pa.concat_tables([rows, rows])
            write(tmp_path, rows)
            becomes(lambda: counted(server), size)
            assert server.ask("ann", "SELECT * FROM dp_check('nightly', 1)").status_code == 200
    lines = [line for line in server.said if "its rows have changed" in line]
    assert lines == ["dpdb: visits: its rows have changed, and it was opened again\n"] * 2


@pytest.mark.heavy(family="long")
def test_a_file_that_cannot_be_opened_looks_like_one_being_opened(tmp_path: Path) -> None:
    """A file of no table, another table, a pipe, none at all: the same words, also for what costs nothing."""
    site = site_of(tmp_path, append_only=True)
    with Server(site) as server:
        assert counted(server) == 6
        told = set()
        for number, damage in enumerate((damaged, of_other_columns, a_pipe, missing)):
            damage(tmp_path / "visits.parquet")
            until = time.monotonic() + 4
            while time.monotonic() < until:
                told.add(counted(server))
                assert server.ask("ann", "SELECT 1").status_code == 200
                assert server.ask("ann", CERTAIN.format("x"), path="/v1/explain").status_code == 200
            assert told == {TOLD}, damage
            assert any("cannot be opened again" in line for line in server.said), (number, server.said)
        write(tmp_path, pa.concat_tables([private_rows()] * 3))
        os.kill(server.process.pid, signal.SIGHUP)
        becomes(lambda: counted(server), 18)
    assert str(tmp_path) not in "".join(map(str, told))


def damaged(path: Path) -> None:
    path.with_name("damaged").write_bytes(b"PAR1" + b"x" * 100)
    path.with_name("damaged").replace(path)


def of_other_columns(path: Path) -> None:
    pq.write_table(pa.table({"zip": ["1"]}), path.with_name("other"))
    path.with_name("other").replace(path)


def a_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.with_name("pipe").replace(path)


def missing(path: Path) -> None:
    path.unlink()


@pytest.mark.heavy(family="spending")
def test_the_owner_of_another_ledger_gets_one_line_and_sends_sighup(tmp_path: Path) -> None:
    site = site_of(tmp_path, append_only=False)
    with Server(site) as server:
        assert counted(server, "a") == 6
        write(tmp_path, pa.concat_tables([private_rows()] * 2))
        becomes(lambda: sum("SIGHUP" in line for line in server.said), 1)
        for _ in range(4):
            assert counted(server, "b") == TOLD
            time.sleep(0.6)
        with Ledger.open(site.ledger) as ledger:
            ledger.open_epoch()
        assert counted(server, "b") == TOLD
        os.kill(server.process.pid, signal.SIGHUP)
        becomes(lambda: counted(server, "b"), 12)
        assert counted(server, "c") == 12
    lines = [line for line in server.said if "its rows have changed" in line]
    assert len(lines) == 2
    assert "open an epoch" in lines[0]
    assert lines[1].endswith("opened again\n")
    assert site.spent() == pytest.approx(180)  # three answers, refusals cost nothing


@pytest.mark.heavy(family="long")
def test_statements_that_run_keep_their_table_open(tmp_path: Path) -> None:
    """The one that is opened again closes the one before when its last statement is done."""
    site = site_of(tmp_path, append_only=True)
    said: list[str] = []
    with ServedTables(load_configuration(site.config)) as tables:
        old = tables["visits"]
        closed = threading.Event()
        old._opened.callback(closed.set)
        with old.in_use():
            with old.in_use():
                write(tmp_path, pa.concat_tables([private_rows()] * 2))
                tables.look(said.append)
                assert tables["visits"] is not old
            assert not closed.is_set()
            assert not old.front_end.session._closed
        assert closed.is_set()
        assert said == ["visits: its rows have changed, and it was opened again"]
        now = tables["visits"]
        for _ in range(3):
            tables.look(said.append)
        assert tables["visits"] is now
        assert len(said) == 1


@pytest.mark.heavy(family="privacy")
def test_no_table_is_closed_between_its_choice_and_its_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = site_of(tmp_path, append_only=True)
    with ServedTables(load_configuration(site.config)) as tables:
        old, original = tables["visits"], OpenTable.in_use
        closed = threading.Event()
        old._opened.callback(closed.set)
        looking = threading.Thread(target=tables.look, args=[[].append])

        def chosen(table: OpenTable) -> Any:
            """Let the other be opened again just now."""
            if table is old:
                looking.start()
                looking.join(5)  # it may wait for us
            return original(table)

        monkeypatch.setattr(OpenTable, "in_use", chosen)
        write(tmp_path, pa.concat_tables([private_rows()] * 2))
        with tables.in_use("visits") as table:
            looking.join()
            assert table is old
            assert not closed.is_set()
        assert closed.is_set()
        assert tables["visits"] is not old


@pytest.mark.heavy(family="spending")
def test_what_was_paid_for_goes_over_to_the_table_that_is_opened_again(tmp_path: Path) -> None:
    site = site_of(tmp_path, append_only=True)
    with ServedTables(load_configuration(site.config)) as tables:
        door = tables["visits"].front_end.of_analyst("ann")
        text = "SELECT value FROM dp_count('visits', 1)"
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("dpdb.doors.sql.child.remote_database.RemoteStatement.run", failing)
            with pytest.raises(SourceError):
                door.run(text)
        [kept] = door.kept
        write(tmp_path, pa.concat_tables([private_rows()] * 2))
        tables.look(print)
        again = tables["visits"].front_end.of_analyst("ann")
        again.take_over(door)
        assert again.kept == (kept,)
        assert again.run(text).releases == (kept,)
        assert site.spent() == 1


def failing(*args: object, **named: object) -> None:
    raise SourceError("stopped by the test")


@pytest.mark.heavy(family="long")
def test_a_table_that_grows_without_a_pause_is_not_opened_all_the_time(tmp_path: Path) -> None:
    site = site_of(tmp_path, append_only=True)
    with ServedTables(load_configuration(site.config)) as tables:
        opened, original = [], tables._opened

        def counting(table: Any) -> Any:
            opened.append(time.monotonic())
            return original(table)

        tables._opened = counting  # type: ignore[method-assign]
        began = time.monotonic()
        for number in range(40):
            write(tmp_path, pa.concat_tables([private_rows()] * (number + 2)))
            tables.look(lambda line: None)
        took = time.monotonic() - began
        assert 1 <= len(opened) < 40 or took > 40
