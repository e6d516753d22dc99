"""The prompt of `dpdb sql`: statements up to a semicolon, commands that start with a dot, a history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpdb.doors.cli.answers import AnswerOutput, UnshownError
from dpdb.doors.cli.prompt.commands import described, run_command
from dpdb.doors.cli.prompt.lines import prompt_lines
from dpdb.doors.cli.result_formats import as_text
from dpdb.doors.cli.sql_words import budget_words, release_words, text_width
from dpdb.doors.cli.streams import one_line, show
from dpdb.doors.sql import FrontEnd
from dpdb.doors.sql.parse import split_finished
from dpdb.errors import DpdbError
from dpdb.owner_log import OWNER_LOG
from dpdb.release import Release
from dpdb.stopping import went_on, what_is_spent

if TYPE_CHECKING:
    from dpdb.suites import CheckResults

__all__ = ["run_prompt"]


def run_prompt(
    front_end: FrontEnd,
    read: Callable[[str], str] = input,
    ledger: str | Path | None = None,
    receipt: tuple[str | None, str | None] = (None, None),
) -> int:
    """Read and answer statements until the end of input, and return the exit code.

    Only `UnshownError` ends it earlier: answers could not be shown.

    Parameters
    ----------
    front_end
        Answers the statements.
    read
        Shows the prompt's text and reads a line.
    ledger
        The session's ledger, for the message where answers cannot be shown; None if there is none.
    receipt
        File and key of receipts.
    """
    show(f"dpdb: releases of {front_end.table_name!r}. {budget_words(front_end)}. Type .help for help.")
    pending = ""
    with (
        AnswerOutput(ledger=ledger, needed=False, receipt=receipt) as output,
        prompt_lines(front_end) as lines,
    ):
        while True:
            try:
                line = read("   -> " if pending.strip() else "dpdb> ")
                ends = None if pending.strip() else run_command(front_end, line.strip())
                if ends:
                    return 0
                if ends is not None:
                    continue
                entered = f"{pending}{line}"
                statements, pending = split_finished(f"{pending}{line}\n")
                pending = pending.lstrip()
                if not pending:
                    lines.entered(entered)
                for statement in statements:
                    _answer(front_end, statement, output)
            except EOFError:
                show("")
                return 0
            except KeyboardInterrupt:
                show(f"\ncancelled; {what_is_spent()}\n{_kept(front_end)}".rstrip("\n"))
                pending = ""
                went_on()


def _answer(front_end: FrontEnd, statement: str, output: AnswerOutput) -> None:
    before = front_end.session.spent()
    unseen: Sequence[Release] = ()
    checks: Sequence[CheckResults] = ()
    try:
        columns = described(front_end, statement)
        if columns is not None:
            show(columns)
            return
        result = front_end.run(statement)
        unseen, checks = result.releases, result.checks
        output.show(f"{as_text(result.table, text_width())}\n", unseen, release_words(unseen, checks), checks=checks)
    except UnshownError:
        raise
    except DpdbError as error:
        show(f"dpdb: {one_line(str(error))}\n{_kept(front_end)}".rstrip("\n"))
    except Exception:
        OWNER_LOG.exception("internal error")
        kept = release_words([*unseen, *front_end.kept], [*checks, *front_end.kept_checks])
        show(f"internal error; the reason is in the owner's log\n{kept}".rstrip("\n"))
    if front_end.session.spent() != before:
        show(budget_words(front_end))


def _kept(front_end: FrontEnd) -> str:
    return release_words(front_end.kept, front_end.kept_checks)
