"""Files behind https and http addresses."""

from __future__ import annotations

import base64
import http.client
import shutil
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from dpdb.errors import SourceError
from dpdb.owner_log import OWNER_LOG

__all__ = ["download"]

_PATIENCE = 60  # seconds without a byte


def download(address: str, folder: Path) -> tuple[str, Path]:
    """Download a file; return the address as it may be shown and the copy.

    Raises
    ------
    SourceError
        If the server does not give the file, or not all of it.
    """
    parts = urlsplit(address)
    host = parts.hostname or ""
    shown = SplitResult(
        parts.scheme, host if parts.port is None else f"{host}:{parts.port}", parts.path, "", ""
    ).geturl()
    request = urllib.request.Request(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="").geturl())
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        request.add_header("Authorization", f"Basic {base64.b64encode(pair.encode()).decode()}")
    try:
        with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:
            copy = folder / _file_name(parts.path, answer.headers.get_content_type())
            with copy.open("xb") as file:
                shutil.copyfileobj(answer, file)
            promised = answer.headers["Content-Length"]
    except urllib.error.HTTPError as error:
        raise SourceError(f"{shown}: the server answers {error.code} ({error.reason})") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        OWNER_LOG.error("%s: %s", shown, error)
        raise SourceError(f"{shown}: cannot be fetched; the reason is in the owner's log") from None
    if promised is not None and copy.stat().st_size != int(promised):
        raise SourceError(f"{shown}: the connection ended before all of the file had come; try again")
    return shown, copy


def _file_name(path: str, kind: str) -> str:
    """Name the copy as the address does, or by its type: of text the name tells the kind."""
    name = Path(unquote(path)).name or "table"
    return f"{name}.csv" if kind == "text/csv" and "." not in name else name
