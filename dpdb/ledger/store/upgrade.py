"""Formats 1 and 2 of a ledger into format 3, at once or not at all.

Format 1 knew no unit; in both an answer was a column of its entry, without a seal. Everything is checked by the old
rules first, then written anew in one transaction: entries sealed again, answers as lines of their own, sealed in the
order in which they were recorded. Killed before its commit, the upgrade leaves the old ledger; killed after it, the
new one with the old head beside it, whose text the terms remember (`dpdb.ledger.store.head`).

`NAME.format-2` keeps the ledger as it was, under an application id that no version of dpdb opens.
"""

from __future__ import annotations

import errno
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from dpdb.errors import LedgerError
from dpdb.files import disk
from dpdb.files.disk import sync
from dpdb.files.owned_file import check_owned, give_to, open_owned, private_folder, remove_private_folders
from dpdb.ledger.store import connecting
from dpdb.ledger.store.entry_line import EntryLine
from dpdb.ledger.store.file import COPY_ID, VERSION, LedgerFile
from dpdb.ledger.store.head import KIND, OLD_KIND, is_marked, not_its_head, read_head
from dpdb.ledger.store.marks import mark
from dpdb.ledger.store.seals import FIRST, seal
from dpdb.ledger.store.state import insert
from dpdb.ledger.store.tables import TABLES
from dpdb.ledger.store.terms import Epoch, Terms, Upgraded, epoch_row, terms_row
from dpdb.privacy import NOTIONS
from dpdb.steps import reached

__all__ = ["upgrade"]

_OLD_ENTRIES = (
    "SELECT number, epoch, run_id, request, predicate, charge, upper, source_mark, reserved, seal FROM {} "
    "ORDER BY number"
)


def upgrade(file: LedgerFile) -> None:
    """Make a ledger of format 1 or 2 one of format 3; does nothing where another process was faster.

    Raises
    ------
    LedgerError
        It is damaged, has gone back, or cannot be written; it is left as it was.
    """
    with file.transaction():
        [(version,)] = file.rows("PRAGMA user_version")
        if version == VERSION:
            return
        reached("upgrade begun")
        try:
            terms, epochs = _old_terms(file)
            upgraded = Upgraded(int(str(version)), *_checked(file, terms, epochs), _checked_head(file, terms, epochs))
        except (ValueError, TypeError, KeyError, IndexError):
            raise file.damaged() from None
        reached("upgrade checked")
        _leave_copy(file, f".format-{version}")
        reached("copy left")
        for name in ("entry", "epoch", "terms"):
            file.change(f"ALTER TABLE {name} RENAME TO old_{name}")
        for statement in TABLES.split(";")[:-1]:
            file.change(statement)
        reached("tables made")
        options = json.dumps({"upgraded": vars(upgraded)})
        insert(file, "terms", terms_row(replace(terms, options=options)))
        for epoch in epochs:
            insert(file, "epoch", epoch_row(epoch, terms.key))
        seals = _seal_entries(file, terms.key)
        reached("entries sealed")
        _seal_answers(file, terms.key, seals)
        reached("answers sealed")
        for name in ("entry", "epoch", "terms"):
            file.change(f"DROP TABLE old_{name}")
        file.change(f"PRAGMA user_version = {VERSION}")
        reached("upgrade written")
    reached("upgraded")


def _old_seal(key: bytes, kind: str, before: bytes, line: tuple[object, ...]) -> bytes:
    """Seal of formats 1 and 2."""
    values = [part.hex() if isinstance(part, bytes) else part for part in line]
    return mark(key, f"seal of {kind}", json.dumps([before.hex(), *values]))


def _rows(file: LedgerFile, sql: str) -> Iterator[Any]:
    return chain.from_iterable(file.batches(sql))


def _old_terms(file: LedgerFile) -> tuple[Terms, list[Epoch]]:
    """Terms and epochs, checked against their seals; a ledger without a unit has the seal of format 1."""
    columns = [name for _, name, *_ in file.rows("PRAGMA table_info(terms)")]
    [row] = file.rows("SELECT * FROM terms")
    found: dict[str, Any] = dict(zip(map(str, columns), row, strict=True))
    names = ("notion", "budget", "delta", "append_only", "created", "key", "table_mark", "rows_per_person")
    line: tuple[Any, ...] = tuple(found[name] for name in names)
    unit = found.get("unit")
    if _old_seal(found["key"], "terms", b"", line if unit is None else (*line, unit)) != found["seal"]:
        raise ValueError("the terms do not agree with their seal")
    terms = replace(Terms(NOTIONS[line[0]], line[1], line[2], bool(line[3]), *line[4:]), unit=unit)
    rows: list[Any] = file.rows("SELECT number, opened, source_mark, closed_overlap, seal FROM epoch ORDER BY number")
    if not rows or any(_old_seal(terms.key, "epoch", b"", row[:-1]) != row[-1] for row in rows):
        raise ValueError("the epochs do not agree with their seals")
    epochs = [Epoch(*row[:-1]) for row in rows]
    if [epoch.number for epoch in epochs] != list(range(1, len(epochs) + 1)):
        raise ValueError("an epoch is missing")
    return terms, epochs


