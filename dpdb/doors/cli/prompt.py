"""The prompt of `dpdb sql`: statements up to a semicolon, commands that start with a dot, a history."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from dpdb.doors.cli.answers import AnswerOutput, UnshownError
from dpdb.doors.cli.result_formats import as_text
from dpdb.doors.cli.sql_words import budget_words, release_words, text_width
from dpdb.doors.cli.streams import one_line, show
from dpdb.doors.sql import FrontEnd
from dpdb.doors.sql.parse import split_finished
from dpdb.errors import DpdbError
from dpdb.owner_log import OWNER_LOG
from dpdb.release import Release
from dpdb.stopping import went_on

__all__ = ["run_prompt"]

_MOST_LINES = 1_000
_WORDS = {"help": ".help", "quit": ".quit", "exit": ".quit", ".exit": ".quit"}
_HELP = """\
Statements end with a semicolon and may take several lines. The private table is reached through releases only:
  SELECT * FROM dp_inconsistency('{table}', measure := 'repair', epsilon := 0.5);
  SELECT (dp_count('{table}', epsilon := 0.1, where := 'age >= 65')).value;
  EXPLAIN SELECT ...;     the plan and the privacy cost; spends nothing
.budget   what is spent and left        .tables   what statements may name
.help     this text                     .quit     leave (also Ctrl-D)
"""


def run_prompt(front_end: FrontEnd, read: Callable[[str], str] = input, ledger: str | Path | None = None) -> int:
    """Read and answer statements until the end of input; no error ends it but that of answers that cannot be shown."""
    show(f"dpdb: releases of {front_end.table_name!r}. {budget_words(front_end)}. Type .help for help.")
    output = AnswerOutput(ledger=ledger, needed=False)
    pending = ""
    with _history():
        while True:
            try:
                line = read("   -> " if pending.strip() else "dpdb> ")
                if not pending.strip() and (line.strip() in _WORDS or line.strip().startswith(".")):
                    if _command(front_end, line.strip()):
                        return 0
                    continue
                statements, pending = split_finished(f"{pending}{line}\n")
                pending = pending.lstrip()
                for statement in statements:
                    _answer(front_end, statement, output)
            except EOFError:
                show("")
                return 0
            except KeyboardInterrupt:
                show(f"\ncancelled; what was debited stays spent\n{release_words(front_end.kept)}".rstrip("\n"))
                pending = ""
                went_on()


def _answer(front_end: FrontEnd, statement: str, output: AnswerOutput) -> None:
    before = front_end.session.spent()
    unseen: Sequence[Release] = ()
    try:
        result = front_end.run(statement)
        unseen = result.releases
        output.show(f"{as_text(result.table, text_width())}\n", unseen, release_words(unseen))
    except UnshownError:
        raise
    except DpdbError as error:
        show(f"dpdb: {one_line(str(error))}\n{release_words(front_end.kept)}".rstrip("\n"))
    except Exception:
        OWNER_LOG.exception("internal error")
        kept = release_words([*unseen, *front_end.kept])
        show(f"internal error; the reason is in the owner's log\n{kept}".rstrip("\n"))
    if front_end.session.spent() != before:
        show(budget_words(front_end))


def _command(front_end: FrontEnd, line: str) -> bool:
    """Run a command; return whether it ends the prompt."""
    name = _WORDS.get(line, line)
    if name == ".quit":
        return True
    if name == ".budget":
        show(budget_words(front_end))
    elif name == ".tables":
        show(
            "\n".join(
                [f"{front_end.table_name}  (private: releases only)", *map("{}  (public)".format, front_end.public)]
            )
        )
    elif name == ".help":
        show(_HELP.format(table=front_end.table_name.replace("'", "''")).rstrip("\n"))
    else:
        show(f"unknown command {name}: there are .budget, .tables, .help and .quit")
    return False


@contextmanager
def _history() -> Iterator[None]:
    """Keep the lines of all prompts in one file that only its user can read."""
    try:
        import readline

        state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "dpdb"
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = state / "history"
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
        readline.set_history_length(_MOST_LINES)
        readline.read_history_file(path)
    except (ImportError, OSError, RuntimeError):  # no readline, no home, not writable: a prompt without history
        yield
        return
    try:
        yield
    finally:
        with suppress(OSError):
            readline.write_history_file(path)
            path.chmod(0o600)
