"""Every change of a receipt is refused: each byte of its file, each field of its envelope and of what it states.

Also where the owner signs the changed statement again with his own key: then his ledger contradicts him.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from receipt_ledgers import Kept, checked_run, made_ledger, release

from dpdb.errors import ReceiptError
from dpdb.receipts import Issuer, load_key, load_public, open_receipt, verify
from dpdb.receipts.notes import signature
from dpdb.receipts.statement import FLAVORS, PAYLOAD_TYPE, canonical, check_stated, envelope, pae

Path_ = tuple[str | int, ...]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """A ledger with releases, a settled run of checks, and receipts of the second release and of that run."""
    folder = tmp_path_factory.mktemp("mutations")
    made = made_ledger(folder)
    release(made.ledger, "a = 1", "first")
    release(made.ledger, "a = 2", "second", releases=2)
    checked_run(made.ledger, "third")
    with Issuer(made.ledger, load_key(made.key)) as issuer:
        first = issuer.issue(1)
        release(made.ledger, "a = 1", "fourth")
        after = open_receipt(first[:-1], [load_public(made.public)]).checkpoint
        lines = [issuer.issue(*issuer.found(run_id=run), [after])[:-1] for run in ("second", "third")]
    return made._replace(lines=tuple(lines))


def fields(value: object, path: Path_ = ()) -> Iterator[Path_]:
    """Give the path of every value in JSON, of objects and lists too."""
    if path:
        yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, child in children:
        yield from fields(child, (*path, name))


def at(value: Any, path: Path_) -> Any:
    for name in path:
        value = value[name]
    return value


def others(value: object) -> list[object]:
    """Return other values of the same type and of others: as an attacker would try."""
    if isinstance(value, bool):
        return [not value, None, int(value)]
    if isinstance(value, (int, float)):
        return [value + 1, value - 1, -value - 1, 0 if value else 7, None, str(value)]
    if isinstance(value, str):
        changed = [f"{value}x", value[:-1], "", f"x{value[1:]}" if value[:1] != "x" else f"y{value[1:]}"]
        return [*dict.fromkeys(each for each in changed if each != value), value.upper() + " ", None, 0]
    if isinstance(value, dict):
        return [{**value, "more": 1}, {}, [], None] if value else [{"more": 1}, None]
    if isinstance(value, list):
        return [[*value, 1], value[:-1], [], None] if value else [[1], ["x"], [{}], None]
    return [0, 1, "", "x", False, {"kind": "run", "levels": 0}]


def mutated(found: dict[str, Any]) -> Iterator[tuple[Path_, dict[str, Any]]]:
    """Give every object with one field changed, removed, or put in, and every list in another order."""
    for path in fields(found):
        value, parent = at(found, path), at(found, path[:-1])
        for other in others(value):
            if other == value and type(other) is type(value):
                continue
            changed = copy.deepcopy(found)
            at(changed, path[:-1])[path[-1]] = other
            yield path, changed
        changed = copy.deepcopy(found)
        del at(changed, path[:-1])[path[-1]]
        yield path, changed
        if isinstance(parent, list) and isinstance(path[-1], int) and path[-1] and parent[path[-1] - 1] != value:
            changed = copy.deepcopy(found)
            listed = at(changed, path[:-1])
            listed[path[-1] - 1], listed[path[-1]] = listed[path[-1]], listed[path[-1] - 1]
            yield path, changed


def refused(line: bytes, kept: Kept) -> bool:
    try:
        open_receipt(line, [load_public(kept.public)])
    except ReceiptError:
        return True
    return False


@pytest.mark.heavy(family="long")
def test_every_byte_of_a_receipt_is_fixed(kept: Kept) -> None:
    """Each byte changed in its lowest bit, and in another one, removed or doubled, by turns."""
    tried = 0
    for line in kept.lines[:1]:
        assert not refused(line, kept)
        for place in range(len(line)):
            another = (
                line[:place] + bytes([line[place] ^ (2 << place // 4 % 7)]) + line[place + 1 :],
                line[:place] + line[place + 1 :],
                line[: place + 1] + line[place:],
                line[:place] + b"-_"[place // 4 % 2 :][:1] + line[place + 1 :],
            )[place % 4]
            for changed in (line[:place] + bytes([line[place] ^ 1]) + line[place + 1 :], another):
                if changed != line:
                    assert refused(changed, kept), place
                    tried += 1
        for blank in (b" ", b"\t", b"\r", b"\x00", b"\xef\xbb\xbf"):
            assert refused(blank + line, kept)
            assert refused(line + blank, kept)
    print(f"{tried} changed files of {len(kept.lines[0])} bytes refused")


@pytest.mark.heavy(family="long")
def test_every_field_of_the_envelope_and_of_the_statement_is_fixed(kept: Kept) -> None:
    tried = {"envelope": 0, "statement": 0}
    for line in kept.lines:
        found = json.loads(line)
        for path, changed in mutated(found):
            assert refused(canonical(changed), kept), path
            tried["envelope"] += 1
        for path, changed in mutated(json.loads(base64.b64decode(found["payload"]))):
            resealed = {**found, "payload": base64.b64encode(canonical(changed)).decode()}
            assert refused(canonical(resealed), kept), path
            tried["statement"] += 1
    print(tried)


@pytest.mark.heavy(family="long")
def test_a_statement_that_the_owner_changes_and_signs_again_is_refused_by_his_ledger(kept: Kept) -> None:
    """What is left without the ledger: marks and names that only the ledger's holder can know, and the key's words."""
    key, counts = load_key(kept.key), {"refused without the ledger": 0, "refused by the ledger": 0, "not refused": 0}
    public = [load_public(kept.public)]
    left: set[Path_] = set()
    for line in kept.lines:
        statement = json.loads(base64.b64decode(json.loads(line)["payload"]))
        asked, paths = [], []
        for path, changed in mutated(statement):
            payload = canonical(changed)
            sealed = envelope(PAYLOAD_TYPE, payload, signature(key.seed, pae(PAYLOAD_TYPE, payload)), key.note_key.vkey)
            if refused(canonical(sealed), kept):
                counts["refused without the ledger"] += 1
            else:
                asked.append(("changed", canonical(sealed)))
                paths.append(path)
        for path, one in zip(paths, asked, strict=True):
            found = verify([one], public, ledger=kept.ledger)
            counts["refused by the ledger" if found.refused else "not refused"] += 1
            if not found.refused:
                left.add(path)
    print(counts)
    # Which keys it follows is the owner's word; a consistency proof less proves less, and no false one holds.
    links = ("predicate", "log", "consistency")
    assert {path for path in left if path[:4] != ("predicate", "log", "key", "follows") and path[:3] != links} == set()
    assert counts["refused by the ledger"] > 100


@pytest.mark.parametrize("flavor", FLAVORS)
@pytest.mark.parametrize("amount", [{"charge": -1}, {"charge": 1, "settled": -1}])
def test_amounts_below_zero_are_refused_in_every_notion(kept: Kept, flavor: str, amount: dict[str, int]) -> None:
    """A key's holder may sign anything; a guarantee such as the root of a negative sum is refused, not computed."""
    statement = json.loads(base64.b64decode(json.loads(kept.lines[0])["payload"]))
    words = dict(zip(("name", "output_measure"), FLAVORS[flavor], strict=False))
    statement["predicate"]["dp_flavor"] |= words
    statement["predicate"]["accounting"] |= {"unit": FLAVORS[flavor][2], **amount}
    assert "the guarantee is not that of the charge" in check_stated(statement)
