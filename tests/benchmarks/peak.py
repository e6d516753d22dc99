"""Peak memory of this process alone: `ru_maxrss` would start from the parent's."""

from __future__ import annotations

from pathlib import Path


def peak_gigabytes() -> float:
    """Return the high-water mark of the resident set, in 10^9 bytes."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    kibibytes = next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]
    return int(kibibytes) * 1024 / 1e9
