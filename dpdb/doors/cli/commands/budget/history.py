"""`dpdb budget history` and `answers`: every debit and act of a ledger, and paid releases again."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, TypeVar

from dpdb.doors.cli.commands.budget.acts import ledger_option
from dpdb.doors.cli.options import command
from dpdb.doors.cli.streams import one_line, show
from dpdb.errors import ParameterError

if TYPE_CHECKING:
    from dpdb.ledger import LedgerAct, LedgerEntry, RecordedAnswer
    from dpdb.release import Releases

T = TypeVar("T")

_COLUMNS = (
    "time", "kind", "number", "epoch", "who", "label", "run_id", "rule_set", "parameter", "charge", "asked", "rows",
    "answered", "answer",
)  # fmt: skip
_FOUND = ("release_id", "measure", "constraint", "where", "quantity", "value", "lower", "upper")
_DIGEST = 12  # enough to tell the rule sets of one ledger apart


def add_history(actions: Any) -> None:
    """Add `dpdb budget history`."""
    text = "print every debit with who, rule set, label and answer, and every act of the owner"
    parser = command(actions, "history", _history, text, "dpdb budget history visits.ledger --format csv")
    ledger_option(parser, "csv")


def _history(options: argparse.Namespace) -> None:
    """Print every debit, answered or not, and the owner's acts in between."""
    from dpdb.doors.cli.result_formats import csv_text
    from dpdb.ledger import open_to_read

    with open_to_read(options.ledger) as ledger:
        entries, acts, parameter = ledger.history(), ledger.acts(), ledger.notion.parameter
    if options.format == "json":
        lists = {"releases": list(map(_entry_fields, entries)), "acts": [asdict(act) for act in acts]}
        show(json.dumps(lists, indent=2))
    elif options.format == "csv":
        cells = [_entry_cells(entry, parameter) for entry in entries]
        show(csv_text(_COLUMNS, _in_order(entries, cells, acts, map(_act_cells, acts))).removesuffix("\n"))
    else:
        words = [_entry_words(entry, parameter) for entry in entries]
        show("\n".join(_in_order(entries, words, acts, map(_act_words, acts))) or "no releases yet")


def _in_order(
    entries: Sequence[LedgerEntry], lines: Iterable[T], acts: Sequence[LedgerAct], lines_of_acts: Iterable[T]
) -> list[T]:
    """Sort the lines of debits by their order, and put that of each act behind the debit that it follows."""
    places = [*((entry.number, 0) for entry in entries), *((act.after, act.number) for act in acts)]
    placed = zip(places, [*lines, *lines_of_acts], strict=True)
    return [line for _, line in sorted(placed, key=lambda pair: pair[0])]


def _entry_words(entry: LedgerEntry, parameter: str) -> str:
    rule_set = None if entry.rule_set is None else entry.rule_set[:_DIGEST]
    named = named_words({"run id": entry.run_id, "by": entry.analyst, "label": entry.label, "rules": rule_set})
    answered = "answered" if entry.answered else "not answered, still spent"
    if entry.suite is not None and not entry.answered:
        answered = "open, all of it held"
    if entry.debited is not None:
        answered += f", settled from {parameter} {entry.debited:.9g}"
    head = (
        f"{entry.number}  {entry.reserved}  epoch {entry.epoch}  {parameter} {entry.charge:.9g}  "
        f"{_asked(entry)} of {entry.rows}{named} ({answered})"
    )
    return "\n    ".join(map(one_line, [head, *_answers(entry)]))


def _act_words(act: LedgerAct) -> str:
    return one_line(f"-  {act.at}  {act.words}{named_words({'by': act.who, 'label': act.label})}")


def named_words(names: Mapping[str, str | None]) -> str:
    """Return the names that an entry has, each behind a comma and what it is."""
    return "".join(f", {what} {name}" for what, name in names.items() if name is not None)


def _entry_fields(entry: LedgerEntry) -> dict[str, Any]:
    """Return a debit for JSON, with the results of each release and the id by which `dpdb budget answers` shows it."""
    answer = None if entry.answer is None else [_found(one) for one in entry.answer]
    fields = asdict(replace(entry, answer=answer))
    return {name: value for name, value in fields.items() if name not in ("debited", "suite") or value is not None}


def _found(answer: dict[str, Any]) -> dict[str, Any]:
    return answer if "verdict" in answer or "column" in answer else {name: answer.get(name) for name in _FOUND}


def _entry_cells(entry: LedgerEntry, parameter: str) -> list[object]:
    return [
        entry.reserved, "release", entry.number, entry.epoch, entry.analyst, entry.label, entry.run_id, entry.rule_set,
        parameter, entry.charge, _asked(entry), entry.rows, "yes" if entry.answered else "no",
        "; ".join(_answers(entry)),
    ]  # fmt: skip