def _checked(file: LedgerFile, terms: Terms, epochs: list[Epoch]) -> tuple[int, int]:
    """Numbers of entries and answers, after every entry was checked against its seal."""
    if any(epoch.closed_overlap is None for epoch in epochs[:-1]):
        raise ValueError("an epoch that was closed has no cost")
    before, number = b"", 0
    for number, row in enumerate(_rows(file, _OLD_ENTRIES.format("entry")), 1):
        before = _old_seal(terms.key, "entry", before, row[:-1])
        if (number, before) != (row[0], row[-1]):
            raise ValueError("an entry does not agree with its seal")
    [(answers,)] = file.rows("SELECT count(answer) FROM entry")
    return number, int(str(answers))


def _checked_head(file: LedgerFile, terms: Terms, epochs: list[Epoch]) -> str | None:
    """Text of the head, None without one, after the ledger was found to have come as far as it says."""
    found = read_head(file)
    if found is None:
        return None
    text, sealed = found
    if is_marked(terms.key, KIND, text, sealed):
        raise file.lost()  # it was upgraded before
    if not is_marked(terms.key, OLD_KIND, text, sealed):
        raise not_its_head(file)
    number, newest, answered, epoch = json.loads(text)
    has_entry = number == 0 or file.rows("SELECT hex(seal) FROM entry WHERE number = ?", (number,)) == [
        (newest.upper(),)
    ]
    has_answer = answered == 0 or file.rows(
        "SELECT 1 FROM entry WHERE number = ? AND answer IS NOT NULL", (answered,)
    ) == [(1,)]
    if not (has_entry and has_answer and epochs[-1].number >= epoch):
        raise file.lost()
    return text


def _leave_copy(file: LedgerFile, suffix: str) -> None:
    """Keep the ledger as it is under another name, complete or not at all; a copy of an earlier try is replaced."""
    copy = Path(f"{file.path}{suffix}")
    try:
        _refuse_other_file(copy, file)
        remove_private_folders(copy)
        with private_folder(copy) as folder:
            partial = folder / "copy"
            os.close(open_owned(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            source = connecting.connect(file.path, "ro")
            target = connecting.connect(partial, "rw")
            with closing(source), closing(target):
                source.backup(target)
                target.execute("PRAGMA journal_mode = DELETE")
                target.execute(f"PRAGMA application_id = {COPY_ID}")
            descriptor = open_owned(partial, os.O_RDONLY)
            try:
                disk.fsync(descriptor)
                give_to(descriptor, file.owner)
            finally:
                os.close(descriptor)
            reached("copy written")
            disk.rename(partial, copy)
        sync(copy.parent)
    except (OSError, sqlite3.Error) as error:
        words = error.strerror if isinstance(error, OSError) else str(error)
        raise LedgerError(
            f"{file.shown}{suffix}: the copy that an upgrade leaves cannot be written: {words}; nothing was changed"
        ) from None


def _refuse_other_file(copy: Path, file: LedgerFile) -> None:
    """Raise `OSError` if there is a file that is no copy of this ledger."""
    try:
        check_owned(copy.lstat(), file.owner)
    except FileNotFoundError:
        return
    with closing(connecting.connect(copy, "ro")) as found:
        if found.execute("PRAGMA application_id").fetchall() != [(COPY_ID,)]:
            raise FileExistsError(errno.EEXIST, "another file has this name; move it away")


def _seal_entries(file: LedgerFile, key: bytes) -> list[bytes]:
    """Write the entries of the old table, each sealed anew; return the seals."""
    seals = [FIRST]
    for row in _rows(file, _OLD_ENTRIES.format("old_entry")):
        line = EntryLine(*row[:-1])
        seals.append(seal(key, "entry", seals[-1], line))
        insert(file, "entry", (*line, seals[-1]))
    return seals


def _seal_answers(file: LedgerFile, key: bytes, seals: list[bytes]) -> None:
    """Write the answers of the old table as lines of their own, sealed in the order in which they were recorded."""
    before = FIRST
    found = _rows(
        file,
        "SELECT number, coalesce(answered, reserved), answer FROM old_entry WHERE answer IS NOT NULL "
        "ORDER BY answered, number",
    )
    for sequence, (number, answered, answer) in enumerate(found, 1):
        line = (sequence, number, answered, answer)
        before = seal(key, "answer", before, (*line, seals[number]))
        insert(file, "answer", (*line, before))
