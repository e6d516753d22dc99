"""A receipt gives no answer away: who tries all values finds nothing without the salt, and whoever has it his own.

Receipts that commit c0dcfd8a has signed (`tests/golden/orders_before.zip`) have no salts. They verify as they did, and
the attack finds a value in them, so it is one.
"""

from __future__ import annotations

import base64
import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpdb
from dpdb.doors.cli.main import main
from dpdb.ledger import Ledger, open_to_read
from dpdb.receipts import LedgerTree, Receipt, digest, load_public, new_key_file, open_receipt, verify
from dpdb.receipts.statement import PLAIN, PREDICATE_TYPE

STATES = ("AK", "AL", "AZ", "CA", "NY")


def opened(line: bytes, public: Path) -> Receipt:
    return open_receipt(line, [load_public(public)])


def guessed(receipt: Receipt, known: Mapping[str, Any], salt: str | None = None) -> tuple[str, int] | None:
    """Try every state and every value up to 1,000: what an attacker does who knows how releases are written."""
    digests = {one["digest"]["sha256"] for one in receipt.statement["subject"][1:]}
    for state in STATES:
        for value in range(1_001):
            bounds = {name: known[name] - known["value"] + value for name in ("lower", "upper", "raw")}
            bounds |= {f"estimate_{name}": bounds[name] for name in ("lower", "upper")}
            tried = {**known, **bounds, "value": value, "where": f"state = '{state}'"}
            if digest(tried, salt) in digests:
                return state, value
    return None


@pytest.fixture(scope="module")
def receipts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dict[str, Any], bytes]:
    """Ledger, public key, the fields of a count of the rows of Alaska, and its receipt."""
    folder = tmp_path_factory.mktemp("guessing")
    (folder / "books").mkdir()
    pq.write_table(pa.table({"state": [*["AK"] * 327, *["AL"] * 500]}), folder / "t.parquet")
    Ledger.create(folder / "books" / "t.ledger", 100).close()
    new_key_file(folder / "r.key", "test")
    with dpdb.open(folder / "t.parquet", ledger=folder / "books" / "t.ledger") as session:
        count = session.dp_count(10, where="state = 'AK'", run_id="count")
        session.dp_count(10, where="state = 'AL'", run_id="other")
        line = session.receipts(count, key=folder / "r.key").encode()[:-1]
    return folder / "books" / "t.ledger", folder / "r.key.pub", asdict(count), line


