"""What remote tables answer, with our own database in their place: the statistics of our own engine."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from asked_there import AskedThere, DuckDBRemote
from case_share import examples, fifth
from helpers_engine import Table
from helpers_remote import compare, of_no_rows, random_question, reads_rows, statistics
from hypothesis import given, settings
from strategies_engine import questions

import dpdb
from dpdb.constraints import DenialConstraint
from dpdb.errors import BudgetExceededError, EngineError, LedgerError, ParameterError, SourceError
from dpdb.ledger import Ledger
from dpdb.opening import open_table
from dpdb.owner.exact import exact_measures
from dpdb.remote import asking as remote_fetched

ROWS = pa.table({"who": ["x", "x", "y", None], "zip": [1, 1, 2, 2], "city": ["a", "b", "c", "d"]})


def check(seeds: Sequence[int]) -> None:
    seen = {"edges": 0, "self-conflicts": 0}
    for seed in seeds:
        rows, constraints, where = random_question(random.Random(seed))
        found = compare(rows, AskedThere(rows), constraints, where)
        seen["edges"] += found["degrees"][0]
        seen["self-conflicts"] += found["self-conflicts"]
    assert all(seen.values()), seen


@pytest.mark.heavy(family="long")
def test_random_tables() -> None:
    check(sorted({*fifth(range(15)), 6}))  # of which 6 has both kinds of conflicts


@pytest.mark.slow
def test_two_thousand_random_tables() -> None:
    check(range(1_000, 3_000))


@pytest.mark.heavy(family="long")
@examples(10)
@given(questions())
def test_random_predicates(question: tuple[Table, list[DenialConstraint]]) -> None:
    table, constraints = question
    rows = table.arrow()
    compare(rows, AskedThere(rows), constraints)  # type: ignore[arg-type]


@pytest.mark.slow
@settings(derandomize=True, max_examples=2_000)
@given(questions())
def test_two_thousand_sets_of_random_predicates(question: tuple[Table, list[DenialConstraint]]) -> None:
    table, constraints = question
    rows = table.arrow()
    compare(rows, AskedThere(rows), constraints)  # type: ignore[arg-type]


@pytest.mark.heavy
@pytest.mark.parametrize(
    "constraints",
    [["not(lower(t1.a)=lower(t2.a)&t1.b!=t2.b)"], ["not(t1.n = t2.n + 1)"], ["CHECK (length(trim(a)) < 3)"]],
)
def test_computed_columns(constraints: list[str]) -> None:
    rows = pa.table({"a": ["a", "A", "b ", "ccc", None, "B"], "b": [1, 2, 3, 4, 5, 6], "n": [1, 2, 3, 3, None, 7]})
    found = compare(rows, AskedThere(rows), constraints, "n IS NULL OR n + 1 < 8")
    assert found["degrees"][0] + found["self-conflicts"] > 0


@pytest.mark.heavy(family="long")
def test_units_are_chosen_before_slices() -> None:
    rng = random.Random(7)
    who = [rng.choice(["p", "q", "r", None]) for _ in range(60)]
    values = {name: [rng.randrange(3) for _ in who] for name in ("zip", "city")}
    rows = pa.table({"who": who, **values})
    for most in (1, 2, 5):
        assert compare(rows, AskedThere(rows), ["zip -> city"], "city > 0", unit="who", max_rows=most)["rows"]


@pytest.mark.heavy(family="long")
def test_one_constraint_alone() -> None:
    texts = ["zip -> city", "who -> city", "not(t1.city='d')"]
    with (
        open_table(ROWS, constraints=texts) as here,
        open_table(AskedThere(ROWS), constraints=texts, gather_rows=9) as there,
    ):
        for position in range(3):
            assert statistics(there, position=position) == statistics(here, position=position)


@pytest.mark.heavy(family="long")
def test_answers_come_in_parts_where_many_rows_are_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_fetched, "_PART_ROWS", 3)
    asked = []
    ask = DuckDBRemote.ask
    monkeypatch.setattr(DuckDBRemote, "ask", lambda self, tree: asked.append(ask(self, tree)) or asked[-1])
    rng = random.Random(3)
    rows = pa.table({"zip": [rng.randrange(9) for _ in range(200)], "city": [rng.randrange(9) for _ in range(200)]})
    with (
        open_table(rows, constraints="zip -> city") as here,
        open_table(AskedThere(rows), constraints="zip -> city", gather_rows=10) as there,
    ):
        assert statistics(there) == statistics(here)
    answers = [answer.num_rows for answer in asked if answer.column_names == ["zip", "city"]]
    assert len(answers) == 4
    assert max(answers) < sum(answers) <= 200


@pytest.mark.heavy(family="long")
def test_only_rows_in_conflict_come(
    monkeypatch: pytest.MonkeyPatch, hospital: Path, hospital_constraints: Path
) -> None:
    with open_table(AskedThere(hospital), constraints=hospital_constraints, gather_rows=1) as there:
        part = there.slice()
        assert (part.row_count, part.node_count) == (10_000, 103)


def test_rules_across_tables_of_two_databases_are_refused_in_one_line() -> None:
    rows = pa.table({"k": [1, 2]})
    for unit in ({"unit": "k", "max_rows": 2}, {"unit": "k", "max_rows": 1}):
        with pytest.raises(SourceError, match="parents are tables of the same database: name it alone"):
            dpdb.open(AskedThere(rows), constraints="k IN p.id", private_parents={"p": rows}, **unit)  # type: ignore[arg-type]


# -- releases -------------------------------------------------------------------------------------------------------


def test_nothing_is_asked_of_a_row_before_the_debit(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    ask = DuckDBRemote.ask
    monkeypatch.setattr(
        DuckDBRemote, "ask", lambda self, tree: (reads_rows(tree) and asked.append(tree)) or ask(self, tree)
    )
    with dpdb.open(AskedThere(ROWS), constraints="zip -> city", budget=1, gather_rows=10) as session:
        session.dp_inconsistency("repair", 1, where="city <> 'a'")
        before = len(asked)
        assert before > 0
        with pytest.raises(BudgetExceededError):
            session.dp_inconsistency("repair", 1)
        with pytest.raises(BudgetExceededError):
            session.dp_count(epsilon=1)
        assert len(asked) == before


@pytest.mark.heavy(family="long")
def test_other_constraints_ask_the_same_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is opened and its rows are read once; who asks next finds them compared with those of the opening."""
    asked: list[str] = []
    ask = DuckDBRemote.ask
    monkeypatch.setattr(DuckDBRemote, "ask", lambda self, tree: asked.append(tree.sql()) or ask(self, tree))
    Ledger.create(tmp_path / "t.ledger", epsilon=9_000).close()
    options: dict[str, Any] = {"gather_rows": 10, "ledger": tmp_path / "t.ledger", "unit": "who", "max_rows": 2}
    with dpdb.open(AskedThere(ROWS), constraints="zip -> city", **options) as session:
        before = [sql for sql in asked if "bit_xor" in sql.lower()]
        other = session.with_constraints("UNIQUE(zip)")
        assert [sql for sql in asked if "bit_xor" in sql.lower()] == before
        found = [one.dp_inconsistency("problematic", epsilon=1000).value for one in (session, other, session)]
        assert found == [2, 2, 2]
        other.close()
        assert session.dp_inconsistency("repair", epsilon=1000).value == 1
    with pytest.raises(ParameterError, match="closed"):
        session.with_constraints("UNIQUE(zip)")


