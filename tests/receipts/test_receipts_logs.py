"""A ledger that was rewritten, cut, forked or put back is refused where a receipt, a witness or a key remembers."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from receipt_ledgers import SOURCE, Kept, checked_run, made_ledger, release
from text_reader import parse_where

from dpdb.errors import LedgerError, ParameterError, ReceiptError, RollbackError
from dpdb.ledger import Ledger
from dpdb.ledger.store.rows import EntryLine
from dpdb.ledger.store.seals import FIRST, seal
from dpdb.receipts import (
    Issuer,
    Receipt,
    WitnessFile,
    load_key,
    load_public,
    new_key_file,
    open_receipt,
    read_checkpoints,
    verify,
)
from dpdb.receipts.statement import canonical


def issued(kept: Kept, run_id: str, *after: bytes) -> bytes:
    seen = [opened(kept, line).checkpoint for line in after]
    with Issuer(kept.ledger, load_key(kept.key)) as issuer:
        return issuer.issue(*issuer.found(run_id=run_id), seen)[:-1]


def opened(kept: Kept, line: bytes) -> Receipt:
    return open_receipt(line, [load_public(kept.public)])


def verified(kept: Kept, *lines: bytes, ledger: bool = False, witnessed: Path | None = None) -> tuple[list[str], int]:
    key = load_public(kept.public)
    seen = [] if witnessed is None else read_checkpoints(witnessed, [key])
    named = [(f"receipt {number}", line) for number, line in enumerate(lines, 1)]
    found = verify(named, [key], ledger=kept.ledger if ledger else None, witnessed=seen)
    return found.refused, found.exit_code


def copied(kept: Kept, name: str) -> None:
    """Copy ledger and head away, with what SQLite had not written back."""
    with closing(sqlite3.connect(kept.ledger)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for file in (kept.ledger, kept.ledger.with_name("t.ledger-head")):
        shutil.copy2(file, f"{file}.{name}")


def put_back(kept: Kept, name: str, *, ledger: bool = True, head: bool = True) -> None:
    for side in ("-wal", "-shm"):
        Path(f"{kept.ledger}{side}").unlink(missing_ok=True)
    for file, wanted in ((kept.ledger, ledger), (kept.ledger.with_name("t.ledger-head"), head)):
        if wanted:
            shutil.copy2(f"{file}.{name}", file)


def forget(kept: Kept) -> None:
    """Let the key forget what it has signed, as when its memory was put back, too."""
    Path(f"{kept.key}-signed").unlink()


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    made = made_ledger(tmp_path)
    for number in range(4):
        release(made.ledger, f"a = {number % 2}", f"run {number}")
    return made


def test_a_release_its_receipt_and_its_verification_elsewhere(kept: Kept, tmp_path: Path) -> None:
    lines = [issued(kept, f"run {number}") for number in range(4)]
    checked_run(kept.ledger, "checks")
    release(kept.ledger, "a = 1", "last")
    lines += [issued(kept, "checks"), issued(kept, "last")]
    assert verified(kept, *lines, ledger=True) == ([], 0)
    assert verified(kept, *reversed(lines), ledger=True) == ([], 0)
    shutil.rmtree(kept.ledger.parent)
    assert verified(kept, *lines) == ([], 0)
    sums = [opened(kept, line).claims["accounting"] for line in lines]
    assert [one["spent_after"] for one in sums] == [10**6, 2 * 10**6, 3 * 10**6, 4 * 10**6, 5 * 10**6, 5_250_000]
    assert (sums[4]["settled"], sums[5]["returned_before"]) == (250_000, 750_000)


def test_checkpoints_that_nothing_links_are_left_open_and_the_ledger_links_them(kept: Kept) -> None:
    first = issued(kept, "run 0")
    release(kept.ledger, "a = 1", "later")
    forget(kept)
    second = issued(kept, "later")
    assert verified(kept, first, second) == ([], 5)
    assert verified(kept, first, second, ledger=True) == ([], 0)
    third = issued(kept, "later", first, second)
    assert verified(kept, first, second, third) == ([], 0)


@pytest.mark.heavy
@pytest.mark.parametrize("ledger", [True, False])
@pytest.mark.parametrize("head", [True, False])
@pytest.mark.parametrize("grown", [0, 1, 3])
def test_a_ledger_that_went_back_is_refused(kept: Kept, tmp_path: Path, ledger: bool, head: bool, grown: int) -> None:
    """Of ledger alone, head alone and both, also after it has grown beyond what was signed: with every memory alone."""
    witness, lines = tmp_path / "witness", []
    lines.append(issued(kept, "run 0"))
    copied(kept, "old")
    release(kept.ledger, "a = 1", "lost")
    lines.append(issued(kept, "lost", lines[0]))
    with Issuer(kept.ledger, load_key(kept.key)) as issuer:
        WitnessFile(witness, [load_public(kept.public)]).keep_ledger(issuer)
    assert verified(kept, *lines, ledger=True, witnessed=witness) == ([], 0)
    put_back(kept, "old", ledger=ledger, head=head)
    if ledger and not head:
        with pytest.raises(LedgerError, match="lost its newest"):
            release(kept.ledger, "a = 1", "more")
        kept.ledger.with_name("t.ledger-head").unlink()  # as whoever goes on nevertheless
    for number in range(grown):
        release(kept.ledger, "a = 1", f"more {number}")
    went_back = ledger
    if not went_back:
        assert verified(kept, *lines, ledger=True, witnessed=witness) == ([], 0)
        return
    with pytest.raises(RollbackError), Issuer(kept.ledger, load_key(kept.key)):
        pass  # the key's memory
    forget(kept)
    assert verified(kept, lines[1], ledger=True)[1] == 1  # an older receipt
    assert verified(kept, lines[0], ledger=True) == ([], 0)  # of what was there then, nothing is wrong
    assert verified(kept, lines[0], ledger=True, witnessed=witness)[1] == 1  # the witness
    with Issuer(kept.ledger, load_key(kept.key)) as issuer:
        with pytest.raises(RollbackError):
            WitnessFile(witness, [load_public(kept.public)]).keep_ledger(issuer)
        with pytest.raises(RollbackError):
            issuer.issue(1, None, [opened(kept, lines[1]).checkpoint])
    fresh = issued(kept, "run 1")
    with pytest.raises(RollbackError):
        WitnessFile(witness, [load_public(kept.public)]).keep_receipts([opened(kept, fresh)])
    if grown:
        assert verified(kept, lines[1], fresh)[1] in (1, 5)  # a fork, or not shown to be none
        assert verified(kept, lines[1], issued(kept, "more 0"))[1] == 1  # two lines at one place


def resealed(path: Path, rewrite: Callable[[list[EntryLine]], list[EntryLine]]) -> None:
    """Rewrite a ledger as its owner can, who has its key: entries without their answers, every seal made again."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        key = connection.execute("SELECT key FROM terms").fetchone()[0]
        rows = connection.execute(f"SELECT {', '.join(EntryLine._fields)} FROM entry ORDER BY number").fetchall()
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("DELETE FROM answer")
        connection.execute("DELETE FROM entry")
        before = FIRST
        for number, line in enumerate(rewrite([EntryLine(*row) for row in rows]), 1):
            again = line._replace(number=number, place=number)
            before = seal(key, "entry", before, again)
            marks = ", ".join("?" * (len(again) + 1))
            connection.execute(f"INSERT INTO entry VALUES ({marks})", (*again, before))
    Path(f"{path}-head").unlink(missing_ok=True)


