"""The file of `dpdb serve`: TOML to frozen values. Paths are relative to its folder; nothing is opened here.

Only a file that the caller names is read: it says which ledgers pay, how rows are protected and what is public, and a
file that was merely found in the current folder may be a stranger's.
"""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from dpdb.doors.jobs.toml_keys import TABLE_KEYS, TomlKeys, existing_file, ledgers_of_parents, read_table
from dpdb.errors import ParameterError
from dpdb.files.bounded_file import bounded_bytes, toml_values
from dpdb.names import folded
from dpdb.settings import TableSpec

_LARGEST = 1 << 20
_MOST_NAME = 60


@dataclass(frozen=True)
class Limits:
    """Limits of a server; in every process of its own but for the first two, which servers on one audit file share.

    Attributes
    ----------
    statements_per_minute, at_once
        Of one analyst.
    waiting, waiting_seconds
        Statements of one analyst that wait while as many run as may at once, and how long one of them waits.
    connections_per_address, connections
        Open at once: from one address, and in all.
    failed_logins_per_minute
        From one address; further ones are answered with 429.
    request_seconds
        For the head and the body of a request.
    statement_seconds
        For the SQL of one statement, over empty answers and over the answers.
    release_seconds
        The first point of the public grid at which releases and their failures are answered; each next is twice as far.
    stop_seconds
        For the statements that run when the server is told to stop.
    receipt_seconds
        Between the moments at which the log that receipts show advances.
    kept_mib_per_analyst, kept_mib
        Results that are held until they are fetched, with statements that are prepared: of one analyst over all his
        connections, and in all.
    """

    statements_per_minute: int = 60
    at_once: int = 2
    waiting: int = 20
    waiting_seconds: float = 30.0
    connections_per_address: int = 64
    connections: int = 512
    failed_logins_per_minute: int = 30
    request_seconds: float = 10.0
    statement_seconds: float = 60.0
    release_seconds: float = 1.0
    stop_seconds: float = 60.0
    receipt_seconds: float = 10.0
    kept_mib_per_analyst: int = 256
    kept_mib: int = 1_024


@dataclass(frozen=True)
class ServedTable:
    """One `[tables.NAME]`: the table, its ledger, those of private parents, its suites by name, results of its jobs."""

    name: str
    table: TableSpec
    ledger: Path
    suites: Mapping[str, Path]
    results: Path | None
    parent_ledgers: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True)
class Configuration:
    """A configuration, read.

    Attributes
    ----------
    address, port
        Where to listen.
    postgres
        Where to listen for clients of PostgreSQL: address and port; None for nowhere.
    certificate, private_key
        Files for TLS; without them only this machine's own addresses are listened at.
    audit
        The SQLite file that records who asked what.
    owner_log
        The file for the details of failures, which may name private values.
    public
        Files that statements may read by name.
    receipt_key
        The private key of receipts; None for none.
    """

    path: Path
    address: str
    port: int
    postgres: tuple[str, int] | None
    certificate: Path | None
    private_key: Path | None
    audit: Path
    owner_log: Path | None
    limits: Limits
    tables: tuple[ServedTable, ...]
    public: Mapping[str, Path]
    receipt_key: Path | None = None


_SERVER_KEYS = ("address", "port", "certificate", "private_key", "audit", "owner_log", "receipt_key")
_LIMIT_KEYS = tuple(limit.name for limit in fields(Limits))


def load_configuration(path: str | Path) -> Configuration:
    """Read a configuration.

    Raises
    ------
    ParameterError
        The file cannot be read or is not TOML, a key is missing, unknown or of another type, a file that it names
        does not exist, two tables share a ledger or a suite's name, or it listens at an address that other machines
        reach without a certificate.
    """
    path = Path(path)
    try:
        content = bounded_bytes(path, _LARGEST, "the configuration of a server")
    except (OSError, ValueError) as error:
        reason = (error.strerror or "cannot be read").lower() if isinstance(error, OSError) else "cannot be read"
        raise ParameterError(f"{path}: {reason}") from None
    keys = TomlKeys(toml_values(content, path), str(path), ("server", "tables", "public", "postgres"))
    server = TomlKeys(keys.table("server"), f"{path}, [server]", (*_SERVER_KEYS, *_LIMIT_KEYS))
    folder = path.parent
    found = keys.table("tables")
    if not found:
        raise ParameterError(f"{path}: there is no [tables.NAME]; a server needs at least one table")
    tables = tuple(_table(path, name, values) for name, values in found.items())
    public = _files(keys, "public", folder)
    _refuse_shared(path, tables, public)
    configuration = Configuration(
        path=path,
        address=_address(server),
        port=_port(server),
        postgres=_postgres(TomlKeys(keys.table("postgres"), f"{path}, [postgres]", ("listen",))),
        audit=folder / (server.text("audit") or "audit.sqlite"),
        owner_log=None if (log := server.text("owner_log")) is None else folder / log,
        limits=_limits(server),
        tables=tables,
        public=public,
        **{key: _optional_file(server, folder, key) for key in ("certificate", "private_key", "receipt_key")},
    )
    if (configuration.certificate is None) != (configuration.private_key is None):
        raise ParameterError(f"{path}, [server]: certificate and private_key go together")
    if configuration.certificate is None and not _is_loopback(configuration.address):
        raise ParameterError(
            f"{path}, [server]: other machines reach {configuration.address}, and tokens would cross the network in "
            "plain text: give certificate and private_key, or listen at 127.0.0.1"
        )
    if configuration.certificate is None and configuration.postgres and not _is_loopback(configuration.postgres[0]):
        raise ParameterError(
            f"{path}, [postgres]: other machines reach {configuration.postgres[0]}, and answers would cross the "
            "network in plain text: give certificate and private_key in [server], or listen at 127.0.0.1"
        )
    return configuration


