"""The command line: thin. It parses arguments, calls the packages below, and prints; no algorithm lives here."""

from dpdb.doors.cli.main import main, run_process

__all__ = ["main", "run_process"]
