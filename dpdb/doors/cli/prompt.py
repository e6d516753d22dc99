"""The prompt of `dpdb sql`: statements up to a semicolon, and commands that start with a dot.

Commands show public facts and the spent budget only. A history keeps each statement as one entry, and the tab key
completes names.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.answers import AnswerOutput, UnshownError
from dpdb.doors.cli.result_formats import as_text
from dpdb.doors.cli.sql_answers import budget_words, release_words, text_width
from dpdb.doors.cli.streams import one_line, show
from dpdb.doors.sql import FrontEnd, statement_words
from dpdb.doors.sql.parse import split_finished
from dpdb.errors import OWNER_LOG, DpdbError
from dpdb.files.owned_file import check_folder
from dpdb.names import folded, in_double_quotes, nearest_words
from dpdb.release import Release
from dpdb.stopping import went_on, what_is_spent

if TYPE_CHECKING:
    from dpdb.suites import CheckResults


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
    ledger
        The session's ledger, for the message where answers cannot be shown; None if there is none.
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


DOT_COMMANDS = (".budget", ".help", ".quit", ".rules", ".schema", ".tables")
_OTHER_WORDS = {"help": ".help", "quit": ".quit", "exit": ".quit", ".exit": ".quit"}
_DESCRIBE = re.compile(r"\s*(?:DESCRIBE|DESC)\s+(?:TABLE\s+)?(\"(?:[^\"]|\"\")+\"|\w+)\s*;?\s*", re.IGNORECASE)
_HELP = """\
Statements end with a semicolon and may take several lines. The private table is reached through releases only:
  SELECT * FROM dp_inconsistency('{table}', measure := 'repair', epsilon := 0.5);
  SELECT (dp_count('{table}', epsilon := 0.1, where := 'age >= 65')).value;
  {explain}  the plan and the privacy cost; spends nothing
  {describe}  columns and types of a table
.budget   what is spent and left        .tables   what statements may name
.schema   the private table's columns   .rules    its constraints
.help     this text                     .quit     leave (also Ctrl-D)
"""


def run_command(front_end: FrontEnd, line: str) -> bool | None:
    """Run a command; return whether it ends the prompt, or None if the line is no command."""
    name = _OTHER_WORDS.get(line, line)
    if not name.startswith("."):
        return None
    table = front_end.table_name
    match name:
        case ".quit":
            return True
        case ".budget":
            show(budget_words(front_end))
        case ".tables":
            public = map("{}  (public)".format, front_end.public)
            show("\n".join([f"{table}  (private: releases only)", *public]))
        case ".schema":
            show(_columns(front_end))
        case ".rules":
            show("\n".join(dc.label for dc in front_end.session.constraints) or "no constraints")
        case ".help":
            named = table if table.isidentifier() else in_double_quotes(table)
            explain, describe = "EXPLAIN SELECT ...;", f"DESCRIBE {named};"
            width = max(len(explain), len(describe))
            shown = {"explain": explain.ljust(width), "describe": describe.ljust(width)}
            show(_HELP.format(table=table.replace("'", "''"), **shown).rstrip("\n"))
        case _:
            show(f"unknown command {name}{nearest_words(name, DOT_COMMANDS)}")
    return False


def described(front_end: FrontEnd, statement: str) -> str | None:
    """Answer ``DESCRIBE table``, of a private or public table; None if the statement is something else."""
    match = _DESCRIBE.fullmatch(statement)
    if match is None:
        return None
    name = match[1][1:-1].replace('""', '"') if match[1].startswith('"') else match[1]
    if folded(name) == folded(front_end.table_name):
        return _columns(front_end)
    if all(folded(name) != folded(public) for public in front_end.public):
        return None
    return as_text(front_end.run(f"DESCRIBE SELECT * FROM {match[1]}").table, text_width())


def _columns(front_end: FrontEnd) -> str:
    import pyarrow as pa

    columns = front_end.session.public.opened.schema.columns
    kinds = [f"{column.declared_type}{' (no type: text)' if column.is_untyped else ''}" for column in columns]
    return as_text(pa.table({"column": [column.name for column in columns], "type": kinds}), text_width())


_MOST_LINES = 1_000
_DELIMITERS = " \t\n`~!@#$%^&*()-=+[{]}\\|;:'\",<>/?"


class PromptLines:
    """The lines of a prompt, with a history where the system has readline."""

    def __init__(self, readline: Any = None) -> None:
        self._readline = readline

    def entered(self, statement: str) -> None:
        """Put a finished statement into the history as one entry on one line.

        Where a comment runs to the end of a line, the lines stay as they are.
        """
        lines = statement.strip().splitlines()
        if self._readline is None or len(lines) < 2 or "--" in statement:
            return
        last = self._readline.get_current_history_length()
        kept = [self._readline.get_history_item(place) for place in range(last - len(lines) + 1, last + 1)]
        if kept == [line for line in lines if line]:
            for _ in lines:
                last -= 1
                self._readline.remove_history_item(last)
            self._readline.add_history(" ".join(line.strip() for line in lines))


@contextmanager
def prompt_lines(front_end: FrontEnd) -> Iterator[PromptLines]:
    """Keep the lines of all prompts in a file that only its user can read, and complete names, while the block runs."""
    try:
        import readline

        path = _history_file()
        readline.set_history_length(_MOST_LINES)
        readline.read_history_file(path)
    except (ImportError, OSError, RuntimeError):  # no readline, no home, not writable: a prompt without history
        yield PromptLines()
        return
    before, delimiters = readline.get_completer(), readline.get_completer_delims()
    readline.set_completer_delims(_DELIMITERS)
    readline.set_completer(completer(front_end))
    readline.parse_and_bind("tab: complete")
    try:
        yield PromptLines(readline)
    finally:
        readline.set_completer(before)
        readline.set_completer_delims(delimiters)
        with suppress(OSError):
            readline.write_history_file(path)
            path.chmod(0o600)


def _history_file() -> Path:
    """Return the file, which from now on only its user can read; `OSError` where it is no plain file of his own."""
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not state.is_absolute():  # then it does not count
        state = Path.home() / ".local" / "state"
    path = state / "dpdb" / "history"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    check_folder(path.parent)  # readline opens the file by its name, again and again
    flags = os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # nobody reads a pipe
    descriptor = os.open(path, flags, 0o600)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            raise PermissionError(path)
        os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)
    return path


def completer(front_end: FrontEnd) -> Callable[[str, int], str | None]:
    """Return the completer of words: commands, words of SQL, functions and their parameters, tables and columns."""
    columns = front_end.session.public.opened.schema.names
    known = [*DOT_COMMANDS, *statement_words(), front_end.table_name, *front_end.public, *columns]

    def complete(text: str, state: int) -> str | None:
        found = sorted({name for name in known if name.casefold().startswith(text.casefold())}) if text else []
        return found[state] if state < len(found) else None

    return complete
