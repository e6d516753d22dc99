"""The command line: thin. It parses arguments, calls the session room, and prints; no algorithm lives here."""

from dpdb.doors.cli.main import main

__all__ = ["main"]
