"""What can fail for public reasons fails before the debit: kernels, the noise library; and what is loaded suffices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from inside import true_numbers
from stub_noise import StubNoise
from threshold_fuzz import moved

import dpdb
from dpdb.compiled import Kernel
from dpdb.compiled.kernel_source import kinds_and_words
from dpdb.database.database import Database
from dpdb.errors import EngineError
from dpdb.graph import load_all_kernels, load_one_sort, loading
from dpdb.ledger import Ledger
from dpdb.measures.mechanism import Mechanism
from dpdb.measures.registry import measure_named
from dpdb.privacy.noise import replaced_noise
from dpdb.release.account import Budget
from dpdb.release.ask import Ask
from dpdb.release.conflict_graph import load_kernels
from dpdb.thresholds import COUNTED_WORK, FEW_ROWS, THRESHOLDS

FD, KEY = "a -> b", "UNIQUE(a, b)"
ORDER, GROUPED = "not(t1.x>t2.x&t1.y<t2.y)", "not(t1.a=t2.a&t1.x>t2.x&t1.y<t2.y)"
PAIRS = "not(t1.a=t2.a&t1.b!=t2.b&t1.x<t2.x&t2.x>0)"  # no blocks: an edge table
RULES = {
    "dependency": [FD],
    "key": [KEY],
    "order": [GROUPED, FD],
    "edges": [PAIRS],
    "mixed": [PAIRS, FD],
    "alone": ["not(t1.x<0)"],
}
MEASURES = ("minimal_inconsistency", "problematic", "repair")


def table(rows: int) -> pa.Table:
    rng = np.random.default_rng(rows)
    return pa.table({name: rng.integers(0, max(2, rows // 4), rows) for name in "abxy"})


# -- kernels --------------------------------------------------------------------------------------------------


class Calls:
    """Kernels called from Python, with the types of their arguments: each new combination is compiled."""

    def __init__(self) -> None:
        self.debited = False
        self.before: set[object] = set()
        self.after: set[object] = set()

    def wrapped(self, kernel: Callable[..., Any], name: str) -> Callable[..., Any]:
        return Noted(kernel, name, self)

    def names(self, calls: set[Any]) -> set[str]:
        return {name.split(".")[-1] for name, _ in calls}


class Noted:
    """A kernel of which no machine code is loaded yet."""

    def __init__(self, kernel: Callable[..., Any], name: str, calls: Calls) -> None:
        self.kernel, self.name, self.calls = kernel, name, calls

    def __call__(self, *arguments: object) -> object:
        types, _ = kinds_and_words(arguments)
        (self.calls.after if self.calls.debited else self.calls.before).add((self.name, types))
        return self.kernel(*arguments)

    @property
    def loaded(self) -> bool:
        return any(name == self.name for name, _ in self.calls.before)  # type: ignore[misc]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    import dpdb.graph.kernels as room

    load_all_kernels()  # numba compiles no kernel whose helpers are wrapped
    found = Calls()
    folder = Path(str(room.__file__)).parent
    modules = [f"dpdb.graph.kernels.{path.stem}" for path in folder.glob("*.py") if path.stem != "__init__"]
    for name in modules:
        module: ModuleType = __import__(name, fromlist=["_"])
        for kernel, compiled in list(vars(module).items()):
            if isinstance(compiled, Kernel) and not kernel.startswith("_") and compiled.__module__ == name:
                monkeypatch.setattr(module, kernel, found.wrapped(compiled, f"{name}.{kernel}"))
    debit = Budget.debit

    def noted(budget: Budget, charge: Any) -> Any:
        found.debited = True
        return debit(budget, charge)

    monkeypatch.setattr(Budget, "debit", noted)
    return found


@contextmanager
def nothing_loaded(calls: Calls) -> Iterator[None]:
    load = (
        loading.load_block_kernels,
        loading.load_edge_kernels,
        loading.load_counted_projection,
        load_one_sort,
    )
    for each in load:
        each.cache_clear()
    calls.debited = False
    calls.before.clear()
    calls.after.clear()
    yield
    # Not loaded again by another call: what was compiled for one release stays for the next.
    for each in load:
        each.cache_clear()


def needs_no_graph(mechanism: Mechanism) -> bool:
    return mechanism.on_one_row or mechanism.has_closed_form


def one_for_each_statistic(measure: str) -> list[Mechanism]:
    """The mechanisms of a measure that read different statistics; all of them in the slow form."""
    known = measure_named(measure).mechanisms
    mechanisms = [mechanism for mechanism in known if mechanism.fit is None and not needs_no_graph(mechanism)]
    return list({mechanism.reads: mechanism for mechanism in mechanisms}.values())


def loads_what_it_uses(calls: Calls, rules: str, measure: str, mechanism: Mechanism) -> int:
    found = 0
    for rows, most in ((30, 70_000), (400, 400)):
        with dpdb.open(table(rows), constraints=RULES[rules]) as session, nothing_loaded(calls):
            max_degree = most if mechanism.needs_max_degree else None
            with replaced_noise(StubNoise()):
                session.dp_inconsistency(measure, 1, mechanism=mechanism.name, max_degree=max_degree)
            assert calls.after <= calls.before, (mechanism.name, rows, calls.after - calls.before)
            found += len(calls.after)
    return found


@pytest.mark.heavy
@pytest.mark.parametrize("rules", RULES)
def test_no_kernel_meets_new_types_after_the_debit(rules: str, calls: Calls) -> None:
    after = [
        loads_what_it_uses(calls, rules, measure, mechanism)
        for measure in MEASURES
        for mechanism in one_for_each_statistic(measure)
    ]
    assert len(after) == 6
    assert sum(after) >= (0 if rules == "alone" else 6)  # rows that are in conflict alone are in no graph


@pytest.mark.slow
@pytest.mark.parametrize("rules", RULES)
def test_no_kernel_meets_new_types_after_the_debit_whatever_the_mechanism(rules: str, calls: Calls) -> None:
    for measure in MEASURES:
        for mechanism in measure_named(measure).mechanisms:
            if mechanism.fit is None and (not needs_no_graph(mechanism) or rules == "alone"):
                loads_what_it_uses(calls, rules, measure, mechanism)


def test_class_histograms_need_no_kernel(calls: Calls) -> None:
    with dpdb.open(table(30), constraints=["a -> x"]) as session, nothing_loaded(calls):
        session.dp_inconsistency("problematic", 1, mechanism="by_rule")
        assert not calls.before | calls.after


@pytest.mark.heavy
@pytest.mark.parametrize("rule", [GROUPED, "not(t1.a > t2.b)", "not(t1.a < t2.b & t2.a < t1.b)", FD])
def test_neither_for_the_fewest_deletions(rule: str, calls: Calls) -> None:
    with dpdb.open(table(300), constraints=[rule]) as session, nothing_loaded(calls):
        session.dp_inconsistency("repair", 1)
        assert calls.after <= calls.before
        assert (len(calls.after) == 1) == (rule != FD)  # by GROUP BY without any


@pytest.mark.heavy
@pytest.mark.parametrize("rules", RULES)
def test_neither_for_several_measures_rates_and_single_constraints(rules: str, calls: Calls) -> None:
    for options in ({}, {"rate": True}, {"each_constraint": True}):
        with dpdb.open(table(300), constraints=[*RULES[rules], "not(t1.y<-1)"]) as session, nothing_loaded(calls):
            session.dp_inconsistency("all", 1, **options)
            assert calls.after <= calls.before, (options, calls.after - calls.before)


@pytest.mark.heavy
@pytest.mark.parametrize("rules", [rules for rules in RULES if rules != "alone"])
@pytest.mark.parametrize("between", ["projected_edges_between", "witnesses_between"])
def test_neither_where_bounds_of_a_statistic_do(rules: str, between: str, calls: Calls) -> None:
    """Which thetas need a scan depends on noise: mostly none needs the bounds, so that releases hardly show this."""
    with dpdb.open(table(300), constraints=RULES[rules]) as session, nothing_loaded(calls):
        load_kernels(session.public.bound, [between.removesuffix("_between")])
        calls.debited = True
        getattr(true_numbers(session).statistics(), between)(2)
        assert calls.after
        assert calls.after <= calls.before, calls.after - calls.before


@pytest.mark.heavy
@pytest.mark.parametrize("rules", [[ORDER], [GROUPED, FD], ["a -> x"]], ids=["order", "mixed", "classes"])
def test_neither_where_groups_are_dense(rules: list[str], calls: Calls) -> None:
    """Other kernels serve dense groups; which of them is faster depends on rows."""
    numbers = np.random.default_rng(1).integers(0, 3, (4, 300))
    dense = pa.table(dict(zip("abxy", numbers, strict=True)))
    used = set()
    for measure in MEASURES:
        with dpdb.open(dense, constraints=rules) as session, nothing_loaded(calls):
            session.dp_inconsistency(measure, 1, mechanism="fractional" if measure == "repair" else None)
            if measure != "repair":  # the choice of theta may need no scan; a given theta does
                calls.debited = False
                session.dp_inconsistency(measure, 1, theta=2)
            assert calls.after <= calls.before, (measure, calls.after - calls.before)
            used |= calls.names(calls.after)
    assert "fill_present" in used or "deal_piles" in used or rules != [ORDER]


@pytest.mark.heavy
@pytest.mark.parametrize("rules", ["dependency", "order", "edges", "mixed"])
def test_neither_for_a_second_release_which_has_a_faster_way(
    rules: str, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One row in ten differs from most, so that theta 40 is above the degrees of the others."""
    monkeypatch.setattr(COUNTED_WORK, "at", 0)
    row = np.arange(300)
    tenth = row % 10 == 0
    dirty = pa.table(
        {"a": row % 3, "b": np.where(tenth, row, 0), "x": row, "y": np.where(tenth, 300 - row, row)},
    )
    for measure in ("minimal_inconsistency", "all"):
        with dpdb.open(dirty, constraints=RULES[rules]) as session, nothing_loaded(calls):
            session.dp_inconsistency(measure, 1)
            assert calls.after <= calls.before, (measure, calls.after - calls.before)
            calls.debited = False
            session.dp_inconsistency("minimal_inconsistency", 1, theta=40)
            assert calls.after <= calls.before, (measure, calls.after - calls.before)
            assert ("project_counted" in calls.names(calls.after)) == (rules not in {"edges", "mixed"})


