"""Lines of the prompt: their history, one entry for each statement, and names that the tab key completes."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dpdb.doors.cli.prompt.commands import DOT_COMMANDS
from dpdb.doors.sql import FrontEnd, statement_words
from dpdb.files.owned_file import check_folder

__all__ = ["PromptLines", "prompt_lines"]

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
