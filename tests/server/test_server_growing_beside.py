"""Files beside a served table that change: its ledger, public tables, public parents; and DuckDB files that grow."""

from __future__ import annotations

import os
import signal
from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from private_rows import RULE, private_rows
from server_site import Server, make_site
from test_server_growing import becomes, counted, site_of, write

from dpdb.doors.server.configuration import load_configuration
from dpdb.doors.server.reopening import ServedTables
from dpdb.doors.server.tables import OpenTable
from dpdb.doors.sql import PublicTables
from dpdb.doors.sql.child.messages import Limits
from dpdb.doors.sql.child.remote_database import RemoteDatabase
from dpdb.errors import ParameterError, SourceError
from dpdb.ledger import Ledger

PEOPLE = "SELECT sum(people) FROM states"


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each look try anew."""
    monkeypatch.setattr("dpdb.doors.server.reopening._Wait.is_over", lambda wait: True)


@pytest.mark.heavy(family="spending")
@pytest.mark.parametrize("append_only", [True, False])
@pytest.mark.usefixtures("at_once")
def test_a_ledger_that_cannot_be_read_is_told_as_that(append_only: bool, tmp_path: Path) -> None:
    """Not as a ledger of the rows before, whose owner is to open an epoch."""
    site, said = site_of(tmp_path, append_only=append_only), list[str]()
    with ServedTables(load_configuration(site.config)) as tables:
        write(tmp_path, pa.concat_tables([private_rows()] * 2))
        site.ledger.rename(tmp_path / "elsewhere")
        for _ in range(3):
            tables.look(said.append)
        assert len(said) == 1
        assert "cannot be opened again: analysts get 503 until it can: " in said[0]
        assert "visits.ledger" in said[0]
        assert "epoch" not in said[0]
        (tmp_path / "elsewhere").rename(site.ledger)
        tables.look(said.append)
        assert ("was opened again" if append_only else "open an epoch") in said[1]


@pytest.mark.heavy(family="long")
@pytest.mark.usefixtures("at_once")
def test_what_is_wrong_with_one_table_keeps_no_other_from_being_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    site, said = site_of(tmp_path, append_only=True), list[str]()
    Ledger.create(tmp_path / "other.ledger", 5, append_only=True).close()
    text = site.config.read_text()
    other = '[tables.a]\nsource = "other.parquet"\nledger = "other.ledger"\n[tables.visits]'
    (tmp_path / "other.parquet").write_bytes((tmp_path / "visits.parquet").read_bytes())
    site.config.write_text(text.replace("[tables.visits]", other))
    with ServedTables(load_configuration(site.config)) as tables:
        broken, original = tables["a"], OpenTable.has_changed

        def has_changed(table: OpenTable) -> bool:
            if table is broken:
                raise RuntimeError("nobody foresaw this")
            return original(table)

        monkeypatch.setattr(OpenTable, "has_changed", has_changed)
        write(tmp_path, pa.concat_tables([private_rows()] * 2))
        for _ in range(3):
            tables.look(said.append)
        assert [line.partition(":")[0] for line in said] == ["a", "visits"]
        assert said[1].endswith("it was opened again")
        assert "foresaw" not in said[0]
        assert sum("foresaw" in str(record.exc_info) for record in caplog.records) == 1


@pytest.mark.heavy(family="long")
def test_a_duckdb_file_that_grows_is_opened_again_by_itself(tmp_path: Path) -> None:
    """Its owner writes to it from another process, while the server runs, and puts a new file in its place."""
    site = site_of(tmp_path, append_only=True)
    site.config.write_text(site.config.read_text().replace('"visits.parquet"', '"visits.duckdb"'))

    def copied(times: int, name: str) -> None:
        with closing(duckdb.connect(str(tmp_path / name))) as made:
            made.register("given", pa.concat_tables([private_rows()] * times))
            made.execute("CREATE TABLE visits AS FROM given")

    copied(1, "visits.duckdb")
    with Server(site) as server:
        assert counted(server) == 6
        copied(2, "new.duckdb")
        (tmp_path / "new.duckdb").replace(tmp_path / "visits.duckdb")
        becomes(lambda: counted(server), 12)
        copied(4, "new.duckdb")
        (tmp_path / "new.duckdb").replace(tmp_path / "visits.duckdb")
        becomes(lambda: counted(server), 24)
    assert sum("it was opened again" in line for line in server.said) == 2


# -- public tables -----------------------------------------------------------------------------------------------


def states(folder: Path, people: list[int], **more: list[int]) -> None:
    (folder / "new").write_text(
        "\n".join([",".join(["state", "people", *more]), *(f"CA,{one}{',1' * len(more)}" for one in people)])
    )
    (folder / "new").replace(folder / "states.csv")


@pytest.mark.heavy(family="long")
def test_public_tables_that_change_are_read_again(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    with Server(site) as server:

        def told() -> object:
            found = server.ask("ann", PEOPLE)
            return found.json()["rows"][0][0] if found.status_code == 200 else found.text

        assert told() == 87
        states(tmp_path, [1, 2])
        becomes(told, 3)
        for number, damage in enumerate((Path.unlink, lambda path: states(tmp_path, [5], area=[1]))):
            damage(tmp_path / "states.csv")
            becomes(lambda: sum("read again: statements" in line for line in server.said), number + 1)
            assert told() == 3
        states(tmp_path, [5, 6])
        os.kill(server.process.pid, signal.SIGHUP)
        becomes(told, 11)
    lines = [line for line in server.said if line.startswith("dpdb: public tables: ")]
    assert len(lines) == 4, lines
    assert "no such file" in lines[1]
    assert "states are others: start the server again" in lines[2]
    assert site.spent() == 0


@pytest.mark.heavy(family="long")
def test_a_statement_that_runs_keeps_the_public_tables_with_which_it_began(tmp_path: Path) -> None:
    rows = tmp_path / "states.parquet"
    pq.write_table(pa.table({"people": [1, 2]}), rows)
    with PublicTables({"states": rows}) as tables, closing(RemoteDatabase(tables, Limits(seconds=20))) as remote:

        def asked() -> object:
            with remote.statement(PEOPLE, {}) as statement:
                statement.rehearse()
                return statement.run({}).column(0)[0].as_py()

        assert not tables.has_changed()
        with remote.statement(PEOPLE, {}) as statement:
            before = tables.file
            pq.write_table(pa.table({"people": [10]}), tmp_path / "new")
            (tmp_path / "new").replace(rows)
            assert tables.has_changed()
            assert asked() == 3
            tables.open_again()
            assert not tables.has_changed()
            assert asked() == 10
            statement.rehearse()
            assert statement.run({}).column(0)[0].as_py() == 3
            assert before is not None
            assert before.exists()
        assert not before.exists()
        pq.write_table(pa.table({"people": ["ten"]}), rows)
        with pytest.raises(ParameterError, match="columns of states are others"):
            tables.open_again()
        rows.unlink()
        assert tables.has_changed()
        with pytest.raises(SourceError):
            tables.open_again()
        assert asked() == 10
        last = tables.file
    assert last is not None
    assert not last.parent.exists()


@pytest.mark.heavy(family="privacy")
@pytest.mark.parametrize("append_only", [True, False])
@pytest.mark.usefixtures("at_once")
def test_a_public_parent_that_changes_is_read_again_whatever_the_ledger(append_only: bool, tmp_path: Path) -> None:
    site, said = site_of(tmp_path, append_only=append_only), list[str]()
    parent, text = tmp_path / "zips.parquet", site.config.read_text()

    def known(zips: list[str]) -> None:
        pq.write_table(pa.table({"zip": zips}), tmp_path / "new")
        (tmp_path / "new").replace(parent)

    zips = sorted(set(private_rows()["zip"].to_pylist()) - {None})
    orphans = sum(one is not None for one in private_rows()["zip"].to_pylist())
    known(zips)
    rules = 'public_parents = { zips = "zips.parquet" }\nconstraints = ["zip IN zips.zip"]'
    text = text.replace(f'constraints = ["{RULE}"]', rules)
    site.config.write_text(text.replace('suites = { nightly = "nightly.txt" }\n', ""))
    ask = "SELECT value FROM dp_inconsistency('visits', 'repair', 200)"

    with ServedTables(load_configuration(site.config)) as tables:

        def found() -> int:
            return round(tables["visits"].front_end.run(ask).table.column(0)[0].as_py())

        assert found() == 0
        known(["nowhere"])
        assert found() == 0  # of what was read when it was opened
        tables.look(said.append)
        assert said == ["visits: its public parents have changed, and it was opened again"]
        assert found() == orphans
        parent.unlink()
        for _ in range(3):
            tables.look(said.append)
        assert len(said) == 2
        assert "releases use those from before until they can" in said[1]
        assert found() == orphans
        known(zips)
        tables.look(said.append)
        assert len(said) == 3
        assert found() == 0
