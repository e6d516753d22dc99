"""Receipts over HTTP: each analyst's own, none of others, and the refusal of a ledger that went back."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from receipt_ledgers import Kept, made_ledger, release
from server_site import COUNT, Server, Site, make_site

from dpdb.doors.cli import main
from dpdb.doors.server.receipts import Receipts, SignedReceipt
from dpdb.errors import ParameterError
from dpdb.receipts import Checkpoint, Issuer, Receipt, load_key, load_public, new_key_file, open_receipt
from dpdb.receipts.keys import signing

GRID = 0.5


def site_with_key(folder: Path, **settings: Any) -> Site:
    (folder / "site").mkdir()
    new_key_file(folder / "receipts.key", "test")
    given = {"receipt_key": "../receipts.key", "receipt_seconds": GRID} | settings
    return make_site(folder / "site", analysts={"ann": {}, "bob": {}}, settings=given)


def receipts(folder: Path, found: httpx.Response) -> list[Receipt]:
    assert found.status_code == 200, found.text
    key = load_public(folder / "receipts.key.pub")
    return [open_receipt(line, [key]) for line in found.content.splitlines()]


def seen(checkpoint: Checkpoint) -> dict[str, str]:
    return {"If-Receipt": checkpoint.text.replace("\n", " ").strip()}


@pytest.mark.heavy(family="privacy")
def test_an_answer_links_to_its_receipt_which_is_the_askers_alone(tmp_path: Path) -> None:
    site = site_with_key(tmp_path)
    with Server(site) as server:
        ann, bob = server.client("ann"), server.client("bob")
        answers = [ann.post("/v1/run", json={"statement": COUNT}, headers={"Idempotency-Key": key}) for key in "ab"]
        link = answers[0].headers["Dpdb-Receipt"]
        [first] = receipts(tmp_path, ann.get(link))
        [by_run] = receipts(tmp_path, ann.get("/v1/receipts", params={"run": "a"}))
        checked = ann.post("/v1/check", json={"suite": "nightly"}, headers={"Idempotency-Key": "c"})
        [verdicts] = receipts(tmp_path, ann.get(checked.headers["Dpdb-Receipt"], headers=seen(first.checkpoint)))
        assert bob.get(link).status_code == 422
        assert bob.get("/v1/receipts", params={"run": "ann:a"}).status_code == 422
        assert bob.get("/v1/receipts", params={"run": "a"}).status_code == 422
        assert ann.get("/v1/receipts").status_code == 422
        other = Checkpoint("dpdb.ledger/other", 1, base64.b64decode("A" * 43 + "="))
        no_checkpoints = ["", "x", "a b c", "log 1 AAAA", "log 01 " + "A" * 43 + "=", "log -1 x", "é 1 x"]
        for value in [*no_checkpoints, *seen(other).values()]:
            sent = bob.post("/v1/run", json={"statement": COUNT}, headers=[("If-Receipt", value.encode())])  # type: ignore[list-item]
            assert sent.status_code == 422, value
        his = bob.post("/v1/run", json={"statement": COUNT})
        [others] = receipts(tmp_path, bob.get(his.headers["Dpdb-Receipt"]))
    assert by_run.place == first.place
    assert first.checkpoint in verdicts.earlier
    for receipt, spent, count in ((first, 0, 0), (verdicts, 500_000_000, 2), (others, 0, 0)):
        sums = receipt.claims["accounting"]
        assert (sums["spent_before"], sums["debits_before"], sums["overlap_bound"]) == (spent, count, None)
        assert sums["scope"] == "the asker's own debits"
        assert receipt.claims["debit"]["reserved"].endswith("Z")
    for receipt, name in ((first, "ann"), (verdicts, "ann"), (others, "bob")):
        text = json.dumps(receipt.statement)
        assert not [word for word in ("ann", "bob", "state", "visits", "dp_count") if f'"{word}' in text], name
    released = {one["name"] for one in first.statement["subject"][1:]}
    assert released == {one["release_id"] for one in answers[0].json()["releases"]}


@pytest.mark.heavy(family="long")
def test_a_server_whose_ledger_went_back_refuses_who_holds_a_receipt(tmp_path: Path) -> None:
    """Ledger and head put back together: dpdb alone does not notice, and goes on; whoever holds a receipt does."""
    site = site_with_key(tmp_path)
    files = [site.ledger, site.ledger.with_name("visits.ledger-head")]
    key = tmp_path / "receipts.key"
    with Server(site) as server:
        ann = server.client("ann")
        ann.post("/v1/run", json={"statement": COUNT})
        [old] = receipts(tmp_path, ann.get(ann.post("/v1/run", json={"statement": COUNT}).headers["Dpdb-Receipt"]))
        assert ann.post("/v1/run", json={"statement": COUNT}, headers=seen(old.checkpoint)).status_code == 200
    for file in files:
        shutil.copy2(file, f"{file}.old")
    with Server(site) as server:
        ann = server.client("ann")
        [held] = receipts(tmp_path, ann.get(ann.post("/v1/run", json={"statement": COUNT}).headers["Dpdb-Receipt"]))
    spent = site.spent()
    for file in files:
        shutil.copy2(f"{file}.old", file)
    assert site.spent() < spent  # the ledger and its head agree: nothing is noticed
    command = [sys.executable, "-m", "dpdb", "serve", "--config", str(site.config)]
    refused_to_start = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert refused_to_start.returncode == 3  # the key remembers what it has signed
    assert "an old copy was put back" in refused_to_start.stderr
    Path(f"{key}-signed").unlink()  # the key's memory was put back, too
    with Server(site) as server:
        ann = server.client("ann")
        refused = ann.post("/v1/run", json={"statement": COUNT}, headers=seen(held.checkpoint))
        assert (refused.status_code, refused.json()["error"]) == (412, "rollback")
        assert str(site.folder) not in refused.text
        assert site.spent() < spent
        for _ in range(3):  # it grows beyond the receipt, with other lines
            assert ann.post("/v1/run", json={"statement": COUNT}).status_code == 200
        time.sleep(GRID)
        for path, body in (("/v1/run", {"statement": COUNT}), ("/v1/check", {"suite": "nightly"})):
            assert ann.post(path, json=body, headers=seen(held.checkpoint)).status_code == 412
        assert ann.get("/v1/receipts", params={"run": "x"}, headers=seen(held.checkpoint)).status_code == 412
        assert ann.post("/v1/run", json={"statement": COUNT}, headers=seen(old.checkpoint)).status_code == 200


def test_a_server_without_a_key_gives_none(tmp_path: Path) -> None:
    none = Receipts(None, {"visits": tmp_path / "visits.ledger"}, GRID)
    assert not none.are_given
    with pytest.raises(ParameterError):
        none.of("ann", [("run", "a")], None)


class Clock:
    """A monotonic clock that a test sets."""

    def __init__(self, now: float) -> None:
        self.now = now

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def shared(tmp_path: Path) -> Kept:
    made = made_ledger(tmp_path)
    for name in ("ann", "bob"):
        release(made.ledger, run_id=f"{name}:a", analyst=name)
    return made


def sizes(kept: Kept, found: list[SignedReceipt] | float) -> list[int]:
    assert isinstance(found, list), found
    held = [open_receipt(one.line[:-1], [load_public(kept.public)]) for one in found]
    assert [one.checkpoint.text.split() for one in held] == [one.shown.split() for one in found]
    return [one.checkpoint.size for one in held]


def test_the_shown_log_advances_by_the_clock_alone(shared: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not when a server starts, when somebody asks, when other processes sign, or when they say what they have seen."""
    clock = Clock(105.0)
    monkeypatch.setattr("dpdb.doors.server.receipts.time", clock)
    asked, lines = [("run", "a")], []
    with closing(Receipts(shared.key, {"t": shared.ledger}, 10.0)) as shown:
        for now in (105.0, 109.75):
            clock.now = now
            assert shown.of("ann", asked, None) == 110.0 - now
        clock.now = 110.0
        first = shown.of("ann", asked, None)
        assert sizes(shared, first) == [4]
        lines += [one.line for one in first if isinstance(first, list)]
        for number in range(6):  # more than a key remembers
            release(shared.ledger, run_id=f"ann:more {number}", analyst="ann")
            with Issuer(shared.ledger, load_key(shared.key)) as other:
                lines.append(other.issue(*other.found(run_id="bob:a"), [other.at(4)]))
                ahead = other.newest
            clock.now += 1.5
            shown.refuse_rollback(ahead)
            assert sizes(shared, shown.of("ann", asked, None)) == [4]
            for late in (("ann", [*asked, ("run", f"more {number}")], None), ("ann", asked, ahead)):
                assert shown.of(*late) == 120.0 - clock.now
            assert sizes(shared, shown.of("bob", asked, None)) == [4]
        clock.now = 120.0
        last = shown.of("ann", [*asked, ("run", "more 5")], ahead)
        assert sizes(shared, last) == [16, 16]
        lines += [one.line for one in last if isinstance(last, list)]
    file = shared.key.with_name("all.jsonl")
    file.write_bytes(b"".join(lines))
    key = load_public(shared.public)
    assert {open_receipt(line[:-1], [key]).checkpoint.size for line in lines} == {4, 6, 8, 10, 12, 14, 16}
    assert main(["verify", str(file), "--key", str(shared.public), "--ledger", str(shared.ledger)]) == 0


