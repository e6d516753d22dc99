"""`dpdb budget create`, `show` and the owner's acts on a whole ledger: each prints the ledger's summary."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from dataclasses import asdict
from decimal import ROUND_FLOOR, Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.options import command, format_option, given, who_option
from dpdb.doors.cli.parser import Parser, real
from dpdb.doors.cli.streams import one_line, show
from dpdb.errors import ParameterError

if TYPE_CHECKING:
    from dpdb.ledger import Ledger, LedgerSummary, RecordedSuite, UnseenRows
    from dpdb.privacy import Notion

_Act = Callable[["Ledger", argparse.Namespace], None]


def act(actions: Any, name: str, do: _Act, text: str, example: str) -> Parser:
    """Make the action of an owner's act on a ledger, which prints the ledger's summary afterwards."""
    parser = command(actions, name, partial(_done, do), text, example)
    ledger_option(parser)
    return parser


def _done(do: _Act, options: argparse.Namespace) -> None:
    from dpdb.ledger import Ledger

    with Ledger.open(options.ledger) as ledger:
        do(ledger, options)
        show_summary(ledger.summary(), options.format)


def ledger_option(parser: Parser, *formats: str) -> None:
    """Add the ledger, and the option for the format: text, JSON or one of further formats."""
    parser.add_argument("ledger", metavar="LEDGER", help="file of the ledger")
    format_option(parser, *formats)


def act_options(parser: Parser) -> None:
    """Add the options for an owner's act: who does it, and why."""
    who_option(parser)
    parser.add_argument("--label", metavar="TEXT", help="why, for the ledger's history")


def allowance_options(parser: Parser, *, required: bool) -> None:
    """Add the options for an allowance inside the total."""
    parser.add_argument("--at-most", metavar="E", help="privacy cost allowed within every such period")
    parser.add_argument(
        "--per", required=required, metavar="PERIOD", help="12h, 30d, 4w, month, year or 2026-12-01..2026-12-31"
    )


def show_summary(
    summary: LedgerSummary,
    output: str,
    more: dict[str, Any] | None = None,
    words: str = "",
    *,
    unseen: UnseenRows | None = None,
) -> None:
    """Print a summary.

    Parameters
    ----------
    output
        ``"json"``, or anything else for text.
    more
        Further fields of the JSON document, after those of the summary.
    words
        The same as `more`, as lines of text.
    unseen
        The budget left for rows that no release has covered; None to leave it out.
    """
    fields = _finite(asdict(summary)) | (more or {})
    if unseen is not None:
        fields["unseen_rows"] = asdict(unseen)
    show(json.dumps(fields, indent=2) if output == "json" else _summary_words(summary, unseen) + words)


def _summary_words(summary: LedgerSummary, unseen: UnseenRows | None) -> str:
    from dpdb.ledger import is_rows_of

    rows = "rows may be added, never changed" if summary.append_only else "a changed source needs a new epoch"
    lines = [
        f"budget     {summary.parameter} {summary.budget:.9g} ({summary.notion})",
        f"spent      {summary.parameter} {summary.spent:.9g} by {summary.releases} releases "
        f"({summary.sequential:.9g} without parallel composition), {summary.unanswered} not answered",
        f"remaining  {summary.parameter} {_down(summary.remaining)} for a release of the whole table",
        f"epoch      {summary.epoch} ({rows})",
    ]
    if unseen is not None:
        left = f"{summary.parameter} {_down(unseen.remaining)}"
        lines.insert(3, f"           {left} for rows whose {unseen.column} no release has covered")
    for allowance in summary.allowances:
        lines.append(
            f"allowance  {summary.parameter} {allowance.at_most:.9g} within {allowance.words}: {allowance.spent:.9g} "
            f"spent, {_down(allowance.remaining)} left; old releases never expire"
        )
    if summary.retired is not None:
        lines.append(f"retired    {summary.retired}: nothing more is released")
    if summary.delta:
        lines.append(f"promises   so far ({summary.epsilon:.6g}, {summary.delta:g})-differential privacy")
    if summary.unit is not None and is_rows_of(summary.unit):
        lines.append(f"unit       {summary.unit}")
    elif summary.unit is not None:
        lines.append(f"unit       one value of {summary.unit}, at most {summary.rows_per_person} rows of it used")
    elif summary.rows_per_person is not None and summary.rows_per_person > 1:
        lines.append(f"unit       up to {summary.rows_per_person} rows of one person")
    return "\n".join(lines)


def _down(value: float) -> str:
    """Write nine digits after the point, rounded down: a remaining budget is never overstated.

    The digits are those of the float's own text, which is the exact decimal of a whole number of nano-epsilon; times
    1e9 it may be one less (8.2 is).
    """
    shown = Decimal(repr(value)).quantize(Decimal("1e-9"), ROUND_FLOOR)
    return f"{shown:.9f}".rstrip("0").rstrip(".")


def _finite(fields: dict[str, Any]) -> dict[str, Any]:
    """Replace infinity, which JSON does not have, with null: no finite epsilon exists at this delta."""
    return {name: None if value == math.inf else value for name, value in fields.items()}


