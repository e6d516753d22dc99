"""What a receipt states: an in-toto Statement v1 about one debit, with a predicate of ours.

The fields for guarantee, unit, mechanism, parameters and bounds have the names of OpenDP's deployments registry
(`dp_flavor`, `privacy_loss`, `implementation`, `accounting`); the others are ours. Amounts are whole units of the
ledger. Nothing names a person, a predicate or a value: region, request, run and asker are marks under the ledger's key,
by which only the ledger's holder knows them again, and of the releases there are digests. A rationed analyst's sums are
of his own debits, and times are cut to the minute, as in his history.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from dpdb.ledger import LedgerLog, LoggedDebit
from dpdb.receipts.envelope import canonical

__all__ = [
    "COMPOSITION", "FLAVORS", "INPUT_METRIC", "PAYLOAD_TYPE", "PREDICATE_TYPE", "SCOPES", "STATEMENT_TYPE", "claims",
    "subjects",
]  # fmt: skip

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:dpdb:receipt:v1"

FLAVORS = {
    "pure": ("Pure DP", "max divergence", "1e-9 epsilon"),
    "zcdp": ("Zero-concentrated DP", "zero-concentrated divergence", "1e-12 rho"),
    "gdp": ("Gaussian DP", "Gaussian trade-off", "1e-12 mu^2"),
}
SCOPES = ("all debits of the ledger", "the asker's own debits")
"""Whose debits the sums count: by whether the asker has rights of his own."""
COMPOSITION = "spent is the sum of charges, settled ones as settled; what any row collects is at most that"
INPUT_METRIC = "rows added or removed"
ANSWER = "answer"
"""What the answer of a diagnosis or a discovery is called: it is one, and has no release."""
_MINUTE = 16


def claims(log: LedgerLog, debit: LoggedDebit) -> dict[str, Any]:
    """Return the predicate about a debit, without the proofs; a function of the log's lines alone.

    Parameters
    ----------
    log
        The log.
    debit
        As the log states it at some size.
    """
    notion, (rows, unit) = log.notion, log.unit
    name, divergence, unit_words = FLAVORS[notion.name]
    value = notion.value(debit.charge if debit.settled is None else debit.settled)
    before, spent = debit.before, debit.before.debited - debit.before.returned
    return {
        "dp_flavor": {
            "name": name,
            "input_metric": INPUT_METRIC,
            "bound_on_input_distance": rows,
            "output_measure": divergence,
            "bound_on_output_distance": value,
        },
        "privacy_loss": {
            "privacy_unit": unit or ("row" if rows == 1 else "person"),
            "privacy_parameters": {notion.parameter: value},
        },
        "implementation": {"mechanisms": _mechanisms(debit)},
        "accounting": {
            "unit": unit_words,
            "scope": SCOPES[debit.rationed],
            "composition": COMPOSITION,
            "debits_before": before.debits,
            "debited_before": before.debited,
            "returned_before": before.returned,
            "spent_before": spent,
            "charge": debit.charge,
            "spent_after": spent + debit.charge,
            "settled": debit.settled,
            "overlap_bound": None if debit.rationed else debit.overlap,
        },
        "debit": {
            "entry": debit.number,
            "epoch": debit.epoch,
            "reserved": f"{debit.reserved[:_MINUTE]}Z" if debit.rationed else debit.reserved,
            "region": debit.region,
            "request": debit.request,
            "analyst": debit.analyst,
            "run": debit.run,
            "answered": debit.answer is not None,
        },
        "suite": None if debit.suite is None else {"kind": debit.suite, "levels": debit.levels},
    }


def subjects(origin: str, debit: LoggedDebit, leaf: bytes) -> list[dict[str, Any]]:
    """Return what a receipt is about, by SHA-256: the leaf of a debit, and the releases or other answer of its run.

    A release is hashed as `canonical` writes its fields, so whoever has the release can find it in the receipt.
    """
    found = [_subject(f"{origin}/{debit.lines[0][1]}", leaf.hex())]
    answered = _answered(debit)
    if isinstance(answered, list):
        found += [_subject(one["release_id"], digest(one)) for one in answered]
    else:
        found.append(_subject("verdicts" if "checks" in answered else ANSWER, digest(answered)))
    return found


def digest(value: object) -> str:
    """Return the SHA-256 of a value as `canonical` writes it."""
    return hashlib.sha256(canonical(value)).hexdigest()


def _subject(name: str, sha256: str) -> dict[str, Any]:
    return {"name": name, "digest": {"sha256": sha256}}


def _mechanisms(debit: LoggedDebit) -> list[dict[str, str]]:
    answered = _answered(debit)
    names = {"release": "release_id", "measure": "measure", "mechanism": "mechanism"}
    releases = answered if isinstance(answered, list) else []
    return [{name: one[key] for name, key in names.items()} for one in releases]


def _answered(debit: LoggedDebit) -> Any:
    """Return the answer of a debit: releases in a list, or another answer as a dict."""
    return [] if debit.answer is None else json.loads(debit.answer)