def without(number: int) -> Callable[[list[EntryLine]], list[EntryLine]]:
    return lambda lines: [line for line in lines if line.number != number]


def exchanged(number: int) -> Callable[[list[EntryLine]], list[EntryLine]]:
    def rewrite(lines: list[EntryLine]) -> list[EntryLine]:
        lines[number - 1], lines[number] = lines[number], lines[number - 1]
        return lines

    return rewrite


def changed(number: int, **fields: object) -> Callable[[list[EntryLine]], list[EntryLine]]:
    return lambda lines: [line._replace(**fields) if line.number == number else line for line in lines]  # type: ignore[arg-type]


REWRITES = [
    *(without(number) for number in range(1, 6)),
    *(exchanged(number) for number in range(1, 5)),
    changed(2, charge=1),
    changed(2, predicate='[{"b":[[[1,false],[1,true]],false,false]}]'),
    changed(2, request="{}"),
    changed(2, analyst="ann"),
    changed(2, reserved="2026-01-01T00:00:00.000+00:00"),
    changed(2, upper=10**9),
]


@pytest.mark.heavy
@pytest.mark.parametrize("rewrite", range(len(REWRITES)))
def test_a_ledger_that_its_owner_rewrites_is_refused_by_the_receipts_of_others(tmp_path: Path, rewrite: int) -> None:
    """Removed, reordered and changed lines, with every seal and the head in order: dpdb itself sees nothing."""
    kept = made_ledger(tmp_path)
    for number in range(5):
        release(kept.ledger, f"a = {number}", f"run {number}", answered=False)
    lines = [issued(kept, f"run {number}") for number in range(5)]
    assert verified(kept, *lines, ledger=True) == ([], 0)
    resealed(kept.ledger, REWRITES[rewrite])
    release(kept.ledger, "a = 9", "more")
    with pytest.raises(RollbackError):
        issued(kept, "more")
    caught = [verified(kept, line, ledger=True)[1] for line in lines]
    assert caught == [1] * 5  # all were signed of the whole log
    print(f"rewrite {rewrite}: refused by {sum(caught)} of {len(lines)} receipts")


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [("upper", 1_500_000, "one collects 2000000"), ("charge", 999, "its request costs 1000000")],
)
def test_the_audit_finds_an_overlap_that_is_too_low_and_a_charge_that_is_not_the_requests(
    tmp_path: Path, field: str, value: int, words: str
) -> None:
    kept = made_ledger(tmp_path)
    for number in range(3):
        release(kept.ledger, "a = 1", f"run {number}", answered=False)
    resealed(kept.ledger, changed(2, **{field: value}))
    refused, code = verified(kept, issued(kept, "run 0"), ledger=True)
    assert (code, len(refused)) == (1, 1)
    assert words in refused[0]