def _is_loopback(address: str) -> bool:
    """Return whether only programs of this machine reach an address."""
    return address == "localhost" or ipaddress.ip_address(address).is_loopback


def _address(server: TomlKeys) -> str:
    text = server.text("address") or "127.0.0.1"
    if not _is_address(text):
        raise server.error("address", f"expected an address such as 127.0.0.1, got {text!r}")
    return text


def _is_address(text: str) -> bool:
    with contextlib.suppress(ValueError):
        return text == "localhost" or bool(ipaddress.ip_address(text))
    return False


def _postgres(keys: TomlKeys) -> tuple[str, int] | None:
    text = keys.text("listen")
    if text is None:
        return None
    address, _, port = text.rpartition(":")
    address = address.removeprefix("[").removesuffix("]")
    if not (_is_address(address) and port.isascii() and port.isdigit() and len(port) < 6 and int(port) <= 65_535):
        raise keys.error("listen", f"expected an address and a port such as 127.0.0.1:5433, got {text!r}")
    return address, int(port)


def _port(server: TomlKeys) -> int:
    port = server.whole("port")
    if port is not None and not 0 <= port <= 65_535:
        raise server.error("port", f"expected a number from 0 to 65535, got {port}")
    return 8733 if port is None else port


def _limits(server: TomlKeys) -> Limits:
    given: dict[str, Any] = {}
    for limit in fields(Limits):
        value = server.whole(limit.name) if isinstance(limit.default, int) else server.number(limit.name)
        if value is not None:
            if not 0 < value < 1e6:
                raise server.error(limit.name, f"expected a positive number, got {value}")
            given[limit.name] = value
    return Limits(**given)


def _table(path: Path, name: str, values: object) -> ServedTable:
    place, folder = f"{path}, [tables.{name}]", path.parent
    if not isinstance(values, dict):
        raise ParameterError(f"{place}: expected a table")
    if not name.isprintable() or not 0 < len(name) <= _MOST_NAME:
        raise ParameterError(f"{place}: a table's name has 1 to {_MOST_NAME} printable characters")
    keys = TomlKeys(values, place, (*TABLE_KEYS, "ledger", "parent_ledgers", "suites", "results"))
    results = keys.text("results")
    return ServedTable(
        name=name,
        table=read_table(keys, folder, place, needs_rules=False),
        ledger=existing_file(
            keys,
            folder / keys.required_text("ledger", "only a ledger bounds what all analysts spend together"),
            "ledger",
            lambda missing: f"; make it once with `dpdb budget create {missing} --epsilon E`",
        ),
        suites=_files(keys, "suites", folder),
        parent_ledgers=ledgers_of_parents(keys, folder),
        results=None if results is None else folder / results,  # a job may write its first ones later
    )


def _files(keys: TomlKeys, key: str, folder: Path) -> dict[str, Path]:
    found = {}
    for name, text in keys.table(key).items():
        if not isinstance(text, str) or not text:
            raise keys.error(key, f"{name!r}: expected a file, got {text!r}")
        found[name] = _rereadable(keys, existing_file(keys, folder / text, key), key)
    return found


def _rereadable(keys: TomlKeys, path: Path, key: str) -> Path:
    """Return the path of a file or folder; a pipe or device would keep the server waiting, or be read once."""
    if not (path.is_file() or path.is_dir()):
        raise keys.error(key, f"{path} is a pipe or a device: a server reads files again")
    return path


def _optional_file(keys: TomlKeys, folder: Path, key: str) -> Path | None:
    text = keys.text(key)
    return None if text is None else _rereadable(keys, existing_file(keys, folder / text, key), key)


def _refuse_shared(path: Path, tables: tuple[ServedTable, ...], public: Mapping[str, Path]) -> None:
    """Refuse names that statements could not tell apart, and a ledger that would pay for two tables."""
    found: list[tuple[object, str]] = []
    for name in [*(table.name for table in tables), *public]:
        found.append((folded(name), f"two tables have the name {name!r}; statements could not tell them apart"))
    for table in tables:
        found.append((table.ledger.resolve(), f"two tables name the ledger {table.ledger}; a ledger is of one table"))
        found += [((suite,), f"two suites have the name {suite!r}; give each its own") for suite in table.suites]
    seen = set()
    for key, problem in found:
        if key in seen:
            raise ParameterError(f"{path}: {problem}")
        seen.add(key)
