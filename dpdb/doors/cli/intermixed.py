"""The parser of the command line: errors are one line, and an optional positional may stand behind options."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from dpdb.doors.cli.streams import say

__all__ = ["CONFIG", "Parser", "is_harmless", "is_repeated", "replaced_option"]

CONFIG = "--config"
"""Names the file with values for options that are not given."""


def is_harmless(option: argparse.Action) -> bool:
    """Return whether an option's definition marks it as harmless."""
    return bool(getattr(option, "harmless", False))


def is_repeated(action: argparse.Action) -> bool:
    """Return whether an option may be given several times, each time with one more value."""
    return isinstance(action, argparse._AppendAction)


def replaced_option(parser: argparse.ArgumentParser, name: str, by: str) -> None:
    """Refuse an option of earlier versions, wherever it is set, with the name of the one that does the same now."""
    parser.add_argument(name, action=_Replaced, nargs=0, const=by, default=argparse.SUPPRESS, help=argparse.SUPPRESS)


class _Replaced(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        parser.error(f"{self.option_strings[0]} is {self.const} now; nothing was spent")


class Parser(argparse.ArgumentParser):
    """As argparse's; where `intermixed` is true, an optional positional is set aside until all options are read.

    For `dpdb sql SOURCE --constraints C STATEMENT`.
    """

    intermixed = False
    takes_defaults = True
    """Whether `--config`, `dpdb.toml` and the environment give it values for missing options."""

    @property
    def options(self) -> dict[str, argparse.Action]:
        """The options by their long names."""
        return {name: action for action in self._actions for name in action.option_strings if name.startswith("--")}

    def add_argument(self, *names: str, harmless: bool = False, **how: Any) -> argparse.Action:
        """Add an option; one that is harmless may be set by a file that was merely found, too: see `settings_file`."""
        option = super().add_argument(*names, **how)
        option.harmless = harmless  # type: ignore[attr-defined]
        return option

    def add_repeated(self, name: str, **how: Any) -> argparse.Action:
        """Add an option that may be given several times; its values are a list, empty without any."""
        return self.add_argument(name, action="append", default=[], **how)

    def command(self, word: str) -> Parser | None:
        """Return the parser of a command below this one, if there is one of that name."""
        for action in self._actions:
            if isinstance(action.choices, dict) and isinstance(action.choices.get(word), Parser):
                found: Parser = action.choices[word]
                return found
        return None

    def error(self, message: str) -> NoReturn:
        """Print the error in one line, and exit with code 2."""
        say(f"{message}; see `{self.prog} --help`")
        raise SystemExit(2)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the known arguments and return the rest."""
        if not self.intermixed:
            return super().parse_known_args(args, namespace)
        self.intermixed = False  # the intermixed parser calls this method
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self.intermixed = True
