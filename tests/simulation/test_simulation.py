"""One integer replays a ledger's life: 200 of them, 10,000 under `slow`; mutants are caught.

By default a fifth of the 200 runs (`case_share`), and of the lives with analysts and with servers, beside a few seeds
without which some fifth would not see everything that may happen.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import ledger_lives
import pytest
from case_share import fifth
from ledger_lives import LifeFailed, live
from ledger_mutants import MUTANTS

from dpdb.doors.server.analysts import Directory
from dpdb.doors.server.audit import Audit
from dpdb.ledger.limits import Limits

DEFAULT, SLOW = range(1, 201), range(201, 10_001)
FAILED_ONCE = (209,)  # the model took a head that was only caught up for one with a new line
RARE = (33, 70, 80)  # an old log is put back, a check re-armed, a suite closed: not in each fifth of the lives
FAULTS = {
    "EIO", "ENOSPC", "SQLITE_FULL", "SQLITE_IOERR_READ", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC", "short read",
    "kill", "machine stops", "torn sector", "clock jumps",
    "old copy put back without its head", "old copy put back with its head", "old log put back",
}  # fmt: skip
EVENTS = {
    "owner: raise", "owner: allow", "owner: epoch", "over budget", "old copy refused", "busy", "lock waits", "settled",
    "suite ended", "rings", "owner: re-arms", "owner: closes",
}  # fmt: skip


RATIONED = {"owner: grant", "owner: ration", "owner: revoke", "refused: the access of", "over budget"}


def lives(seeds: Sequence[int], folder: Path) -> tuple[Counter[str], Counter[str]]:
    """Run lives; what happened in them."""
    events: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    for seed in seeds:
        found = live(seed, folder)
        events += found.events
        faults += found.faults
    return events, faults


def test_200_lives_keep_what_they_owe(tmp_path: Path) -> None:
    """Nor is it easy for them: every kind of fault and of the owner's acts was among them."""
    events, faults = lives(sorted({*fifth(DEFAULT), *FAILED_ONCE, *RARE}), tmp_path)
    assert faults.keys() >= FAULTS
    assert events.keys() >= EVENTS


def lives_with_analysts(seeds: Sequence[int], folder: Path) -> Counter[str]:
    events: Counter[str] = Counter()
    for seed in seeds:
        events += live(seed, folder, analysts=True).events
    return events


def test_lives_with_analysts_keep_what_they_owe(tmp_path: Path) -> None:
    """Servers ask in the names of analysts, whom the owner rations and revokes while everything fails."""
    assert lives_with_analysts(sorted({*fifth(range(1, 41)), 8}), tmp_path).keys() >= RATIONED


SERVED = {
    "server: started", "server: answered", "server: budget", "server: forbidden", "server: unauthorized",
    "server: unavailable", "server: a token has ended", "kill", "machine stops", "clock jumps", "owner: revoke",
}  # fmt: skip


def lives_of_servers(seeds: Sequence[int], folder: Path) -> Counter[str]:
    found: Counter[str] = Counter()
    for seed in seeds:
        life = live(seed, folder, servers=True)
        found += life.events + life.faults
    return found


@pytest.mark.heavy(family="servers")
def test_servers_that_are_killed_and_started_again_keep_what_they_owe(tmp_path: Path) -> None:
    """One debit, one answer for each key, quotas, one total, and no debit without a line in the audit."""
    assert lives_of_servers(sorted({*fifth(range(1, 21)), 2, 9, 19}), tmp_path).keys() >= SERVED


@pytest.mark.slow
def test_1000_lives_of_servers_keep_what_they_owe(tmp_path: Path) -> None:
    lives_of_servers(range(21, 1_021), tmp_path)


@pytest.mark.heavy(family="long")
def test_a_life_of_servers_is_replayed(tmp_path: Path) -> None:
    assert live(2, tmp_path, servers=True).trace == live(2, tmp_path, servers=True).trace


@pytest.mark.heavy(family="servers")
def test_servers_that_audit_nothing_or_know_old_tokens_only_are_caught(tmp_path: Path) -> None:
    with patch.object(Audit, "begin", lambda *_, **__: 0), pytest.raises(LifeFailed, match="a debit is not audited"):
        live(1, tmp_path, servers=True)
    refresh = Directory.refresh

    def once(directory: Directory) -> None:
        if not directory._by_digest:
            refresh(directory)

    with patch.object(Directory, "refresh", once), pytest.raises(LifeFailed, match="that was withdrawn is good"):
        lives_of_servers(range(1, 11), tmp_path)


def test_a_quota_that_is_not_counted_is_caught(tmp_path: Path) -> None:
    def uncounted(limits: Limits, *_: object) -> None:
        del limits

    with patch.object(Limits, "_ration", uncounted), pytest.raises(LifeFailed, match="above a quota"):
        lives_with_analysts(range(1, 41), tmp_path)


@pytest.mark.slow
def test_2000_lives_with_analysts_keep_what_they_owe(tmp_path: Path) -> None:
    lives_with_analysts(range(41, 2_041), tmp_path)


@pytest.mark.slow
def test_10000_lives_keep_what_they_owe(tmp_path: Path) -> None:
    lives(SLOW, tmp_path)


@pytest.mark.heavy(family="long")
def test_a_life_without_faults_is_the_same_in_both_libraries(tmp_path: Path) -> None:
    """`apsw` carries a SQLite of its own; what the ledger does with `sqlite3` is what was simulated."""
    for seed in range(1, 9):
        ours, plain = (live(seed, tmp_path, faults=False, plain=plain) for plain in (False, True))
        assert ours.final == plain.final
        assert ours.ends == plain.ends
        assert ours.trace == plain.trace


@pytest.mark.heavy(family="long")
def test_a_life_is_replayed_byte_for_byte(tmp_path: Path) -> None:
    """In another process, folder, time and with another hash seed."""
    for seed in (3, 7):
        here = live(seed, tmp_path)
        environment = os.environ | {"PYTHONHASHSEED": str(seed)}
        script = Path(ledger_lives.__file__)
        told = subprocess.run(
            [sys.executable, str(script), str(seed)], env=environment, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        assert told[: len(here.trace)] == here.trace
        assert told[len(here.trace)] == here.digest


@pytest.mark.heavy
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught_by_its_seed(name: str, tmp_path: Path) -> None:
    """And says the seed and a trace; without the mutant, the same life ends well."""
    mutant, seed = MUTANTS[name]
    with mutant(), pytest.raises(LifeFailed, match=rf"^seed {seed}: ") as caught:
        live(seed, tmp_path)
    assert "\n...\n" in str(caught.value)
    live(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_no_smaller_seed_catches_a_mutant(name: str, tmp_path: Path) -> None:
    mutant, first = MUTANTS[name]
    for seed in range(1, first):
        with mutant():
            live(seed, tmp_path)
