"""`dpdb receipts`, `dpdb verify` and `dpdb witness`: receipts of what was spent are issued, verified and witnessed."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.options import command, command_of_actions, format_option
from dpdb.doors.cli.streams import one_line, say, show
from dpdb.errors import ParameterError

if TYPE_CHECKING:
    from dpdb.doors.cli.parser import Parser
    from dpdb.receipts import Receipt, Verified


def add_receipts(commands: Any) -> None:
    """Add `dpdb receipts` and its actions."""
    text = "experimental: make the key of receipts; issue receipts of what was spent, and the salts of their answers"
    command_of_actions(commands, "receipts", text, add_key, add_issue, add_salts)


def add_key(actions: Any) -> None:
    """Add `dpdb receipts key`."""
    text = "make a private key of receipts (mode 0600), and its public key beside it as KEY.pub"
    parser = command(actions, "key", _key, text, "dpdb receipts key keys/receipts.key --name example.org/visits")
    parser.add_argument("key", metavar="KEY", help="new file, in another folder than any ledger")
    parser.add_argument("--name", metavar="NAME", default="dpdb.receipts", help="of the key, one word (dpdb.receipts)")
    parser.add_repeated("--follows", metavar="PUB", help="public key that was lost or retired; repeatable")


def _key(options: argparse.Namespace) -> None:
    """Make the key and print the public one."""
    from dpdb.receipts import load_public, new_key_file

    earlier = tuple(load_public(each).vkey for each in options.follows)
    show(new_key_file(Path(options.key), options.name, earlier).vkey)


def add_issue(actions: Any) -> None:
    """Add `dpdb receipts issue`."""
    text = "print the receipt of a run or of a release that was spent for before; spends nothing"
    example = "dpdb receipts issue visits.ledger --run-id monday --receipt-key keys/receipts.key"
    parser = command(actions, "issue", _issue, text, example)
    _debit_options(parser)
    parser.add_argument("--receipt-key", metavar="KEY", required=True, help="private key of receipts")
    parser.add_repeated(
        "--after", metavar="FILE", help="receipts, or a witness's file: shown to be of the same log; repeatable"
    )


def _debit_options(parser: Parser) -> None:
    parser.add_argument("ledger", metavar="LEDGER", help="file of the ledger")
    parser.add_argument("--run-id", metavar="ID", help="the run")
    parser.add_argument("--suite", metavar="NAME", help="the kept suite that the run is of")
    parser.add_argument("--release", metavar="ID", help="the release")


def _named(options: argparse.Namespace) -> dict[str, str | None]:
    if (options.run_id is None) == (options.release is None):
        raise ParameterError("give --run-id ID or --release ID")
    return {"run_id": options.run_id, "suite": options.suite, "release_id": options.release}


def add_salts(actions: Any) -> None:
    """Add `dpdb receipts salts`."""
    text = "print the salts of a run's or a release's answers, with which whoever has these finds them in the receipt"
    parser = command(actions, "salts", _salts, text, "dpdb receipts salts visits.ledger --run-id monday")
    _debit_options(parser)


def _salts(options: argparse.Namespace) -> None:
    """Print the salts by the names of the answers in the receipt."""
    from dpdb.ledger import open_to_read
    from dpdb.receipts import LedgerTree

    named = _named(options)
    with open_to_read(options.ledger) as reading, LedgerTree(reading) as tree:
        show(json.dumps(tree.salts(*tree.found(**named)), indent=2))


def _issue(options: argparse.Namespace) -> None:
    """Print one receipt."""
    from dpdb.receipts import Issuer, load_key, load_public, open_receipt, read_checkpoints, read_receipts

    named = _named(options)
    key = load_key(options.receipt_key)
    known = [key.note_key, *map(load_public, key.earlier)]
    after = []
    for path in options.after:
        lines = read_receipts(path)
        if lines[0].startswith(b"{"):
            after += [open_receipt(line, known).checkpoint for line in lines]
        else:
            after += read_checkpoints(path, known)
    with Issuer(options.ledger, key) as issuer:
        found = issuer.found(**named)
        show(issuer.issue(*found, after).decode().removesuffix("\n"))


def add_verify(commands: Any) -> None:
    """Add `dpdb verify`."""
    text = "experimental: verify receipts: signatures, place in the log, sums; with the ledger every charge, too"
    parser = command(commands, "verify", _verify, text, "dpdb verify receipts.jsonl --key receipts.key.pub")
    parser.add_argument("receipts", metavar="RECEIPTS", nargs="+", help="files with one receipt on each line")
    parser.add_argument(
        "--key", metavar="PUB", action="append", required=True, help="public key of receipts; repeatable"
    )
    parser.add_argument("--ledger", metavar="FILE", help="the ledger, for its owner or an auditor; read, never changed")
    parser.add_repeated("--witness", metavar="FILE", help="a witness's file; repeatable")
    parser.add_argument("--witness-key", metavar="PUB", help="the witness's public key: he must have cosigned all")
    format_option(parser)


def _verify(options: argparse.Namespace) -> int:
    """Verify, and tell by the exit code: 1 if something is refused, 5 if something could not be shown."""
    from dpdb.receipts import NOT_PROVEN, load_public, read_checkpoints, read_receipts, verify

    keys = [load_public(each) for each in options.key]
    his = None if options.witness_key is None else load_public(options.witness_key)
    lines = [
        (f"{path}, receipt {number}", line)
        for path in options.receipts
        for number, line in enumerate(read_receipts(path), 1)
    ]
    witnessed = [one for path in options.witness for one in read_checkpoints(path, keys, his)]
    found = verify(lines, keys, ledger=options.ledger, witnessed=witnessed)
    if options.format == "json":
        show(json.dumps(_object(found) | {"not_proven": NOT_PROVEN}, indent=2))
    else:
        show("\n".join([*map(_words, found.receipts), *found.found, *found.open, NOT_PROVEN]))
    for problem in found.refused:
        say(f"refused: {one_line(problem)}")
    return found.exit_code


def _words(one: tuple[str, Receipt | None]) -> str:
    place, receipt = one
    if receipt is None:
        return f"refused  {place}"
    sums, loss = receipt.claims["accounting"], receipt.claims["privacy_loss"]
    [(parameter, value)] = loss["privacy_parameters"].items()
    answered = "" if receipt.claims["debit"]["answered"] else ", not answered"
    scale, unit = sums["unit"].split(" ", 1)

    def amount(units: int) -> str:
        return f"{units * float(scale):.9g}"

    settled = "" if sums["settled"] is None else f", settled from {amount(sums['charge'])}"
    sum_ = " = ".join([f"{amount(sums['spent_before'])} + {amount(sums['charge'])}", amount(sums["spent_after"])])
    spent = f"{sum_} {unit} ({sums['scope']})"
    return one_line(
        f"holds    {place}: debit {receipt.claims['debit']['entry']} of {receipt.checkpoint.origin}, line "
        f"{receipt.place} of {receipt.checkpoint.size}, {parameter} {value:.9g}{settled}{answered}; spent {spent}"
    )


def _object(found: Verified) -> dict[str, Any]:
    return {
        "receipts": [
            {"place": place, "holds": receipt is not None, "statement": None if receipt is None else receipt.statement}
            for place, receipt in found.receipts
        ],
        "holds": found.found,
        "not_shown": found.open,
        "refused": found.refused,
    }


def add_witness(commands: Any) -> None:
    """Add `dpdb witness`."""
    text = "experimental: keep a ledger's checkpoint in another place, and notice a ledger that went back or was forked"
    example = "dpdb witness /mnt/other/visits.witness --ledger visits.ledger --receipt-key keys/receipts.key"
    parser = command(commands, "witness", _witness, text, example)
    parser.add_argument("file", metavar="FILE", help="file of the witness, to which checkpoints are appended")
    parser.add_argument("receipts", metavar="RECEIPTS", nargs="*", help="receipts, where the ledger cannot be read")
    parser.add_repeated("--key", metavar="PUB", help="public key of receipts; repeatable")
    parser.add_argument("--ledger", metavar="FILE", help="the ledger, for its owner")
    parser.add_argument("--receipt-key", metavar="KEY", help="with --ledger: private key of receipts")
    parser.add_argument("--cosign", metavar="KEY", help="the witness's own private key: cosign what is kept")


def _witness(options: argparse.Namespace) -> None:
    """Keep what was shown to follow what is kept; otherwise refuse."""
    from dpdb.receipts import Issuer, WitnessFile, load_key, load_public, open_receipt, read_receipts

    own = None if options.cosign is None else load_key(options.cosign)
    keys = [load_public(each) for each in options.key]
    if options.ledger is not None:
        if options.receipt_key is None or options.receipts:
            raise ParameterError("with --ledger give --receipt-key KEY, and no receipts")
        signer = load_key(options.receipt_key)
        keys += [signer.note_key, *map(load_public, signer.earlier)]
        witness = WitnessFile(options.file, keys, own)
        with Issuer(options.ledger, signer) as issuer:
            kept = [witness.keep_ledger(issuer)]
    else:
        if not options.receipts or not keys:
            raise ParameterError("give RECEIPTS with --key PUB, or --ledger with --receipt-key")
        witness = WitnessFile(options.file, keys, own)
        lines = [line for path in options.receipts for line in read_receipts(path)]
        kept = witness.keep_receipts([open_receipt(line, keys) for line in lines])
    show("\n".join(f"{options.file}: {one.origin}, {one.size} lines, root {one.root.hex()}" for one in kept))