def test_wide_thetas_are_loaded_too(calls: Calls) -> None:
    """On an edge table of more than 65,536 rows a theta takes 32 bits."""
    rows = 70_000
    numbers = np.arange(rows)
    one_conflict = pa.table({"a": numbers // 2, "b": np.maximum(numbers // 2, numbers == 1), "x": numbers})
    with dpdb.open(one_conflict, constraints=PAIRS) as session, nothing_loaded(calls):
        for mechanism in ("minimal_inconsistency", "problematic"):
            session.dp_inconsistency(mechanism, 1, mechanism="baseline_max", max_degree=rows)
        assert len(calls.after) >= 2
        assert calls.after <= calls.before


@pytest.mark.heavy
@pytest.mark.parametrize("end", ["least", "most"])
def test_neither_on_the_other_side_of_a_threshold(end: str, calls: Calls) -> None:
    """Compiling is a step that is shown: it must not tell which way a private number chose."""
    with moved({name: getattr(threshold, end) for name, threshold in THRESHOLDS.items()}):
        for rules in ("order", "edges", "mixed"):
            for measure in MEASURES:
                with dpdb.open(table(60), constraints=RULES[rules]) as session, nothing_loaded(calls):
                    with replaced_noise(StubNoise()):
                        session.dp_inconsistency(measure, 1)
                    assert calls.after
                    assert calls.after <= calls.before, (rules, measure, calls.after - calls.before)


def test_this_test_sees_a_kernel_that_is_not_loaded(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpdb.release.measure_part.load_kernels", lambda constraints, statistics, **_: None)
    with dpdb.open(table(300), constraints=FD) as session, nothing_loaded(calls):
        session.dp_inconsistency("all", 1)
        assert not calls.after <= calls.before


# -- failures -------------------------------------------------------------------------------------------------


def broken(*arguments: object, **options: object) -> None:
    raise OSError(28, "No space left on device")


RELEASES: list[Callable[[dpdb.Session], object]] = [
    lambda s: s.dp_inconsistency("all", 0.5),
    lambda s: s.dp_inconsistency("repair", 0.5, mechanism="fractional", by="a", keys=[1, 2]),
    lambda s: s.dp_count(0.5),
]


@pytest.mark.parametrize("release", RELEASES)
def test_a_noise_library_that_does_not_load_costs_nothing(
    release: Callable[[dpdb.Session], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Ledger.create(tmp_path / "t.ledger", 1).close()
    monkeypatch.setattr("dpdb.release.parts.check_samplers", broken)
    with dpdb.open(table(30), constraints=FD, ledger=tmp_path / "t.ledger") as session:
        with pytest.raises(EngineError, match=r"nothing was spent .*No space left"):
            release(session)
        assert session.spent() == 0


@pytest.mark.parametrize("release", RELEASES[:2])
def test_a_kernel_that_does_not_load_costs_nothing(
    release: Callable[[dpdb.Session], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    for load in ("release.measure_part.load_kernels", "engine.count_all.load_one_sort"):
        monkeypatch.setattr(f"dpdb.{load}", broken)
    with dpdb.open(table(30), constraints=ORDER, budget=1) as session:
        with pytest.raises(EngineError, match="nothing was spent"):
            release(session)
        assert session.spent() == 0
        session.dp_count(1)


def test_a_run_that_is_answered_loads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Ledger.create(tmp_path / "t.ledger", 1).close()
    with dpdb.open(table(30), constraints=ORDER, ledger=tmp_path / "t.ledger") as session:
        first = session.dp_inconsistency("repair", 0.5, run_id="monday")
        monkeypatch.setattr("dpdb.engine.count_all.load_one_sort", broken)
        assert session.dp_inconsistency("repair", 0.5, run_id="monday") == first


def test_preparing_loads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for load in ("release.measure_part.load_kernels", "engine.count_all.load_one_sort"):
        monkeypatch.setattr(f"dpdb.{load}", broken)
    with dpdb.open(table(30), constraints=ORDER) as session:
        assert session.prepare(Ask("all", 1)).charge.epsilon == 10**9


# -- a release that is stopped ----------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("rules", "few_rows", "statements"),
    [("dependency", 0, 5), ("edges", 0, 10), ("dependency", 100, 4), ("edges", 100, 8)],
)
def test_a_session_goes_on_after_control_c_between_any_two_statements(
    rules: str, few_rows: int, statements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the interrupted release has cost is spent; the next one does not meet half of its tables."""
    monkeypatch.setattr(FEW_ROWS, "at", few_rows)  # the columns of a table of few are coded in one query
    execute, left = Database.execute, [10**9]

    def interrupted(database: Database, query: Any) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        execute(database, query)

    monkeypatch.setattr(Database, "execute", interrupted)
    stops = 0
    while stops < 100:
        with dpdb.open(table(60), constraints=RULES[rules]) as session:
            left[0] = stops + 1
            try:
                session.dp_inconsistency("all", 1)
                break
            except KeyboardInterrupt:
                stops += 1
            left[0] = 10**9
            session.dp_inconsistency("repair", 1)
            assert session.spent() == 2
    assert stops >= statements
