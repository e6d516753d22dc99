"""The suite that every engine passes, or of which it refuses parts by name: rules, tables, predicates, counted twice.

An engine is asked as a release asks it: of no rows first. What it does not answer then is refused, and costs nothing;
what it answers has to be the answer key's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

from dpdb.engine import Progress, StatisticKind, Table as OpenTable, no_progress
from dpdb.errors import EngineError, ForeignRuleError, SourceError
from dpdb.opening import is_remote, open_table
from dpdb.owner.conformance.answer_key import Found, key_of
from dpdb.owner.conformance.kinds import KINDS, Kind
from dpdb.owner.conformance.made_tables import POOLS, TYPES, Question, random_table
from dpdb.owner.conformance.predicates import compared_predicates, extreme_rows
from dpdb.release import PrivateSlices
from dpdb.release.conflict_graph import conflict_graph
from dpdb.release.statistics import SliceStatistics
from dpdb.remote import GatheredTable, Scratch, record, scratch_of, trying_out

LEAST = 1_000
"""Comparisons of a suite that is worth its name."""
TABLES, _PREDICATES = 2 * len(POOLS), 120
_SHARE = 5
"""Of so many kinds of rules one is asked of each table, in turn: each kind then is of other types."""
_STATISTICS: tuple[StatisticKind, ...] = get_args(StatisticKind)
_GATHER_ROWS = 1_000


@dataclass
class Conformance:
    """What came of one engine.

    Attributes
    ----------
    tried, equal : int
        Numbers that it was asked for, and those of them that are the answer key's.
    refused : set of str
        What it does not answer, or has no type for: kinds of rules, types, and predicates.
    different : list of str
        Numbers that are not the answer key's, each with its rule, slice and types.
    """

    server: str
    tried: int = 0
    equal: int = 0
    refused: set[str] = field(default_factory=set)
    different: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing is different, and at least as much was compared as a suite compares."""
        return not self.different and self.equal >= LEAST


def run_conformance(
    source: Any, schema: str | None = None, *, out: str | Path | None = None, progress: Progress = no_progress
) -> Conformance:
    """Run the suite in another engine, over made tables alone, which are dropped again. No row of the owner's is read.

    Parameters
    ----------
    source
        As of a table there, without the table.
    schema
        In which made tables may stand for a while. Default: that of the connection. Spark stores none.
    out
        A file in which it is recorded that the engine has passed; see `dpdb.remote.tried`.
    progress
        Called with the name of each step.

    Raises
    ------
    SourceError
        If it is no other engine, the user may make no table there, or the file cannot be written.
    """
    if out is not None:
        record(Path(out), None)
    with closing(scratch_of(source, schema)) as scratch:
        found = run_in(scratch, progress)
    if out is not None and found.passed:
        record(Path(out), found.server)
    return found


def run_in(scratch: Scratch, progress: Progress = no_progress) -> Conformance:
    """Ask an engine all that it has to pass; see `run`."""
    return run(scratch, range(TABLES), KINDS, 1, share=_SHARE, predicates=_PREDICATES, progress=progress)


def run(
    scratch: Scratch,
    seeds: Iterable[int],
    kinds: Sequence[Kind],
    parts: int,
    *,
    share: int = 1,
    predicates: int = 0,
    progress: Progress = no_progress,
) -> Conformance:
    """Ask an engine of made tables.

    Parameters
    ----------
    seeds, kinds, parts
        The tables, the rules that each is asked for, and how many slices each has.
    share
        Of how many kinds one is asked of a table; the next table is asked for the next ones.
    predicates
        How many random predicates it is asked for, of 400 rows.
    progress
        Called with the name of each step.
    """
    found = Conformance("")
    with trying_out():
        for seed in seeds:
            progress(f"table {seed + 1}")
            _ask(scratch, random_table(seed, parts), kinds[-seed % share :: share], found)
        if predicates:
            progress("predicates")
            _ask_predicates(scratch, predicates, found)
    return found


def _ask(scratch: Scratch, question: Question, kinds: Sequence[Kind], found: Conformance) -> None:
    lacking = [kind for kind in question.kinds if scratch.lacks(TYPES[kind])]
    if lacking:
        found.refused |= {f"type {kind}" for kind in lacking}
        return
    source, table = scratch.hold(question.rows)
    read = Question(scratch.as_read(question.rows), question.names, question.wheres, question.kinds)
    with open_table(source, table=table, gather_rows=_GATHER_ROWS if is_remote(source) else None) as base:
        found.server = base.server if isinstance(base, GatheredTable) else "dpdb"
        for kind in kinds:
            _compare(base, read, kind, found)


