"""Objects on S3, by the library s3fs; credentials and end points are found as AWS's own tools find them."""

from __future__ import annotations

import glob
from pathlib import Path, PurePosixPath
from typing import Any

from dpdb.errors import SourceError
from dpdb.sources.extras import needed, reason_in_log

__all__ = ["download_objects", "is_delta"]


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