def add_create(actions: Any) -> None:
    """Add `dpdb budget create`."""
    text = "make the ledger of a table; its first release binds it to the table's columns"
    parser = command(actions, "create", _create, text, "dpdb budget create visits.ledger --epsilon 3")
    ledger_option(parser)
    parser.add_argument("--epsilon", required=True, metavar="E", help="total privacy cost allowed")
    parser.add_argument("--notion", choices=["pure", "zcdp", "gdp"], default="pure", help="how losses add up (pure)")
    parser.add_argument("--delta", type=real, default=0.0, metavar="D", help="of a zcdp or gdp ledger, such as 1e-6")
    allowance_options(parser, required=False)
    parser.add_argument("--append-only", action="store_true", help="rows are added and never change: no epochs needed")


def _create(options: argparse.Namespace) -> None:
    """Make a ledger and print its summary."""
    from dpdb.ledger import Ledger

    settings = given(options, "notion", "epsilon", "delta", "append_only", "at_most", "per")
    with Ledger.create(options.ledger, **settings) as ledger:
        show_summary(ledger.summary(), options.format)


def add_show(actions: Any) -> None:
    """Add `dpdb budget show`."""
    parser = command(actions, "show", _show, "print what was spent and what is left", "dpdb budget show visits.ledger")
    ledger_option(parser)
    parser.add_argument(
        "--at-delta", type=real, metavar="D", help="of a pure ledger: also the tighter epsilon at delta D"
    )


def _show(options: argparse.Namespace) -> None:
    """Print a ledger's summary."""
    from dpdb.ledger import epsilon_at, open_to_read

    with open_to_read(options.ledger) as ledger:
        summary, unseen = ledger.summary(), ledger.unseen_rows()
        kept = [suite for suite in ledger.suites() if suite.name is not None and suite.ended is None]
        fields = [{"name": suite.name, **suite_amounts(suite, ledger.notion)} for suite in kept]
        more: dict[str, Any] = {"suites": fields}
        words = "".join(f"\n{_suite_words(suite, ledger.notion)}" for suite in kept)
        if options.at_delta is not None:
            epsilon = epsilon_at(summary, ledger.history(), options.at_delta)
            more["at_delta"] = {"epsilon": epsilon, "delta": options.at_delta}
            words += f"\nat delta   ({epsilon:.6g}, {options.at_delta:g}), if no release was chosen by earlier answers"
        show_summary(summary, options.format, more, words, unseen=unseen)


def suite_amounts(suite: RecordedSuite, notion: Notion) -> dict[str, float]:
    """Return what a suite holds, has spent and has left, in the units of the ledger's notion."""
    return {name: notion.value(getattr(suite, name)) for name in ("reserved", "spent", "left")}


def _suite_words(suite: RecordedSuite, notion: Notion) -> str:
    amounts = {name: f"{amount:.9g}" for name, amount in suite_amounts(suite, notion).items()}
    state = f"{amounts['spent']} spent, {amounts['left']} left"
    return one_line(f"suite      {suite.name}: {notion.parameter} {amounts['reserved']} of it reserved, {state}")


def add_epoch(actions: Any) -> None:
    """Add `dpdb budget epoch`."""
    text = "confirm that a changed source is the same table; what was spent stays spent"
    act(actions, "epoch", _epoch, text, "dpdb budget epoch visits.ledger")


def _epoch(ledger: Ledger, _: argparse.Namespace) -> None:
    ledger.open_epoch()


def add_raise(actions: Any) -> None:
    """Add `dpdb budget raise`."""
    text = "raise the total for ever; it is recorded and never lowered"
    parser = act(
        actions, "raise", _raise, text, "dpdb budget raise visits.ledger --to 5 --who ann --label 'second year'"
    )
    parser.add_argument("--to", required=True, metavar="E", help="the new total, as of `dpdb budget create --epsilon`")
    act_options(parser)


def _raise(ledger: Ledger, options: argparse.Namespace) -> None:
    ledger.owner.raise_budget(epsilon=options.to, who=options.who, label=options.label)


def add_allow(actions: Any) -> None:
    """Add `dpdb budget allow`."""
    text = "allow at most so much within a period, inside the one total; old releases never expire"
    parser = act(actions, "allow", _allow, text, "dpdb budget allow visits.ledger --at-most 0.5 --per 30d")
    allowance_options(parser, required=True)
    parser.add_argument("--end", action="store_true", help="end the allowance of this period")
    act_options(parser)


def _allow(ledger: Ledger, options: argparse.Namespace) -> None:
    if options.end == (options.at_most is not None):
        raise ParameterError("give --at-most E, or --end for the allowance to end")
    ledger.owner.allow(options.per, epsilon=options.at_most, who=options.who, label=options.label)


def add_retire(actions: Any) -> None:
    """Add `dpdb budget retire`."""
    text = "end the ledger for ever: nothing more is released; what was released can still be read"
    parser = act(actions, "retire", _retire, text, "dpdb budget retire visits.ledger --who ann --label 'study closed'")
    act_options(parser)


def _retire(ledger: Ledger, options: argparse.Namespace) -> None:
    ledger.owner.retire(who=options.who, label=options.label)