class _OtherRows(DuckDBRemote):
    """A view that gives other rows from one of its readings on."""

    is_fixed, first_other = False, 0

    def ask(self, tree: Any) -> pa.Table:
        if "bit_xor" in tree.sql().lower():
            self.first_other -= 1
            if self.first_other == 0:
                self._database.execute("UPDATE remote_row SET zip = 3 - zip WHERE city = 'a'")
        return super().ask(tree)


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("append_only", [None, True])
def test_rows_that_change_between_queries_are_no_table(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, append_only: bool | None
) -> None:
    """A ledger of one state of the rows compares them itself; who has none, or one of any state, is no worse off."""
    options: dict[str, Any] = {"constraints": "zip -> city", "gather_rows": 10, "budget": 9}
    if append_only:
        Ledger.create(tmp_path / "t.ledger", epsilon=9, append_only=True).close()
        options["ledger"] = tmp_path / "t.ledger"
    monkeypatch.setattr("asked_there.DuckDBRemote", _OtherRows)
    for right in range(3):
        monkeypatch.setattr(_OtherRows, "first_other", right + 2)  # they are read by the opening and after each count
        with dpdb.open(AskedThere(ROWS), **options) as session:
            before = session.spent()
            for _ in range(right):
                session.dp_count(epsilon=0.25)
            with pytest.raises(EngineError, match="the release failed after its budget was debited"):
                session.dp_count(epsilon=0.25)
            for _ in range(3):
                with pytest.raises(SourceError, match=r"its rows are not those .*open a new session"):
                    session.dp_count(epsilon=0.25)
            assert session.spent() == before + (right + 1) / 4


