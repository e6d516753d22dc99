"""Ledgers with debits, answers and a settled run of checks, and the key of their receipts; no table is read."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import NamedTuple

from text_reader import parse_where

from dpdb.ledger import Ledger, SourceMark
from dpdb.receipts import new_key_file

SOURCE = SourceMark("table", "content")


class Kept(NamedTuple):
    ledger: Path
    key: Path
    public: Path
    lines: tuple[bytes, ...] = ()


def made_ledger(folder: Path, budget: float = 5) -> Kept:
    (folder / "books").mkdir()
    key = folder / "receipts.key"
    new_key_file(key, "test")
    Ledger.create(folder / "books" / "t.ledger", budget).close()
    return Kept(folder / "books" / "t.ledger", key, folder / "receipts.key.pub")


def release(
    path: Path, where: str = "a = 1", run_id: str | None = None, *, analyst: str | None = None, epsilon: str = "0.001",
    releases: int = 1, answered: bool = True,
) -> int:  # fmt: skip
    """Debit and answer one release; returns its number."""
    request = json.dumps({"epsilon": epsilon, "where": where, "measure": "count"})
    with Ledger.open(path) as ledger:
        units = round(float(epsilon) * 1e9)
        held = ledger.reserve(parse_where(where), units, source=SOURCE, request=request, run_id=run_id, analyst=analyst)
        try:
            if answered and held.answer is None:
                found = [
                    {"release_id": secrets.token_hex(16), "measure": "count", "mechanism": "laplace", "value": value}
                    for value in range(releases)
                ]
                ledger.record(held, json.dumps(found))
        finally:
            held.close()
        return held.number


def checked_run(path: Path, run_id: str, charge: int = 1_000_000, spent: int = 250_000) -> None:
    """A run of a suite of checks with two levels, settled at what they cost."""
    request = json.dumps({"epsilon": f"{charge / 1e9:.9f}", "suite": "s"})
    with Ledger.open(path) as ledger:
        held = ledger.checks.open_suite(
            parse_where("a = 1"), charge, source=SOURCE, request=request, run_id=run_id, analyst=None, label=None,
            rule_set=None, spec="{}", make_secret=lambda: "secret", name=None,
        )  # fmt: skip
        try:
            for level in (1, 2):
                ledger.checks.record_level(held, level, "{}", spent=spent, failed=[])
            ledger.checks.end_suite(held, json.dumps({"checks": [], "run_id": run_id}))
        finally:
            held.close()
