"""Files behind https and http addresses."""

from __future__ import annotations

import base64
import http.client
import shutil
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, quote, unquote, urlsplit

from dpdb.errors import SourceError
from dpdb.owner_log import OWNER_LOG
from dpdb.sources.cells.compression import COMPRESSED

__all__ = ["download"]

_PATIENCE = 60  # seconds without a byte
_PLAIN = "%/?:@!$&'()*+,;=~[]"  # what an address may hold as it is; the rest is sent as %20


def download(address: str, folder: Path) -> tuple[str, Path]:
    """Download a file; return the address as it may be shown and the copy.

    Raises
    ------
    SourceError
        If the server does not give the file, or not all of it.
    """
    parts, shown = _read(address)
    asked = parts._replace(
        netloc=parts.netloc.rpartition("@")[2],
        path=quote(parts.path, _PLAIN),
        query=quote(parts.query, _PLAIN),
        fragment="",
    )
    request = urllib.request.Request(asked.geturl())
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        request.add_header("Authorization", f"Basic {base64.b64encode(pair.encode()).decode()}")
    try:
        with urllib.request.build_opener(_Redirects).open(request, timeout=_PATIENCE) as answer:
            copy = folder / _file_name(parts.path, answer.headers.get_content_type())
            _refuse_encoding(shown, answer.headers, copy.name)
            promised = answer.length
            with copy.open("xb") as file:
                shutil.copyfileobj(answer, file)
    except urllib.error.HTTPError as error:  # its own words may be anything, also addresses with signatures
        error.close()
        reason = http.client.responses.get(error.code, "?")
        raise SourceError(f"{shown}: the server answers {error.code} ({reason})") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        OWNER_LOG.error("%s: %s", shown, error)
        raise SourceError(f"{shown}: cannot be fetched; the reason is in the owner's log") from None
    if promised is not None and copy.stat().st_size != promised:
        raise SourceError(f"{shown}: the connection ended before all of the file had come; try again")
    return shown, copy


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows to another server without the password, which was given for the first one."""

    def redirect_request(  # noqa: PLR0917 - the library's signature
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Any:
        """Return the request for the new address; see `HTTPRedirectHandler`."""
        if urlsplit(newurl).scheme not in ("https", "http"):
            raise urllib.error.HTTPError(req.full_url, code, msg, headers, fp)
        found = super().redirect_request(req, fp, code, msg, headers, newurl)
        if found is not None and (found.type, found.host) != (req.type, req.host):
            found.remove_header("Authorization")
        return found


def _read(address: str) -> tuple[SplitResult, str]:
    """Return the parts of an address, and the address as it may be shown."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError:  # its text shows the password
        raise SourceError("https://...: is no address: its server or port cannot be read") from None
    return parts, SplitResult(parts.scheme, host if port is None else f"{host}:{port}", parts.path, "", "").geturl()


def _refuse_encoding(shown: str, headers: Any, name: str) -> None:
    """Refuse what a server compresses unasked: its bytes are not the file's, unless that is compressed itself."""
    if headers.get("Content-Encoding", "identity").lower() != "identity" and not name.lower().endswith(COMPRESSED):
        raise SourceError(f"{shown}: the server sends it compressed (Content-Encoding); let it send the file as it is")


def _file_name(path: str, kind: str) -> str:
    """Name the copy as the address does, or by its type: of text the name tells the kind."""
    name = Path(unquote(path)).name or "table"
    return f"{name}.csv" if kind == "text/csv" and "." not in name else name
