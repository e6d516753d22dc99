"""How much memory this process may still take: what the machine has left, its control groups and its own limits."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

__all__ = ["available_memory"]

_UNLIMITED = 1 << 60
"""Control groups without a limit say a number near 2^63, or `max`."""


def available_memory(root: Path = Path("/")) -> int | None:
    """Return bytes, or None where nothing tells.

    Parameters
    ----------
    root : path
        Where `proc` and `sys` are.
    """
    return min((max(0, left) for left in _limits(root)), default=None)


def _limits(root: Path) -> Iterator[int]:
    yield from _of_machine(root)
    yield from _of_control_groups(root)
    yield from _of_process(root)


def _of_machine(root: Path) -> Iterator[int]:
    known = re.search(r"^MemAvailable:\s*(\d+) kB", _text(root / "proc/meminfo"), re.MULTILINE)
    if known:
        yield int(known[1]) << 10
    else:
        with suppress(ValueError, OSError, AttributeError):  # not everywhere
            yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def _of_control_groups(root: Path) -> Iterator[int]:
    """Of each group that this process is in, and those that hold it; in a container the own one is the topmost."""
    groups = root / "sys/fs/cgroup"
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, kinds, path = line.split(":", 2)
        inside = Path(path.lstrip("/"))
        if not kinds:
            base, limit, used = groups, "memory.max", "memory.current"
        elif "memory" in kinds.split(","):
            base, limit, used = groups / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        for each in (inside, *inside.parents):
            most, taken = _number(base / each / limit), _number(base / each / used)
            if most is not None and most < _UNLIMITED:
                # Pages of files count as used, and go when others need memory.
                file = re.search(r"^(?:total_)?inactive_file (\d+)", _text(base / each / "memory.stat"), re.MULTILINE)
                yield most - (taken or 0) + (int(file[1]) if file else 0)


def _of_process(root: Path) -> Iterator[int]:
    """`ulimit -v`."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most != resource.RLIM_INFINITY:
            taken = re.search(r"^VmSize:\s*(\d+) kB", _text(root / "proc/self/status"), re.MULTILINE)
            yield most - ((int(taken[1]) << 10) if taken else 0)


def _number(path: Path) -> int | None:
    text = _text(path).strip()
    return int(text) if text.isdigit() else None


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return ""
