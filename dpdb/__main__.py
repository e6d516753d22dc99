"""`python -m dpdb`, and the script `dpdb`."""

import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where the shell has it ignored
    # Until the command has handlers Ctrl-C just ends the process: nothing has begun.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from dpdb.doors.cli import run_process

__all__ = ["run_process"]

if __name__ == "__main__":
    run_process()
