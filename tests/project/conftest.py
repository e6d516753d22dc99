"""The tests of the house serve the small table that the server's tests do."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path += [str(Path(__file__).parents[1] / room) for room in ("server", "sql")]