class _TurnedRows(DuckDBRemote):
    """A view that gives other rows while it is turned: two zips of two cities each, or none."""

    is_fixed, is_turned = False, False

    def ask(self, tree: Any) -> pa.Table:
        self._database.execute(f"UPDATE remote_row SET zip = {'rowid' if self.is_turned else 'rowid // 2'}")
        return super().ask(tree)


@pytest.mark.heavy
@pytest.mark.parametrize(("measure", "mechanism"), [("repair", "fractional"), ("minimal_inconsistency", "by_rule")])
@pytest.mark.parametrize("has_ledger", [False, True])
def test_what_was_read_for_an_answer_that_is_not_published_is_forgotten(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, has_ledger: bool, measure: str, mechanism: str
) -> None:
    """Else rows of another state than that of the opening would be in the next answer, once the table has that again.

    Every theta has both conflicts, and at epsilon 1000 the noise is 0 but for a chance below e^-90.
    """
    options: dict[str, Any] = {"constraints": "zip -> city", "gather_rows": 10}
    if has_ledger:
        Ledger.create(tmp_path / "t.ledger", epsilon=9_000).close()
        options["ledger"] = tmp_path / "t.ledger"
    monkeypatch.setattr("asked_there.DuckDBRemote", _TurnedRows)
    turn = monkeypatch.setattr
    with dpdb.open(AskedThere(ROWS), **options) as session:
        with monkeypatch.context() as once:
            if has_ledger:  # which looks at the rows before its debit
                once.setattr("dpdb.stopping.watchers", [lambda _: turn(_TurnedRows, "is_turned", True)])
            else:
                once.setattr(_TurnedRows, "is_turned", True)
            with pytest.raises((EngineError, LedgerError)):
                session.dp_inconsistency(measure, 1000, mechanism=mechanism)
        turn(_TurnedRows, "is_turned", False)
        assert session.dp_inconsistency(measure, 1000, mechanism=mechanism).value == 2


def test_rows_that_one_state_gives_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    ask = DuckDBRemote.ask
    monkeypatch.setattr(DuckDBRemote, "ask", lambda self, tree: asked.append(tree.sql()) or ask(self, tree))
    for is_fixed, readings in ((True, 1), (False, 2)):
        monkeypatch.setattr(DuckDBRemote, "is_fixed", is_fixed)
        asked.clear()
        with dpdb.open(AskedThere(ROWS), constraints="zip -> city", gather_rows=10) as session:
            for _ in range(3):  # the second and the third ask nothing
                session.dp_inconsistency("repair", 1)
        assert sum("bit_xor" in text.lower() for text in asked) == readings


def test_rows_that_cannot_be_read_are_refused_when_the_table_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: DuckDBRemote, tree: object) -> pa.Table:
        raise EngineError("row 7 holds 'Alice'")

    monkeypatch.setattr(DuckDBRemote, "ask", fails)
    with pytest.raises(SourceError, match="reading its rows failed") as failure:
        dpdb.open(AskedThere(ROWS), constraints="zip -> city", budget=1, gather_rows=10)
    assert "Alice" not in str(failure.value)
    dpdb.open(AskedThere(ROWS), constraints="zip -> city", rows=False).close()  # rehearses only