def test_the_value_and_the_predicate_of_a_receipt_are_not_guessed(
    receipts: tuple[Path, Path, dict[str, Any], bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    ledger, public, count, line = receipts
    receipt = opened(line, public)
    true = ("AK", count["value"])
    assert guessed(receipt, count) is None
    # who holds the answer of another debit has that one's salt alone
    capsys.readouterr()
    assert main(["receipts", "salts", str(ledger), "--run-id", "other"]) == 0
    [others] = json.loads(capsys.readouterr().out).values()
    assert guessed(receipt, count, others) is None
    assert main(["receipts", "salts", str(ledger), "--run-id", "count"]) == 0
    salts = json.loads(capsys.readouterr().out)
    assert [*salts] == [count["release_id"]]
    assert guessed(receipt, count, salts[count["release_id"]]) == true
    # no salt and no key of the ledger stands in the receipt
    text = base64.b64decode(json.loads(line)["payload"]).decode()
    assert salts[count["release_id"]] not in text


@pytest.mark.heavy(family="long")
def test_verdicts_and_diagnoses_have_salts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "books").mkdir()
    ledger = tmp_path / "books" / "t.ledger"
    pq.write_table(pa.table({"a": [1, 1, 2], "b": [1, 2, 2]}), tmp_path / "t.parquet")
    Ledger.create(ledger, 100).close()
    new_key_file(tmp_path / "r.key", "test")
    with dpdb.open(tmp_path / "t.parquet", constraints="a -> b", ledger=ledger) as session:
        asked = {"epsilon": 1, "run_id": "run"}
        answers = {
            "run": session.check("a -> b", **asked),
            "kept": session.check("a -> b", keep="nightly", epsilon=1, run_id="kept"),
            "named": session.diagnose("a", [1, 2], 1, run_id="named"),
        }
        lines = {name: session.receipts(found, key=tmp_path / "r.key").encode()[:-1] for name, found in answers.items()}
    for name, line in lines.items():
        [subject] = opened(line, tmp_path / "r.key.pub").statement["subject"][1:]
        value = json.loads(answers[name].to_json())
        assert subject["digest"]["sha256"] != digest(value, None)
        capsys.readouterr()
        suite = ["--suite", "nightly"] if name == "kept" else []
        assert main(["receipts", "salts", str(ledger), "--run-id", name, *suite]) == 0
        salts = json.loads(capsys.readouterr().out)
        assert subject["digest"]["sha256"] == digest(value, salts[subject["name"]])
    keys = [load_public(tmp_path / "r.key.pub")]
    assert verify(lines.items(), keys, ledger=ledger).exit_code == 0


def test_each_slice_has_a_salt_of_its_own_that_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever is told one number of a call finds no other one; a later receipt of the answer has the same digests."""
    (tmp_path / "books").mkdir()
    ledger = tmp_path / "books" / "t.ledger"
    pq.write_table(pa.table({"state": ["AK", "AL", "AL"]}), tmp_path / "t.parquet")
    Ledger.create(ledger, 100).close()
    new_key_file(tmp_path / "r.key", "test")
    with dpdb.open(tmp_path / "t.parquet", ledger=ledger) as session:
        session.dp_count(1, by="state", keys=["AK", "AL"], run_id="slices")
        first = session.receipts("slices", key=tmp_path / "r.key").encode()[:-1]
        session.dp_count(1, run_id="later")
        second = session.receipts("slices", key=tmp_path / "r.key").encode()[:-1]
    assert main(["receipts", "salts", str(ledger), "--run-id", "slices"]) == 0
    salts = json.loads(capsys.readouterr().out)
    assert len(set(salts.values())) == len(salts) == 2
    one, other = (opened(line, tmp_path / "r.key.pub").statement["subject"] for line in (first, second))
    assert one == other


# -- receipts of before ---------------------------------------------------------------------------------------------


@pytest.fixture
def before(tmp_path: Path) -> Path:
    with zipfile.ZipFile(Path(__file__).parents[1] / "golden" / "orders_before.zip") as packed:
        packed.extractall(tmp_path)
    for path in tmp_path.iterdir():
        path.chmod(0o600)
    return tmp_path


def test_receipts_of_before_verify_and_are_those_that_could_be_guessed(
    before: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for more in ([], ["--ledger", str(before / "orders.ledger")]):
        words = ["verify", str(before / "receipts.jsonl"), "--key", str(before / "owner.key.pub"), *more]
        assert main(words) == 0
        said = capsys.readouterr()
        assert said.err == ""
        assert said.out.count("holds ") == 3
        assert "receipts of 3 of 3 debits up to the newest" in said.out
    lines = (before / "receipts.jsonl").read_bytes().splitlines()
    receipt = opened(lines[1], before / "owner.key.pub")
    assert receipt.statement["predicateType"] == PLAIN
    with open_to_read(before / "orders.ledger") as reading, LedgerTree(reading) as tree:
        answer = tree.log.debit(receipt.claims["debit"]["entry"], tree.tree.size).answer
    [known] = json.loads(str(answer))
    assert digest(known, None) == receipt.statement["subject"][1]["digest"]["sha256"]


def test_a_receipt_of_before_that_was_changed_is_refused(before: Path) -> None:
    keys = [load_public(before / "owner.key.pub")]
    lines = (before / "receipts.jsonl").read_bytes().splitlines()
    for line in lines:
        envelope = json.loads(line)
        payload = base64.b64decode(envelope["payload"])
        for old, new in ((PLAIN, PREDICATE_TYPE), ('"charge":1000000000', '"charge":2000000000')):
            changed = envelope | {"payload": base64.b64encode(payload.replace(old.encode(), new.encode())).decode()}
            text = json.dumps(changed, sort_keys=True, separators=(",", ":")).encode()
            assert verify([("it", text)], keys).exit_code == 1


def test_a_receipt_that_is_missing_in_the_middle_is_counted(before: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (before / "receipts.jsonl").read_text().splitlines(keepends=True)
    (before / "some.jsonl").write_text(lines[0] + lines[2])
    words = ["verify", str(before / "some.jsonl"), "--key", str(before / "owner.key.pub")]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "receipts of 2 of 3 debits up to the newest (all debits of the ledger)" in shown
    assert main([*words, "--ledger", str(before / "orders.ledger")]) == 0
    assert "and 3 debits" in capsys.readouterr().out
