"""Text that is no Unicode (bytes that were no UTF-8) is refused before anything is spent, wherever it comes in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import dpdb
from dpdb.constraints import Constant
from dpdb.errors import DpdbError
from dpdb.ledger import Ledger
from dpdb.owner.exact import exact_measures
from dpdb.release.ask import Ask
from dpdb.release.explain import explain

TABLE = pa.table({"zip": ["1", "1", "caf\0e"], "city": ["a", "b", "c"]})
RULE = "zip -> city"
BAD = ["\udcff", "a\udc80b"]
ASKED: dict[str, Callable[[dpdb.Session, str], object]] = {
    "where": lambda session, bad: session.dp_count(1, where=f"zip = '{bad}'"),
    "where LIKE": lambda session, bad: session.dp_inconsistency("repair", 1, where=f"zip LIKE '{bad}'"),
    "where column": lambda session, bad: session.dp_count(1, where=f'"{bad}" = 1'),
    "where comment": lambda session, bad: session.dp_count(1, where=f"zip = '1' -- {bad}"),
    "by": lambda session, bad: session.dp_count(1, by=bad, keys=["1"]),
    "keys": lambda session, bad: session.dp_count(1, by="zip", keys=["1", bad]),
    "run id": lambda session, bad: session.dp_count(1, run_id=bad),
    "run id, together": lambda session, bad: session.check_together(
        [session.prepare(Ask("count", 1, run_id=bad)).charge]
    ),
    "measure": lambda session, bad: session.dp_inconsistency(bad, 1),
    "mechanism": lambda session, bad: session.dp_inconsistency("repair", 1, mechanism=bad),
}
OPENED: dict[str, Callable[[str], object]] = {
    "constraint": lambda bad: dpdb.open(TABLE, constraints=f"not(t1.zip='{bad}')"),
    "constraint column": lambda bad: dpdb.open(TABLE, constraints=f'"{bad}" -> city'),
    "constraint value": Constant,
    "unit": lambda bad: dpdb.open(TABLE, constraints=RULE, unit=bad, max_rows=1),
    "source": lambda bad: dpdb.open(bad, constraints=RULE),
    "table": lambda bad: dpdb.open(duckdb.connect(), table=bad, constraints=RULE),
    "explain": lambda bad: explain(TABLE, RULE, Ask(where=f"zip = '{bad}'", epsilon=1)),
    "exact": lambda bad: exact_measures(TABLE, RULE, non_private=True, where=f"zip = '{bad}'"),
}


@pytest.mark.heavy
@pytest.mark.parametrize("bad", BAD, ids=ascii)
@pytest.mark.parametrize("asked", ASKED)
def test_it_costs_nothing(asked: str, bad: str, tmp_path: Path) -> None:
    Ledger.create(tmp_path / "t.ledger", 3).close()
    with dpdb.open(TABLE, constraints=RULE, ledger=tmp_path / "t.ledger") as session:
        with pytest.raises(DpdbError) as caught:
            ASKED[asked](session, bad)
        assert caught.value.exit_code == 2
        assert len(str(caught.value).splitlines()) == 1
        assert session.spent() == 0


@pytest.mark.heavy
@pytest.mark.parametrize("bad", BAD, ids=ascii)
@pytest.mark.parametrize("opened", OPENED)
def test_it_is_refused_when_opening(opened: str, bad: str) -> None:
    with pytest.raises(DpdbError) as caught:
        OPENED[opened](bad)
    assert caught.value.exit_code == 2


def test_a_nul_is_a_character_like_others() -> None:
    with dpdb.open(TABLE, constraints=RULE) as session:
        assert session.dp_count(50, where="zip = 'caf\0e'").value == 1  # type: ignore[union-attr]
        assert session.dp_count(50, where="zip > 'caf'").value == 1  # type: ignore[union-attr]
        released = session.dp_count(50, by="zip", keys=["caf\0e", "caf"])
        assert [one.value for one in released] == [1, 0]  # type: ignore[union-attr]