def test_recorded_overlaps_are_those_of_the_solver(tmp_path: Path) -> None:
    """Overlapping and disjoint rows, epochs and a settlement: every recorded bound is proven, most are the least."""
    kept = made_ledger(tmp_path)
    for where in ("a = 1", "a = 2", "a IN (1, 2)", "b = 1", "a = 1 AND b = 1", "a = 3 OR b = 2", "a = 1"):
        release(kept.ledger, where)
    checked_run(kept.ledger, "checks")
    with Ledger.open(kept.ledger) as ledger:
        ledger.open_epoch()
    release(kept.ledger, "a = 1", "in another epoch")
    found = verify([("one", issued(kept, "in another epoch"))], [load_public(kept.public)], ledger=kept.ledger)
    assert (found.refused, found.open) == ([], [])
    assert "9 of 9 charges derived again from their requests" in found.found
    assert any(words.startswith("9 of 9 recorded overlaps proven") for words in found.found)


def test_the_audit_finds_a_closed_epoch_that_is_recorded_too_cheap(kept: Kept) -> None:
    with Ledger.open(kept.ledger) as ledger:
        ledger.open_epoch()
    release(kept.ledger, "a = 1", "later")
    with closing(sqlite3.connect(kept.ledger, isolation_level=None)) as connection:
        key = connection.execute("SELECT key FROM terms").fetchone()[0]
        number, opened_at, mark, cost, _ = connection.execute("SELECT * FROM epoch WHERE number = 1").fetchone()
        assert cost == 2_000_000
        changed_line = (number, opened_at, mark, cost - 1)
        sealed = seal(key, "epoch", FIRST, changed_line)
        connection.execute("UPDATE epoch SET closed_overlap = ?, seal = ? WHERE number = 1", (cost - 1, sealed))
    refused, code = verified(kept, issued(kept, "later"), ledger=True)
    assert (len(refused), code) == (1, 1)
    assert "epoch 1 is recorded to have cost 1999999, and a row collected 2000000" in refused[0]


def test_a_debit_without_an_answer_has_a_receipt_and_gets_one_with_it_later(kept: Kept) -> None:
    """As after a kill between debit and answer, or between answer and receipt: the same run has its receipt."""
    release(kept.ledger, "a = 1", "killed", answered=False)
    early = issued(kept, "killed")
    assert not opened(kept, early).claims["debit"]["answered"]
    release(kept.ledger, "a = 1", "killed")
    late = issued(kept, "killed", early)
    assert opened(kept, late).claims["debit"]["answered"]
    assert verified(kept, early, late, ledger=True) == ([], 0)
    assert verified(kept, early, late) == ([], 0)


