"""`AskedErrors`: what of analysts' statements goes wrong, in the owner's log: shortly, and so many times a minute.

Whoever asks decides how often his statements fail, and how long they are. Each record is cut. Those beyond the bound
are counted, and the next record says how many there were. The statements themselves stand in a server's audit.
"""

from __future__ import annotations

import threading
import time
import traceback

from dpdb.errors import OWNER_LOG

_PER_MINUTE = 30
_MINUTE = 60.0
_LONGEST = 4_000


class AskedErrors:
    """Errors of one kind; may be used by several threads.

    Parameters
    ----------
    what : str
        What is wrong, for the line that counts those left out.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = threading.Lock()
        self._since = -_MINUTE
        self._told = self._left_out = 0

    def tell(self, text: str, error: BaseException | None = None) -> None:
        """Write a record, with the trace of an error where there is one, or count it."""
        with self._lock:
            now = time.monotonic()
            if now - self._since >= _MINUTE:
                self._since, self._told = now, 0
            if self._told >= _PER_MINUTE:
                self._left_out += 1
                return
            self._told += 1
            left_out, self._left_out = self._left_out, 0
        if left_out:
            OWNER_LOG.warning("%s: %d more were not written here", self._what, left_out)
        trace = "" if error is None else "\n" + "".join(traceback.format_exception(error, chain=True))
        OWNER_LOG.error("%s", _cut(text) + _cut(trace))


def _cut(text: str) -> str:
    """Return a text without its middle, if it is long: the end of a trace says what was wrong."""
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]}\n[...]\n{text[-half:]}"
