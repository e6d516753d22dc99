"""Files behind https and http addresses, and objects on S3.

S3 is read by the library s3fs; credentials and end points are found as AWS's own tools find them.
"""

from __future__ import annotations

import base64
import glob
import http.client
import shutil
import urllib.error
import urllib.request
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import SplitResult, quote, unquote, urlsplit

from dpdb.errors import OWNER_LOG, SourceError
from dpdb.sources.paths import COMPRESSED
from dpdb.sources.source import needed, reason_in_log

_PATIENCE = 60  # seconds without a byte
_PLAIN = "%/?:@!$&'()*+,;=~[]"  # what an address may hold as it is; the rest is sent as %20


def download(address: str, folder: Path) -> tuple[str, Path]:
    """Download a file; return the address as it may be shown and the copy."""
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


def is_delta(address: str) -> bool:
    """Say whether a Delta table lies there, which its own library reads."""
    return not glob.has_magic(address) and bool(_asked(address, lambda files, path: files.exists(f"{path}/_delta_log")))


def download_objects(address: str, folder: Path) -> Path:
    """Download an object, or those of a glob or a folder; return the local path that names the copies as it does.

    Raises
    ------
    SourceError
        If there is none, one cannot be read, or one changed while it was fetched.
    """
    return Path(_asked(address, lambda files, path: _downloaded(files, path, address, folder)))


def _downloaded(files: Any, path: str, address: str, folder: Path) -> str:
    if glob.has_magic(path):
        fixed = path[: next(at for at, sign in enumerate(path) if sign in "*?[")].rpartition("/")[0]
        keys, local = files.glob(path), folder / path.removeprefix(f"{fixed}/")
    elif files.isfile(path):
        fixed, keys, local = path.rpartition("/")[0], [path], folder / path.rpartition("/")[2]
    else:
        fixed, keys, local = path, files.find(path), folder
    keys = [key for key in keys if not key.endswith("/")]
    if not keys:
        raise SourceError(f"{address}: no object there")
    for key in keys:
        copy = folder / _below(key, fixed, address)
        if copy.exists():  # a//b and a/b
            raise SourceError(f"{address}: the keys of two objects are one path")
        copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        before = _state(files, key)
        files.get_file(key, str(copy))
        if _state(files, key) != before or copy.stat().st_size != before[0]:
            raise SourceError(f"{address}: changed while it was fetched; open it again when nobody writes there")
    return str(local)


def _below(key: str, fixed: str, address: str) -> PurePosixPath:
    """Return an object's place below the folder; its key is any text, and must not lead out of there."""
    inside = PurePosixPath(key.removeprefix(f"{fixed}/"))
    if inside.is_absolute() or ".." in inside.parts or "\0" in key:
        raise SourceError(f"{address}: an object's key is no path")
    return inside


def _state(files: Any, key: str) -> tuple[int, Any]:
    files.invalidate_cache()
    found = files.info(key, refresh=True)
    return found["size"], found.get("ETag")


def _asked(address: str, ask: Any) -> Any:
    library = needed("s3fs", "s3", address)
    path = address.partition("://")[2].rstrip("/")
    if "@" in path.partition("/")[0]:
        raise SourceError("s3://...: an address holds no password; credentials are found as AWS's own tools find them")
    if "/" not in path:
        raise SourceError(f"{address}: names no object; write s3://bucket/key")
    with reason_in_log(f"{address}: cannot be fetched", Exception):  # of s3fs, botocore and the network
        return ask(library.S3FileSystem(skip_instance_cache=True, use_listings_cache=False), path)