def _compare(base: OpenTable, question: Question, kind: Kind, found: Conformance) -> None:
    """Ask of one opened table one kind of rules; an engine that does not answer has to say so of no rows."""
    try:
        opened = base.with_constraints([question.written(rule) for rule in kind.rules])
    except ForeignRuleError:
        found.refused.add(f"{kind.name} of {question.kinds[0]} and {question.kinds[1]}")
        return
    empty = opened.without_rows()
    try:
        if empty is not None:
            rehearsed(empty, question)
            counted(empty)
    except EngineError:
        found.refused.add(kind.name)
        return
    where = "true"
    try:
        with open_table(question.rows, constraints=[question.written(rule) for rule in kind.rules]) as here:
            ours = counted(here)
        for name, value in counted(opened).items():
            found.tried += 1
            found.equal += value == ours[name]
            if value != ours[name]:
                found.different.append(_told(kind, question, where, f"{name} {value} for {ours[name]}"))
        for number, right in enumerate(key_of(question, kind)):
            where = question.wheres[number]
            for name, value in answered(opened, question, number).items():
                found.tried += 1
                found.equal += value == right[name]
                if value != right[name]:
                    found.different.append(_told(kind, question, where, f"{name} {value} for {right[name]}"))
    except (EngineError, SourceError) as error:
        found.tried += 1
        found.different.append(_told(kind, question, where, f"answered of no rows, and then not ({error})"))


def _told(kind: Kind, question: Question, where: str, what: str) -> str:
    return f"{kind.name}, types {' and '.join(question.kinds)}, where {where}: {what}"


def answered(opened: OpenTable, question: Question, number: int) -> Found:
    """Return what an engine says of a part, under the constraints of the table."""
    rules, where = opened.constraints, opened.where(question.wheres[number])
    repair, check = (opened.exact_statistic(rules, reversed_go=go) for go in (False, True))
    part = opened.slice(where)
    try:
        statistics = SliceStatistics(part)
        cover = Fraction(statistics.twice_fractional_cover().value, 2) + statistics.self_conflicts
        degrees, bad = conflict_graph(part).degree_summary(), statistics.self_conflicts
    finally:
        part.close()
    exact = [cover if each is None else opened.count_all(where, [each])[0] for each in (repair, check)]
    return {
        "repair": exact[0],
        "check": exact[1],
        "minimal_inconsistency": bad + degrees.edge_count,
        "problematic": bad + degrees.positive_degree_nodes,
        "row_count": opened.count_rows([where])[0],
        "is exact": repair is not None,
    }


def counted(opened: OpenTable) -> Found:
    """Return what is counted of all rows without a conflict graph: classes, and exact statistics of every kind.

    Of these the answer key is our own engine, which has answer keys of its own.
    """
    alone, found = opened.class_histograms(None)
    together: list[dict[Any, int]] = []  # engines give groups of equal sizes in one row or in several
    for each in found:
        counts: dict[Any, int] = {}
        for row in each.to_pylist():
            key = (tuple(sorted(row["sizes"] or [])), row["singles"])
            counts[key] = counts.get(key, 0) + row["groups"]
        together.append({key: count for key, count in counts.items() if any(key)})
    asked = {
        f"{kind}{', reversed go' if go else ''}": statistic
        for kind in _STATISTICS
        for go in (False, True)
        if (statistic := opened.exact_statistic(opened.constraints, kind, reversed_go=go)) is not None
    }
    numbers = opened.count_all(None, list(asked.values()))
    return {"classes": (alone, together), **dict(zip(asked, numbers, strict=True))}


def rehearsed(empty: OpenTable, question: Question) -> None:
    """Ask of no rows, as a session does before a debit.

    Parameters
    ----------
    empty
        The table without rows.
    """
    slices, where = PrivateSlices(empty), empty.where(question.wheres[0])
    try:
        slices.counts([where])
        for go in (False, True):
            found = empty.exact_statistic(empty.constraints, reversed_go=go)
            slices.exact(where, [] if found is None else [found])
        slices.statistics(where).rehearse(["twice_fractional_cover"])
    finally:
        slices.forget()


def _ask_predicates(scratch: Scratch, most: int, found: Conformance) -> None:
    rows = extreme_rows(most, scratch.lacks)
    source, table = scratch.hold(rows)
    compared = compared_predicates(scratch.as_read(rows), source, table, seed=most, most=most)
    found.tried += compared.tried
    found.equal += compared.tried - len(compared.different)
    found.different += [f"where {text}" for text in compared.different]
    if compared.refused:
        found.refused.add("predicates that could differ")
