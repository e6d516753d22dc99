"""`dpdb`: dispatch, error messages, exit codes. Imports of other packages stand inside functions: signals come first.

Exit codes: 0 ok, 1 gate or check failed, 2 usage or configuration, 3 engine error, 4 budget refused, 5 a gate or
check is not shown or undecided and none failed; 130 interrupted, 129 and 143 ended by SIGHUP and SIGTERM.
"""

from __future__ import annotations

import atexit
import errno
import gc
import os
import re
import signal
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from dpdb.doors.cli.streams import open_streams, say, say_at_once, tell
from dpdb.stopping import SignalsEndTheCommand, Terminated, asked_to_stop, what_is_spent

if TYPE_CHECKING:
    from argparse import Namespace

    from dpdb.doors.cli.parser import Parser

COMMANDS = (
    "measure", "count", "check", "diagnose", "compare", "sql", "run", "report", "combine", "explain", "plan", "exact",
    "schema", "rules", "noise", "budget", "serve", "mcp", "analyst", "receipts", "verify", "witness", "overlap",
    "conformance", "demo", "warm", "completion",
)  # fmt: skip
"""In the order of `dpdb --help`; `add_NAME` of a module of `dpdb.doors.cli.commands` adds each."""

_BESIDE = {
    "combine": "report",
    "conformance": "exact",
    "mcp": "serve",
    "analyst": "serve",
    "verify": "receipts",
    "witness": "receipts",
}
"""The modules of commands that stand beside others; each other command has a module of its own."""

_OBJECTS = 200_000
"""Objects made before garbage is looked for: imports and the first release make 130,000, and next to no garbage."""

_LINEAR_ALGEBRA = "OPENBLAS_NUM_THREADS"
"""numpy's library for it starts threads that wait actively for work, and no statistic has any for them."""

