"""The environment of the peers: `peers.txt`, installed once in `build/peers`, which git ignores."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent
PEERS = ("naive_duckdb", "polars", "networkx")


@cache
def peers_python() -> Path:
    """Return the Python of the peers; a change of `peers.txt` makes another environment."""
    wanted = HERE / "peers.txt"
    digest = hashlib.sha256(wanted.read_bytes() + sys.version.encode()).hexdigest()[:8]
    folder = HERE.parents[1] / "build" / f"peers-{digest}"
    python, done = folder / "bin" / "python", folder / "installed"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", "-r", str(wanted)], check=True)
        done.touch()
    return python
