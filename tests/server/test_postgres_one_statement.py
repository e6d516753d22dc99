"""The statement of the manual for SQL analysts runs at each door that its block names, and costs what it says."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import psycopg
import pytest
import yaml
from private_rows import RULE, private_rows
from server_site import Server, make_site

import dpdb
from dpdb.ledger import Ledger

PAGE = (Path(__file__).parents[2] / "examples" / "manual" / "duckdb_and_dbt.md").read_text(encoding="utf-8")
_found = re.search(
    r"## `dp_inconsistency\(\)` where you write SQL\n.*?```sql\n(.*?);\n```\n(.*?)\n## ", PAGE, re.DOTALL
)
assert _found is not None
STATEMENT, DOORS = _found[1].replace("'hospital'", "'visits'"), _found[2]


@pytest.mark.heavy(family="long")
def test_in_a_duckdb_session(tmp_path: Path) -> None:
    Ledger.create(tmp_path / "hospital.ledger", epsilon=2).close()
    (tmp_path / "rules.txt").write_text(RULE)
    call = re.search(r"`(dpdb\.register\(con, [^`]*\))`", DOORS)
    assert call is not None
    rows = private_rows()
    with duckdb.connect(tmp_path / "warehouse.duckdb") as con:
        con.execute("CREATE TABLE visits AS SELECT * FROM rows")
        code = call[1].replace('"rules.txt"', f'"{tmp_path}/rules.txt"').replace('="hospital', f'="{tmp_path}/hospital')
        assert rows is not None
        eval(code, {"dpdb": dpdb, "con": con})
        value, lower, upper = con.execute(STATEMENT).fetchall()[0]
    assert lower <= value <= upper
    with dpdb.open(rows, constraints=RULE, ledger=tmp_path / "hospital.ledger") as session:
        assert session.spent() == pytest.approx(0.5)


@pytest.mark.heavy(family="long")
def test_over_the_server(tmp_path: Path) -> None:
    with Server(make_site(tmp_path, epsilon=5, postgres=True)) as running:
        before = running.site.spent()
        options = {"user": "ann", "password": running.site.tokens["ann"], "dbname": "visits"}
        with psycopg.connect(host="127.0.0.1", port=running.postgres_port, autocommit=True, **options) as connection:
            value, lower, upper = connection.execute(STATEMENT).fetchall()[0]
        assert lower <= value <= upper
        assert running.site.spent() - before == pytest.approx(0.5)


@pytest.mark.heavy(family="long")
def test_what_is_written_for_dbt_are_parameters_of_its_plugin() -> None:
    pytest.importorskip("dbt.adapters.duckdb")
    from dpdb.dbt import _PARAMETERS

    (plugin,) = yaml.safe_load(re.search(r"`(plugins: [^`]*)`", DOORS)[1])["plugins"]  # type: ignore[index]
    assert plugin["module"] == "dpdb.dbt"
    assert plugin["config"].keys() <= {*_PARAMETERS}
    models = (Path(__file__).parents[2] / "examples" / "dbt" / "models").glob("*.sql")
    assert any("from dp_inconsistency(" in each.read_text() for each in models)