def _act_cells(act: LedgerAct) -> list[object]:
    told = {"time": act.at, "kind": act.kind, "who": act.who, "label": act.label, "asked": act.words}
    return [told.get(column) for column in _COLUMNS]


def _asked(entry: LedgerEntry) -> str:
    if entry.suite is not None:
        return entry.suite
    if "discover" in entry.request:
        return "rules discovered"
    return ", ".join(entry.request.get("measures", {})) or str(entry.request.get("measure", "release"))


def _answers(entry: LedgerEntry) -> list[str]:
    """Return the published values, each with its measure, constraint and slice."""
    from dpdb.release import bounds_words, measured_words, recorded_releases, value_words

    if not entry.answer:
        return []
    if "named" in entry.request:
        named = (f"{one.get('column')} = {one.get('key')}" for one in entry.answer)
        bounds = (f"({one.get('lower')} to {one.get('upper')})" for one in entry.answer)
        return [" ".join(each) for each in zip(named, bounds, strict=True)]
    if "suite" in entry.request:
        return [f"{one.get('name')}: {one.get('verdict')} ({one.get('severity')})" for one in entry.answer]
    releases = recorded_releases(json.dumps(entry.answer))
    return [f"{measured_words(one)} = {value_words(one)} ({bounds_words(one)})" for one in releases]


def add_answers(actions: Any) -> None:
    """Add `dpdb budget answers`."""
    text = "print recorded answers again; spends nothing and draws nothing"
    parser = command(actions, "answers", _print_answers, text, "dpdb budget answers visits.ledger --run-id monday")
    ledger_option(parser)
    parser.add_argument("--release", metavar="ID", help="only the release of this id")
    parser.add_argument("--run-id", metavar="ID", help="only what this run has released")


def _print_answers(options: argparse.Namespace) -> None:
    """Print recorded answers; spends nothing and draws nothing."""
    from dpdb.ledger import open_to_read

    with open_to_read(options.ledger) as ledger:
        found = ledger.answers(release_id=options.release, run_id=options.run_id)
    asked = {"release": options.release, "run id": options.run_id}
    names = " and ".join(f"{what} {name!r}" for what, name in asked.items() if name is not None)
    if names and not found:
        raise ParameterError(f"{options.ledger}: no recorded answer of {names}; see `dpdb budget history`")
    if options.format == "json":
        show(json.dumps({"answers": [_answer_fields(answer, options.release) for answer in found]}, indent=2))
        return
    words = [f"{_head(answer)}\n{_answer_text(answer, options.release)}" for answer in found]
    show("".join(words).rstrip("\n") if found else "no answers yet")


def _answer_text(answer: RecordedAnswer, release_id: str | None) -> str:
    from dpdb.doors.cli.texts import checks_text, releases_text
    from dpdb.rules import recorded_discovery
    from dpdb.suites import recorded_results

    if not _is_object(answer):
        return releases_text(_releases(answer, release_id), "text", True)
    if (found := recorded_discovery(answer.answer)) is not None:
        return found.text()
    checks = recorded_results(answer.answer)
    if checks is not None:
        return checks_text(checks)
    from dpdb.diagnosis import diagnosis_text, recorded_diagnosis

    diagnosis = recorded_diagnosis(answer.answer)
    return f"{answer.answer}\n" if diagnosis is None else diagnosis_text(diagnosis)


def _is_object(answer: RecordedAnswer) -> bool:
    """Return whether an answer is that of a suite of checks, a diagnosis or a discovery: an object, and no list."""
    return isinstance(json.loads(answer.answer), dict)


def _releases(answer: RecordedAnswer, release_id: str | None) -> Releases:
    """Return the releases of an answer, or only the one with the given id."""
    from dpdb.release import Releases, recorded_releases

    releases = recorded_releases(answer.answer)
    return Releases(release for release in releases if release_id in {None, release.release_id})


def _head(answer: RecordedAnswer) -> str:
    """Name the answer, but not the time when it was recorded: that tells how long private work took."""
    named = named_words({"run id": answer.run_id, "analyst": answer.analyst, "label": answer.label})
    return f"{answer.number}  {answer.reserved}{named}"


def _answer_fields(answer: RecordedAnswer, release_id: str | None) -> dict[str, Any]:
    found = json.loads(answer.answer)
    shown: dict[str, Any] = {"diagnosis" if "named" in found else "suite": found}
    if "discover" in json.loads(answer.request):
        shown = found
    elif not _is_object(answer):
        shown = {"releases": [release.to_dict() for release in _releases(answer, release_id)]}
    fields = {name: getattr(answer, name) for name in ("number", "reserved", "run_id", "analyst", "label")}
    return {**fields, "request": json.loads(answer.request), **shown}