def test_a_lost_key_is_followed_by_one_that_names_it(kept: Kept, tmp_path: Path) -> None:
    old = issued(kept, "run 0")
    kept.key.unlink()
    new = Kept(kept.ledger, tmp_path / "next.key", tmp_path / "next.key.pub")
    new_key_file(new.key, "next", (load_public(kept.public).vkey,))
    release(kept.ledger, "a = 1", "later")
    with Issuer(kept.ledger, load_key(new.key)) as issuer:
        line = issuer.issue(*issuer.found(run_id="later"), [opened(kept, old).checkpoint])[:-1]
    assert opened(new, line).claims["log"]["key"]["follows"] == [load_public(kept.public).vkey]
    both = [load_public(kept.public), load_public(new.public)]
    assert verify([("old", old), ("new", line)], both).exit_code == 0
    with pytest.raises(ReceiptError, match=r"that follows test\+"):
        opened(kept, line)
    with pytest.raises(ReceiptError, match=r"no key that was given"):
        opened(new, old)


def test_a_key_is_refused_in_the_ledgers_folder_and_if_others_may_read_it(kept: Kept, tmp_path: Path) -> None:
    below = kept.ledger.parent / "below"
    below.mkdir()
    for folder in (kept.ledger.parent, below):
        new_key_file(folder / "k", "here")
        with pytest.raises(ParameterError, match="in the folder of the ledger"):
            Issuer(kept.ledger, load_key(folder / "k"))
    (tmp_path / "link").symlink_to(kept.key)
    with pytest.raises(ParameterError, match="symbolic link"):
        load_key(tmp_path / "link")
    kept.key.chmod(0o640)
    with pytest.raises(ParameterError, match="chmod 600"):
        load_key(kept.key)
    with pytest.raises(ParameterError, match="exists already"):
        new_key_file(kept.key, "again")
    for name in ("", "a b", "a+b", "a\nb"):
        with pytest.raises(ParameterError, match="one word"):
            new_key_file(tmp_path / "other", name)
        assert not (tmp_path / "other").exists()


def test_a_receipt_names_nobody_and_no_predicate_and_counts_a_rationed_analysts_own_debits(kept: Kept) -> None:
    with Ledger.open(kept.ledger) as ledger:
        ledger.rights.grant("ann", "0" * 64)
        held = ledger.reserve(
            parse_where("secret = 'yes'"), 7, source=SOURCE, request='{"where": "hush"}', run_id="ann:1", analyst="ann",
            label="whispered",
        )  # fmt: skip
        ledger.record(held, json.dumps([{"release_id": "f" * 32, "measure": "count", "mechanism": "laplace"}]))
        held.close()
    release(kept.ledger, "a = 5", "ann:2", analyst="ann")
    lines = [issued(kept, run) for run in ("ann:1", "ann:2")]
    assert verified(kept, *lines, ledger=True) == ([], 0)
    receipts = [opened(kept, line) for line in lines]
    for receipt in receipts:
        text = json.dumps(receipt.statement)
        for hidden in ("ann", "secret", "yes", "hush", "whispered", str(kept.ledger), "run 1"):
            assert f"{hidden}" not in text.replace("another", "")
    sums = [receipt.claims["accounting"] for receipt in receipts]
    assert [(one["debits_before"], one["spent_before"]) for one in sums] == [(0, 0), (1, 7)]
    assert all(one["overlap_bound"] is None for one in sums)


def test_a_witness_keeps_what_receipts_link_and_cosigns_it(kept: Kept, tmp_path: Path) -> None:
    """A witness without the ledger: receipts that were asked for after what he keeps are enough."""
    file, key = tmp_path / "witness", load_public(kept.public)
    new_key_file(tmp_path / "w.key", "witness.example")
    own = load_key(tmp_path / "w.key")
    first = issued(kept, "run 0")
    WitnessFile(file, [key], own).keep_receipts([opened(kept, first)])
    release(kept.ledger, "a = 1", "later")
    forget(kept)
    unlinked = issued(kept, "later")
    with pytest.raises(RollbackError, match="--after"):
        WitnessFile(file, [key], own).keep_receipts([opened(kept, unlinked)])
    with Issuer(kept.ledger, load_key(kept.key)) as issuer:
        linked = issuer.issue(*issuer.found(run_id="later"), read_checkpoints(file, [key]))[:-1]
    WitnessFile(file, [key], own).keep_receipts([opened(kept, linked)])
    assert [one.size for one in read_checkpoints(file, [key], own.note_key)] == [8, 10]
    text = file.read_text()
    file.write_text(text[: text.rindex("\N{EM DASH} witness")])
    with pytest.raises(ParameterError, match="cosignature"):
        read_checkpoints(file, [key], own.note_key)
    file.write_text(text.replace("\n10\n", "\n11\n"))
    with pytest.raises(ParameterError, match="not valid"):
        read_checkpoints(file, [key])


