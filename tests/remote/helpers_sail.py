"""Sail, a server that speaks Spark's Connect protocol and is no Spark, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from contextlib import suppress
from typing import Any

# Sail asks for the version of the PySpark that is installed beside it, and knows those up to 4.1.
_SERVER = """
import pyspark
pyspark.__version__ = min(pyspark.__version__, "4.1.1")
from pysail.spark import SparkConnectServer
server = SparkConnectServer("127.0.0.1", 0)
server.start(background=True)
print(*server.listening_address, flush=True)
input()
"""


def why_no_sail() -> str | None:
    """Say what is missing for a server."""
    try:
        import pysail  # noqa: F401
        import pyspark.sql.connect.session  # noqa: F401
    except ImportError as error:
        return f"Sail is not installed: pip install 'dpdb[test]' ({error.name})"
    return None


class Sail:
    """A server and a session of it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", _SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        host, _, port = self._process.stdout.readline().strip().partition(" ")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of PySpark's own imports
            # Spark's own server may be forked from this process later; handlers of gRPC at a fork can end it.
            os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
            from pyspark.sql.connect.session import SparkSession

            self.session: Any = SparkSession.builder.remote(f"sc://{host}:{port}").create()
        self.session.conf.set("spark.sql.session.timeZone", "UTC")
        # The client of PySpark 4.3 reads a number where Sail says 3GB.
        self.session.conf.set("spark.sql.session.localRelationSizeLimit", str(1 << 30))

    def stop(self) -> None:
        """End both."""
        with suppress(Exception):
            self.session.stop()
        self._process.communicate("")
