"""`dpdb warm`: compile everything beforehand, for container images and machines that must answer at once."""

from __future__ import annotations

import argparse
from typing import Any

from dpdb.doors.cli.options import command, quiet_options
from dpdb.doors.cli.streams import show

_NOT_COMPILED = 1


def add_warm(commands: Any) -> None:
    """Add `dpdb warm`."""
    text = "compile everything for this machine and keep it: in the package if that can be written, else in your cache"
    parser = command(commands, "warm", run, text, "dpdb warm")
    parser.add_argument("--check", action="store_true", help="compile nothing; exit code 1 if something is missing")
    quiet_options(parser)


def run(options: argparse.Namespace) -> int:
    """Load all kernels, which compiles those that are not kept."""
    from dpdb.compiled import NotCompiledError, compiled_so_far, nothing_compiled
    from dpdb.errors import EngineError
    from dpdb.graph import load_all_kernels
    from dpdb.overlap import load_search

    if options.check:
        try:
            with nothing_compiled():
                load_all_kernels()
                load_search()
        except NotCompiledError as missing:
            show(f"{missing}: `dpdb warm` compiles what is missing")
            return _NOT_COMPILED
        show(f"all {compiled_so_far.found} kernels are compiled")
        return 0
    load_all_kernels()
    load_search()
    done = compiled_so_far
    if done.why_not_kept is not None:
        raise EngineError(
            f"{done.made} kernels were compiled, but cannot be kept ({done.why_not_kept}); "
            "NUMBA_CACHE_DIR may name a folder that can be written"
        )
    kept = "" if done.folder is None else f", kept in {done.folder}"
    made = f"{done.made} kernels compiled in {done.seconds:.1f} s{kept}" if done.made else "nothing to do"
    show(f"{made}; {done.found} were there")
    return 0