@pytest.mark.heavy(family="privacy")
def test_the_shown_log_advances_though_nobody_asks(shared: Kept) -> None:
    """So nobody chooses by when he asks which moment a log shows: asked late, it is that of the grid."""
    grid = 1.0
    with closing(Receipts(shared.key, {"t": shared.ledger}, grid)) as shown:
        for number in range(20):
            size = 4 + 2 * number
            time.sleep(grid - time.monotonic() % grid + 0.1)
            began = time.monotonic()
            release(shared.ledger, run_id=f"bob:more {number}", analyst="bob")
            found = shown.of("ann", [("run", "a")], None)
            if time.monotonic() // grid == began // grid:  # else the machine was slow: once more
                assert sizes(shared, found) == [size]
                return
    raise AssertionError("no period was long enough")


def test_a_key_remembers_the_longest_log_that_it_has_signed(shared: Kept) -> None:
    """Also where a server signs shorter ones after it, which it shows until the grid."""
    with Issuer(shared.ledger, load_key(shared.key)) as issuer, signing(load_key(shared.key)) as signed:
        longest = issuer.newest
        signed.keep(longest)
        for root in range(8):
            shorter = Checkpoint(issuer.origin, 1, bytes([root]) * 32)
            signed.keep(shorter)
            assert {longest, shorter} <= {*signed.last(issuer.origin)}
            assert len(signed.last(issuer.origin)) <= 4


@pytest.mark.heavy(family="privacy")
def test_receipts_wait_for_the_askers_statements(tmp_path: Path) -> None:
    """A receipt says whether a debit was answered: nobody sees past the grid of answers by asking for it meanwhile."""
    site = site_with_key(tmp_path, release_seconds=3.0)
    with Server(site) as server, ThreadPoolExecutor(1) as beside:
        ann, again, bob = server.client("ann"), server.client("ann"), server.client("bob")
        began = time.monotonic()
        run = beside.submit(ann.post, "/v1/run", json={"statement": COUNT}, headers={"Idempotency-Key": "a"})
        time.sleep(1.5)
        assert bob.get("/v1/receipts", params={"run": "a"}).status_code == 422  # others do not wait for her
        assert time.monotonic() - began < 3
        [found] = receipts(tmp_path, again.get("/v1/receipts", params={"run": "a"}))
        assert time.monotonic() - began >= 3
        assert found.claims["debit"]["answered"]
        assert run.result().status_code == 200