_LOG = "the owner's log"
_USAGE = 2
_ENGINE_ERROR = 3
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Never shows a traceback: it could print private values."""
    with SignalsEndTheCommand(say_at_once):
        return _run(arguments)


def build_parser(wanted: Sequence[str] = ()) -> Parser:
    """Build the parser of the `wanted` command; of all commands, if it is empty or names no command."""
    from importlib import import_module

    from dpdb._version import __version__
    from dpdb.doors.cli.parser import Parser

    parser = Parser(
        prog="dpdb",
        description="How inconsistent is a private table? Denial-constraint violations under differential privacy.",
    )
    parser.add_argument("--version", action="version", version=f"dpdb {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name in [name for name in COMMANDS if name in wanted] or COMMANDS:
        module = import_module(f"dpdb.doors.cli.commands.{_BESIDE.get(name, name)}")
        getattr(module, f"add_{name}")(commands)
    return parser


def run_process() -> NoReturn:
    """Run the command of this process, and end the process."""
    gc.set_threshold(_OBJECTS)
    os.environ.setdefault(_LINEAR_ALGEBRA, "1")
    try:
        open_streams()
        code = main()
    except KeyboardInterrupt:  # before there were handlers
        code = _INTERRUPTED
    except SystemExit as ended:  # --help, --version
        code = int(ended.code or 0)
    leave(code)


def leave(code: int) -> NoReturn:
    """End the process at once: nobody waits for what its threads still compute."""
    with suppress(ValueError):
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):
            stream.flush()
    os._exit(code)


def _run(arguments: Sequence[str] | None) -> int:
    options: Namespace | None = None
    try:
        from dpdb.doors.cli.parser import with_defaults
        from dpdb.errors import DpdbError

        try:
            given = sys.argv[1:] if arguments is None else list(arguments)
            _refuse_undecodable(given)
            parser = build_parser(given[:1])
            options = parser.parse_args(with_defaults(parser, given, build_parser))
            _say_when_compiling_takes_long(options)
            with warnings.catch_warnings():
                _say_warnings(options)
                return int(options.run(options) or 0)
        except DpdbError as error:
            stop = _signal_behind(error)
            words = in_flags(_with_option_of_log(str(error), options), options)
            return _failed(words, error.exit_code) if stop is None else _stopped(stop)
    except (KeyboardInterrupt, Terminated) as error:
        return _stopped(error)
    except BrokenPipeError:  # the reader of our output has read enough and gone
        return 0
    except MemoryError:
        return _failed("out of memory; give --memory-limit, so that work spills to disk", _ENGINE_ERROR)
    except Exception as error:
        stop = _signal_behind(error)
        return _unforeseen(error) if stop is None else _stopped(stop)


_BOTH = re.compile(r"\b[a-z_]+= \((--[a-z][^()]*)\)")
_ARGUMENT = re.compile(r"\b([a-z_]+)=(?=[ ,;:.)]|$)")


def in_flags(message: str, options: Namespace | None) -> str:
    """Return a message with this command's flags for the arguments of Python: `--by and --keys go together`.

    Parameters
    ----------
    message
        Of an error; where it has both notations (`keep= (--keep NAME)`), the flag stays.
    options
        Of the command; what it has no option for is left as it is.
    """
    known = set() if options is None else vars(options).keys()

    def flag(found: re.Match[str]) -> str:
        return f"--{found[1].replace('_', '-')}" if found[1] in known else found[0]

    return _ARGUMENT.sub(flag, _BOTH.sub(r"\1", message))


def _say_when_compiling_takes_long(options: Namespace) -> None:
    if not getattr(options, "quiet", False) and sys.stderr.isatty():
        from dpdb.compiled import tell_when_long

        tell_when_long(lambda: tell("\r\033[Kdpdb: compiling for this machine, once; `dpdb warm` does it beforehand\n"))


def _say_warnings(options: Namespace) -> None:
    """Warn in one line on standard error, as everything else; Python would print a line of source code, too."""
    from dpdb.errors import IgnoredLimitsWarning, LittleBudgetWarning

    others = warnings.showwarning

    def shown(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, (LittleBudgetWarning, IgnoredLimitsWarning)):
            say(str(message))
        else:
            others(message, category, *place, **more)

    quiet = getattr(options, "quiet", False)
    warnings.simplefilter("ignore" if quiet else "always", LittleBudgetWarning)
    warnings.simplefilter("ignore" if quiet else "once", IgnoredLimitsWarning)
    warnings.showwarning = shown


def _with_option_of_log(message: str, options: Namespace | None) -> str:
    """Name the option for the owner's log, if a message refers to that log and nothing keeps it."""
    if getattr(options, "owner_log", "") is not None:  # the log is kept, or the command has no such option
        return message
    return message.replace(" (logger 'dpdb.owner')", "").replace(_LOG, f"{_LOG} (--owner-log FILE)", 1)


def _stopped(error: KeyboardInterrupt | Terminated) -> int:
    word = "interrupted" if isinstance(error, KeyboardInterrupt) else "terminated"
    code = _INTERRUPTED if isinstance(error, KeyboardInterrupt) else int(error.code or 0)
    return _failed(f"{word}; temporary data is removed, {what_is_spent()}", code)


def _unforeseen(error: Exception) -> int:
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:  # no file: so nothing was begun
        return _failed(f"{str(error.filename)[:60]}...: the name is too long for a file", _USAGE)
    import logging

    log = logging.getLogger("dpdb.owner")
    if not log.handlers:  # the import that adds a handler may have failed; then logging would use standard error
        log.addHandler(logging.NullHandler())
        log.propagate = False
    log.exception("internal error")
    return _failed(f"internal error; the reason is in {_LOG} (--owner-log FILE)", _ENGINE_ERROR)


def _signal_behind(error: BaseException | None) -> KeyboardInterrupt | Terminated | None:
    """Find the exception of a signal that native code has replaced with its own, such as a failed import."""
    while error is not None and not isinstance(error, (KeyboardInterrupt, Terminated)):
        error = error.__cause__ or error.__context__
    return error or asked_to_stop()


def _refuse_undecodable(arguments: Sequence[str]) -> None:
    """Refuse arguments that are not text: SQL and ledgers cannot hold them, and some would fail after a debit only."""
    from dpdb.errors import ParameterError

    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise ParameterError(f"{argument[:60]!r} is not text in the encoding of this terminal; use UTF-8") from None


def _failed(message: str, code: int) -> int:
    say(message)
    return code
