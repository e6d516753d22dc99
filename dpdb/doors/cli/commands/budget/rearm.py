"""`dpdb budget rearm`."""

from __future__ import annotations

import argparse
from typing import Any

from dpdb.doors.cli.commands.budget.ledger_option import act_options, ledger_option
from dpdb.doors.cli.shared_options import command

__all__ = ["add_rearm"]


def add_rearm(actions: Any) -> None:
    """Add `dpdb budget rearm`."""
    text = "let a failed check of a kept suite be tested again; only its next failure costs something"
    example = "dpdb budget rearm visits.ledger nightly zip_city --label 'fixed at the source'"
    parser = command(actions, "rearm", _rearm, text, example)
    ledger_option(parser)
    parser.add_argument("name", metavar="NAME", help="the kept suite")
    parser.add_argument("check", metavar="CHECK", help="the failed check")
    parser.add_argument(
        "--epsilon", metavar="E", help="debit this much for its failures (else: from what the suite has left)"
    )
    act_options(parser)


def _rearm(options: argparse.Namespace) -> int:
    """Re-arm a check and print the suite."""
    from dpdb.doors.cli.commands.budget.suites import show_suites
    from dpdb.ledger import Ledger
    from dpdb.privacy import PURE
    from dpdb.suites import refuse_small_epsilon

    charge = None if options.epsilon is None else PURE.budget(options.epsilon)
    with Ledger.open(options.ledger) as ledger:
        kept = ledger.kept_suite(options.name)
        if kept is not None and charge is not None:
            refuse_small_epsilon(kept.spec, charge)
        ledger.rearm(options.name, options.check, charge, who=options.who, label=options.label)
        show_suites([suite for suite in ledger.suites() if suite.name == options.name], options.format)
    return 0