@pytest.mark.slow
def test_a_ledger_of_a_hundred_thousand_lines_takes_ten_times_as_long_as_one_of_ten_thousand(tmp_path: Path) -> None:
    """Linear time, with a wide margin for a busy machine: twenty-five times at most."""
    from time import process_time

    took = {}
    for debits in (10_000, 100_000):
        (tmp_path / str(debits)).mkdir()
        kept = made_ledger(tmp_path / str(debits), 1000)
        for number in range(3):
            release(kept.ledger, f"a = {number}", answered=False)

        def repeated(lines: list[EntryLine], times: int = debits // 3) -> list[EntryLine]:
            return [line._replace(upper=10**12) for _ in range(times) for line in lines]

        resealed(kept.ledger, repeated)
        release(kept.ledger, "a = 1", "last")
        began = process_time()
        assert verified(kept, issued(kept, "last"), ledger=True) == ([], 0)
        took[debits] = process_time() - began
    print(took)
    assert took[100_000] < 25 * took[10_000]


def test_a_log_shows_a_debit_with_its_answer_or_not_yet(tmp_path: Path) -> None:
    """What analysts are shown waits for the answer that there is; a debit without one is shown as it stands."""
    made = made_ledger(tmp_path)
    release(made.ledger, run_id="a", answered=False)
    with Issuer(made.ledger, load_key(made.key)) as issuer:
        size = issuer.newest.size
        assert issuer.shows(1, size)
        assert not issuer.shows(1, size - 1)
        release(made.ledger, run_id="a")
        assert not issuer.shows(1, size)
        issuer.refresh()
        assert issuer.shows(1, issuer.newest.size)
        assert opened(made, issuer.issue(1, size=size + 1)[:-1]).claims["debit"]["answered"]


def test_a_witness_who_keeps_nothing_of_a_log_is_no_witness_of_it(tmp_path: Path) -> None:
    """Without and with the ledger, and beside one that he does keep; an empty file is none."""
    made = [made_in(tmp_path / name) for name in "ab"]
    lines, public = [issued(one, "x") for one in made], [load_public(one.public) for one in made]
    WitnessFile(tmp_path / "w", public).keep_receipts([opened(made[0], lines[0])])
    kept = read_checkpoints(tmp_path / "w", public)
    for chosen, ledger, code in (
        (made[:1], None, 0), (made[1:], None, 5), (made, None, 5),
        (made[:1], made[0].ledger, 0), (made[1:], made[1].ledger, 5),
    ):  # fmt: skip
        named = [(one.ledger.name, line) for one, line in zip(made, lines, strict=True) if one in chosen]
        assert verify(named, public, ledger=ledger, witnessed=kept).exit_code == code
    (tmp_path / "empty").touch(mode=0o600)
    with pytest.raises(ParameterError, match="there is no checkpoint"):
        read_checkpoints(tmp_path / "empty", public)
    WitnessFile(tmp_path / "empty", public).keep_receipts([opened(made[0], lines[0])])
    assert read_checkpoints(tmp_path / "empty", public) == kept


def made_in(folder: Path) -> Kept:
    folder.mkdir()
    made = made_ledger(folder)
    release(made.ledger, run_id="x")
    return made


def test_a_pipe_is_no_file_of_a_witness_and_an_endless_device_no_key(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(ParameterError, match="not a plain file"):
        WitnessFile(tmp_path / "pipe", [])
    for read in (load_public, lambda path: read_checkpoints(path, [])):
        with pytest.raises(ParameterError, match="larger than"):
            read(Path("/dev/zero"))


def test_what_a_key_has_signed_is_text(tmp_path: Path) -> None:
    made = made_in(tmp_path / "a")
    signed = made.key.with_name(f"{made.key.name}-signed")
    signed.touch(mode=0o600)
    signed.write_bytes(b"\xff\xfe\n")
    with pytest.raises(ParameterError, match="damaged"):
        issued(made, "x")


def test_an_envelope_with_more_signatures_is_refused_before_they_are_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = made_in(tmp_path / "a")
    envelope = json.loads(issued(made, "x"))
    envelope["signatures"] *= 2
    monkeypatch.setattr("dpdb.receipts.receipt.accepted_keys", None)
    with pytest.raises(ReceiptError, match="some byte was changed"):
        opened(made, canonical(envelope))
