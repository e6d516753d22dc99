"""What another engine does not answer is found before the debit: all that a draw asks is asked of no rows first."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from asked_there import AskedThere, DuckDBRemote
from case_share import fifth
from helpers_remote import FEW_ROWS, reads_rows

import dpdb
from dpdb.errors import EngineError, UnansweredError
from dpdb.ledger import Ledger
from dpdb.release import statistics as release_statistics

_RNG = random.Random(3)
ROWS = pa.table(
    {
        name: pa.array([_RNG.choice([None, *range(most)]) for _ in range(60)], pa.int64())
        for name, most in {"who": 30, "zip": 6, "city": 4, "born": 9, "died": 9, "key": 50}.items()
    }
)
FD, KEY, ORDER = "zip -> city", "UNIQUE(key)", "not(t1.zip=t2.zip&t1.born<t2.born&t1.died>t2.died)"
OVERLAP, ALONE = "not(t1.zip=t2.zip&t1.born<t2.died&t2.born<t1.died)", "CHECK (born <= died)"
MATCH = ["zip -> city", "city -> zip"]

Ask = Callable[[dpdb.Session], Any]
SUITE = "\n".join(
    [f"{FD}  warn above 9, fail above 900", f"{ORDER}  fail above 900", f"key: {KEY}  fail above 90% of used rows",
     "row_count WHERE zip > 2  fail below 1 of used rows"]
)  # fmt: skip


def measure(*measures: Any, **options: Any) -> Ask:
    return lambda session: session.dp_inconsistency(*measures, epsilon=1, **options)


CASES: dict[str, tuple[list[str], Ask]] = {
    "count": ([FD], lambda session: session.dp_count(1, where="zip > 2 OR city IS NULL")),
    "counts": ([FD], lambda session: session.dp_count(1, by="zip", keys=[1, 2, 77])),
    "groups": ([FD, ALONE], measure("repair")),
    "key": ([KEY], measure("repair", where="city < 3")),
    "order": ([ORDER, ALONE], measure("repair")),
    "intervals": ([OVERLAP], measure("repair")),
    "matching": (MATCH, measure("repair")),
    "cover": ([ORDER, FD], measure("repair")),
    "cover by name": ([FD], measure("repair", mechanism="fractional")),
    "pairs": ([ORDER, FD], measure("minimal_inconsistency")),
    "rows": ([FD, "born -> died"], measure("problematic")),
    "all": ([FD, ORDER], measure("all")),
    "each": ([FD, KEY, ORDER], measure("all", each_constraint=True)),
    "alone": ([ALONE], measure("all")),
    "rate": ([FD, "born -> died"], measure("problematic", rate=True)),
    "rate of repair": ([FD], measure("repair", rate=True, where="city < 3")),
    "by rule": ([FD, KEY], measure("minimal_inconsistency", mechanism="by_rule")),
    "slices": ([FD, "born -> died"], measure("repair", by="city", keys=[0, 1, 99])),
    "check": ([FD, ORDER, KEY], lambda session: session.check(SUITE)),
    "check of slices": ([FD, ORDER, KEY], lambda session: session.check(SUITE, by="city", keys=[0, 1])),
    "diagnosis": ([FD, ORDER], lambda session: session.diagnose(by="city", keys=[0, 1, 2], rules=True, epsilon=1)),
    "discovery": ([FD], lambda session: session.discover(epsilon=1)),
}
UNITS: dict[str, Any] = {"no units": {}, "units": {"unit": "who", "max_rows": 2}}


def form(tree: Any) -> str:
    """A query without what differs between two of one form: names that are made, numbers, and that it sees no row."""
    text = tree.sql("duckdb").replace("(SELECT * FROM remote_row WHERE FALSE) AS remote_row", "remote_row")
    text = re.sub(r"\(SELECT \* FROM (\w+) WHERE FALSE\) AS", r"\1 AS", text)
    return re.sub(r"dpdb_\w+|\d+(\.\d+)?", "N", text)


def opened(rules: list[str], units: str, **options: Any) -> dpdb.Session:
    return dpdb.open(AskedThere(ROWS), constraints=rules, gather_rows=60, **UNITS[units], **options)


@pytest.mark.heavy(of=10)
@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("case", CASES)
def test_all_that_a_draw_asks_was_asked_of_no_rows_before_the_debit(
    case: str, units: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before: set[str] = set()
    behind: set[str] = set()
    has_begun = []
    ask = DuckDBRemote.ask

    def asked(self: DuckDBRemote, tree: Any) -> pa.Table:
        assert has_begun or not reads_rows(tree), tree.sql()
        (behind if has_begun else before).add(form(tree))
        return ask(self, tree)

    monkeypatch.setattr(release_statistics, "ROUNDS", FEW_ROWS[:2])  # so that in the end all rows in conflict come
    rules, release = CASES[case]
    with opened(rules, units, budget=99) as session:
        monkeypatch.setattr(DuckDBRemote, "ask", asked)
        monkeypatch.setattr("dpdb.release.publish.debit_begins", lambda: has_begun.append(True))
        release(session)
    assert behind
    assert behind <= before


LACKING: dict[str, tuple[str, str]] = {
    "windows": ("OVER (", "cover"),
    "joins": ("LEFT JOIN", "order"),
    "groups": ("GROUP BY", "groups"),
    "hashes": ("HASH(", "key"),
    "what is lent": ("IN (SELECT", "key"),
    "counts": ("COUNT(", "count"),
    "checks": ("LEFT JOIN", "check"),
    "slices": ("'99'", "slices"),
    "diagnoses": ("GROUP BY", "diagnosis"),
    "pairs": ("GROUP BY", "discovery"),
}


@pytest.mark.parametrize("lacking", [*fifth([*LACKING]), "what is lent"])
def test_what_an_engine_lacks_costs_nothing(lacking: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ask = DuckDBRemote.ask
    words, case = LACKING[lacking]
    failed = []

    def fails(self: DuckDBRemote, tree: Any) -> pa.Table:
        text = tree.sql("duckdb").upper()
        if words in text and "BIT_XOR" not in text:  # by which a ledger knows the rows
            failed.append(tree)
            raise EngineError("there: a query failed in DuckDB; the reason is in the owner's log")
        return ask(self, tree)

    Ledger.create(tmp_path / "t.ledger", epsilon=9).close()
    rules, release = CASES[case]
    with opened(rules, "no units", ledger=tmp_path / "t.ledger") as session:
        before = (tmp_path / "t.ledger").read_bytes()
        with monkeypatch.context() as broken:
            broken.setattr(DuckDBRemote, "ask", fails)
            for _ in range(2):
                with pytest.raises(UnansweredError, match="does not answer all that this asks") as said:
                    release(session)
                assert "nothing was spent" in str(said.value)
                assert "\n" not in str(said.value)
        assert failed
        assert not any(map(reads_rows, failed))
        assert session.spent() == 0
        assert (tmp_path / "t.ledger").read_bytes() == before
        release(session)
        assert session.spent() > 0