@pytest.mark.heavy(family="spending")
def test_a_failure_after_the_debit_says_one_thing_and_is_paid_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "t.ledger"
    Ledger.create(path, epsilon=3).close()
    with dpdb.open(AskedThere(ROWS), constraints="zip -> city", ledger=path, gather_rows=10) as session:
        ask = DuckDBRemote.ask
        for allowed in range(3):  # the server goes in the middle of one query after the other
            left = [allowed + 1]  # the first one reads the content, before the debit

            def fails(self: DuckDBRemote, tree: object, left: list[int] = left) -> pa.Table:
                left[0] -= not of_no_rows(tree)  # type: ignore[arg-type]
                if left[0] < 0:
                    raise EngineError("row 7 holds 'Alice'")
                return ask(self, tree)  # type: ignore[arg-type]

            with monkeypatch.context() as broken:
                broken.setattr(DuckDBRemote, "ask", fails)
                with pytest.raises(EngineError, match="the release failed after its budget was debited") as failure:
                    session.dp_inconsistency("problematic", 1, run_id="monday")
            assert "Alice" not in str(failure.value)
            assert session.spent() == 1
        answer = session.dp_inconsistency("problematic", 1, run_id="monday")
        assert session.dp_inconsistency("problematic", 1, run_id="monday").value == answer.value
        assert session.spent() == 1


@pytest.mark.heavy(family="long")
def test_a_ledger_knows_the_rows_by_content_and_the_engine_that_chose_them(tmp_path: Path) -> None:
    twice = pa.concat_tables([ROWS, ROWS.slice(0, 1), ROWS.slice(0, 1)])
    texts = []
    for rows in (ROWS, ROWS.take([3, 1, 0, 2]), twice, ROWS.slice(1)):
        with open_table(AskedThere(rows)) as there:
            texts.append(there.content())
    assert texts[0] == texts[1]
    assert len(set(texts)) == 3
    with open_table(AskedThere(ROWS), unit="who", max_rows=1) as there:
        assert there.opened_content().startswith(f"{texts[0]}; duckdb ")


def test_measures_need_a_public_guess_of_the_rows_that_come() -> None:
    with dpdb.open(AskedThere(ROWS), constraints="zip -> city") as session:
        for measure, mechanism in (("repair", "fractional"), ("problematic", None)):
            with pytest.raises(ParameterError, match="--gather-rows"):
                session.dp_inconsistency(measure, 1, mechanism=mechanism)
        assert session.dp_count(epsilon=50).value == 4
        assert session.spent() == 50
    for wrong in (0, -1, True, 1.5):
        with pytest.raises(ParameterError, match="gather_rows must be"):
            dpdb.open(AskedThere(ROWS), constraints="zip -> city", gather_rows=wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="applies to tables of other engines"):
        dpdb.open(ROWS, constraints="zip -> city", gather_rows=5)
    with (
        dpdb.open(AskedThere(ROWS), constraints="zip -> city", gather_rows=10**15) as session,
        pytest.raises(ParameterError, match="GB on disk"),
    ):
        session.dp_inconsistency("repair", 1, mechanism="fractional")


@pytest.mark.heavy(family="spending")
def test_checks_that_count_a_cover_need_that_guess_before_a_debit(tmp_path: Path) -> None:
    """An order rule has no closed form there; one dependency has."""
    Ledger.create(tmp_path / "t.ledger", 9).close()
    for rule, needs in (("zip -> city", False), ("not(t1.zip < t2.zip & t1.city > t2.city)", True)):
        options: dict[str, Any] = {"constraints": rule, "row_bound": 10, "ledger": tmp_path / "t.ledger"}
        with dpdb.open(AskedThere(ROWS), **options) as session:
            before = session.spent()
            if not needs:
                assert len(session.check(rule)) == 1
                continue
            with pytest.raises(ParameterError, match="--gather-rows"):
                session.check(rule)
            assert session.spent() == before


def test_fewest_deletions_need_no_row_to_come() -> None:
    rows = pa.table({"zip": [1] * 50, "city": list(range(50))})
    with dpdb.open(AskedThere(rows), constraints="zip -> city") as session:
        release = session.dp_inconsistency("repair", 1_000_000)
    assert (release.mechanism, release.value) == ("fewest_deletions", 49)


