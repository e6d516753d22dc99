"""`dpdb`: dispatch, error messages, exit codes.

Exit codes: 0 ok, 1 gate failed (`--fail-above`), 2 usage or configuration, 3 engine error, 4 budget refused.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from types import FrameType

from dpdb.cli.arguments import build_parser
from dpdb.engine.database import OWNER_LOG
from dpdb.errors import DpdbError, EngineError

__all__ = ["main"]

_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Never shows a traceback: it could print private values."""
    options = build_parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _terminate)
    try:
        return int(options.run(options))
    except DpdbError as error:
        return _failed(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _failed("interrupted; temporary data is removed, what was debited stays spent", _INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone
        return 0
    except MemoryError:
        return _failed("out of memory; give --memory-limit, so that work spills to disk", EngineError.exit_code)
    except Exception:
        OWNER_LOG.exception("internal error")
        return _failed("internal error; the reason is in the owner's log (--owner-log FILE)", EngineError.exit_code)


def _failed(message: str, code: int) -> int:
    print(f"dpdb: {message}", file=sys.stderr)
    return code


def _terminate(number: int, frame: FrameType | None) -> None:
    del frame
    # As an exception, so that temporary directories are removed on the way out.
    raise SystemExit(128 + number)