def test_by_rule_needs_no_row_to_come() -> None:
    rows = pa.table({"zip": [1] * 50, "city": list(range(50))})
    with dpdb.open(AskedThere(rows), constraints="zip -> city") as session:
        release = session.dp_inconsistency("minimal_inconsistency", 1_000_000, mechanism="by_rule")
    assert release.value == 50 * 49 / 2


def test_the_guess_is_compared_with_no_row() -> None:
    rows = pa.table({"zip": [1] * 50, "city": list(range(50))})
    with dpdb.open(AskedThere(rows), constraints="zip -> city", gather_rows=1) as session:
        assert session.dp_inconsistency("repair", 1_000_000, mechanism="fractional").value == 25


@pytest.mark.heavy(family="long")
def test_constraints_that_only_every_row_answers_need_a_row_bound() -> None:
    text = "not(t1.zip<t2.zip&t1.who<t2.who&t1.city>t2.city)"
    with pytest.raises(ParameterError, match="every row of a remote table would have to come"):
        dpdb.open(AskedThere(ROWS), constraints=text, gather_rows=5)
    dpdb.open(AskedThere(ROWS), constraints=text, gather_rows=5, row_bound=5).close()


def test_single_rows_stay_where_they_are() -> None:
    from dpdb.opening import open_local_table

    with pytest.raises(SourceError, match="not for its single rows"):
        open_local_table(AskedThere(ROWS))


def test_a_table_is_lent_and_taken_back() -> None:
    remote = DuckDBRemote(ROWS)
    lent = remote.lend("small", pa.table({"zip": [1]}))
    from sqlglot import exp

    assert remote.ask(exp.select("*").from_(lent)).to_pylist() == [{"zip": 1}]
    remote.take_back("small")
    with pytest.raises(EngineError):
        remote.ask(exp.select("*").from_(lent))
    remote.close()
    remote.close()


def test_exact_values_do_not_leave_out_parents_in_silence() -> None:
    with pytest.raises(SourceError, match="parents are tables of the same database"):
        exact_measures(AskedThere(ROWS), ["zip IN zips.zip"], non_private=True, public_parents={"zips": ROWS})


ORDER = "not(t1.zip > t2.zip & t1.who < t2.who)"
KEYS = ["UNIQUE(zip)", "UNIQUE(city)"]


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("rules", [[ORDER], ["not(t1.zip > t2.who)"], KEYS, [ORDER, "NOT NULL(city)"]], ids=str)
def test_one_question_has_one_statistic_on_every_engine(rules: list[str]) -> None:
    """Which one is a public fact of the rules; what needs rows in order or a matching is counted of those that come."""
    rows = pa.table({"who": [3, 1, 2, None], "zip": [1, 2, 2, 4], "city": ["a", "b", "c", "c"]})
    found = []
    for source in (rows, AskedThere(rows)):
        with dpdb.open(source, constraints=rules, gather_rows=None if source is rows else 4) as session:
            repair = session.dp_inconsistency("repair", 1_000)
            check = session.check("\n".join(f"{rule}  fail above 0" for rule in rules), epsilon=1_000)
            found.append((repair.mechanism, repair.estimand, repair.value, [each.verdict for each in check.checks]))
    assert found[0] == found[1]
    assert found[0][0] == "fewest_deletions"


def test_a_closed_form_that_needs_rows_says_how_many_may_come() -> None:
    """As a graph does, before anything is asked; one that aggregates count needs no such word."""
    with dpdb.open(AskedThere(ROWS), constraints=[ORDER.replace("who", "city"), "zip -> city"], budget=9) as session:
        for ask in (
            lambda one: one.dp_inconsistency("repair", 1),
            lambda one: one.check("not(t1.zip > t2.zip & t1.city < t2.city)  fail above 0"),
            lambda one: one.diagnose(rules=True, epsilon=1),
        ):
            with pytest.raises(ParameterError, match="say how many may be expected with --gather-rows N"):
                ask(session)
        assert session.spent() == 0
        assert session.with_constraints("zip -> city").dp_inconsistency("repair", 1).mechanism == "fewest_deletions"
