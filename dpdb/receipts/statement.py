"""What a receipt states: an in-toto Statement v1 about one debit, with a predicate of ours, in a DSSE envelope.

The fields for guarantee, unit, mechanism, parameters and bounds have the names of OpenDP's deployments registry
(`dp_flavor`, `privacy_loss`, `implementation`, `accounting`); the others are ours. Amounts are whole units of the
ledger. Nothing names a person, a predicate or a value: region, request, run and asker are marks under the ledger's key,
by which only the ledger's holder knows them again, and of each release or other answer there is a salted digest. Its
salt is a mark under the ledger's key, too (`LedgerLog.salt`), is in no receipt, and comes with the answer's own receipt
to whoever has the answer. So a digest is guessed by nobody else, however few values an answer may have: with a random
function for SHA-256 of 256 unknown bits, as many guesses as that. Receipts of older versions (`PLAIN`) have digests
without a salt. A rationed analyst's sums are of his own debits, and times are cut to the minute, as in his history.

An envelope (DSSE of secure-systems-lab, version 1.0) has a payload, its type, and signatures of both. Whoever reads a
receipt without the ledger checks that it has the fields of one, and that they add up (`check_stated`).
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from dpdb.errors import ReceiptError
from dpdb.ledger import LedgerLog, LoggedDebit
from dpdb.privacy import NOTIONS
from dpdb.receipts.notes import is_signed


class EnvelopeError(ReceiptError):
    """An envelope is malformed."""


def pae(kind: str, payload: bytes) -> bytes:
    """Return what is signed: type and payload, each after its length.

    Examples
    --------
    >>> pae("http://example.com/HelloWorld", b"hello world")
    b'DSSEv1 29 http://example.com/HelloWorld 11 hello world'
    """
    coded = kind.encode()
    return b"DSSEv1 %d %b %d %b" % (len(coded), coded, len(payload), payload)


def canonical(value: object) -> bytes:
    """Return JSON in the one form that is signed and compared here: sorted keys, no blanks, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def envelope(kind: str, payload: bytes, signed: bytes, key_id: str) -> dict[str, Any]:
    """Return an envelope with one signature.

    Parameters
    ----------
    payload
        What was signed, with its type.
    signed
        The signature of `pae`.
    """
    signature = {"keyid": key_id, "sig": base64.b64encode(signed).decode()}
    return {"payload": base64.b64encode(payload).decode(), "payloadType": kind, "signatures": [signature]}


def accepted_keys(found: object, publics: Mapping[str, bytes]) -> tuple[str, bytes, list[str]]:
    """Return type and payload of an envelope, and the names of the keys with a valid signature of both.

    Either alphabet of base64 is read, and the hint of a signature decides nothing.

    Parameters
    ----------
    publics
        Public keys by name.
    """
    if not isinstance(found, dict) or not isinstance(found.get("signatures"), list) or not found["signatures"]:
        raise EnvelopeError("it is no envelope of DSSE")
    kind, payload = found.get("payloadType"), _decoded(found.get("payload"))
    if not isinstance(kind, str):
        raise EnvelopeError("the envelope has no type")
    message, accepted = pae(kind, payload), []
    for one in found["signatures"]:
        signed = _decoded(one.get("sig") if isinstance(one, dict) else None)
        for name, public in publics.items():
            if name not in accepted and is_signed(public, signed, message):
                accepted.append(name)
    return kind, payload, accepted


def _decoded(text: object) -> bytes:
    if not isinstance(text, str):
        raise EnvelopeError("the envelope is malformed")
    try:
        return base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except ValueError:
        raise EnvelopeError("the envelope has no base64 where it should") from None


PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:dpdb:receipt:v2"
PLAIN = "urn:dpdb:receipt:v1"
"""The kind of receipts of older versions, whose digests have no salt; they are verified, and no longer made."""

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


def stated(
    log: LedgerLog, debit: LoggedDebit, origin: str, leaf: bytes, proofs: Mapping[str, object]
) -> dict[str, Any]:
    """Return the statement about a debit.

    Parameters
    ----------
    debit
        As the log states it at some size.
    """
    return {
        "_type": STATEMENT_TYPE,
        "subject": subjects(log, origin, debit, leaf),
        "predicateType": PREDICATE_TYPE,
        "predicate": {**claims(log, debit), "log": proofs},
    }


def claims(log: LedgerLog, debit: LoggedDebit) -> dict[str, Any]:
    """Return the predicate about a debit, without the proofs; a function of the log's lines alone.

    Parameters
    ----------
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


def subjects(
    log: LedgerLog, origin: str, debit: LoggedDebit, leaf: bytes, kind: str = PREDICATE_TYPE
) -> list[dict[str, Any]]:
    """Return what a receipt is about, by SHA-256: the leaf of a debit, and the releases or other answer of its run.

    Whoever has a release, or another answer, and its salt finds it in the receipt by `digest`.

    Parameters
    ----------
    debit
        As the log states it at some size.
    kind
        Of the receipt: `PLAIN` for one of an older version.
    """
    salted = salts(log, debit)
    found = [_subject(f"{origin}/{debit.lines[0][1]}", leaf.hex())]
    return found + [
        _subject(name, digest(value, None if kind == PLAIN else salted[name])) for name, value in _named(debit)
    ]


def salts(log: LedgerLog, debit: LoggedDebit) -> dict[str, str]:
    """Return the salt of each release or other answer of a debit, by its name; for whoever may have the answer."""
    return {name: log.salt(debit, name) for name, _ in _named(debit)}


def digest(value: object, salt: str | None) -> str:
    """Return the SHA-256 of an answer's fields, with its salt where it has one.

    Examples
    --------
    >>> digest({"value": 327}, None) == hashlib.sha256(b'{"value":327}').hexdigest()
    True
    >>> digest({"value": 327}, "5a") == hashlib.sha256(b'{"answer":{"value":327},"salt":"5a"}').hexdigest()
    True
    """
    hashed = value if salt is None else {"answer": value, "salt": salt}
    return hashlib.sha256(canonical(hashed)).hexdigest()


def _subject(name: str, sha256: str) -> dict[str, Any]:
    return {"name": name, "digest": {"sha256": sha256}}


def _named(debit: LoggedDebit) -> list[tuple[str, Any]]:
    answered = _answered(debit)
    if isinstance(answered, list):
        return [(one["release_id"], one) for one in answered]
    return [("verdicts" if "checks" in answered else ANSWER, answered)]


def _mechanisms(debit: LoggedDebit) -> list[dict[str, str]]:
    answered = _answered(debit)
    names = {"release": "release_id", "measure": "measure", "mechanism": "mechanism"}
    releases = answered if isinstance(answered, list) else []
    return [{name: one[key] for name, key in names.items()} for one in releases]


def _answered(debit: LoggedDebit) -> Any:
    """Return the answer of a debit: releases in a list, or another answer as a dict."""
    return [] if debit.answer is None else json.loads(debit.answer)


_TOO_LARGE = 1 << 63  # for an amount or a place of any ledger
_TEXT_OR_NONE, _WHOLE_OR_NONE = (str, type(None)), (int, type(None))
_SHAPE: dict[str, Any] = {
    "_type": str,
    "subject": [{"name": str, "digest": {"sha256": str}}],
    "predicateType": str,
    "predicate": {
        "dp_flavor": {
            "name": str, "input_metric": str, "bound_on_input_distance": int, "output_measure": str,
            "bound_on_output_distance": float,
        },
        "privacy_loss": {"privacy_unit": str, "privacy_parameters": dict},
        "implementation": {"mechanisms": [{"release": str, "measure": str, "mechanism": str}]},
        "accounting": {
            "unit": str, "scope": str, "composition": str, "debits_before": int, "debited_before": int,
            "returned_before": int, "spent_before": int, "charge": int, "spent_after": int, "settled": _WHOLE_OR_NONE,
            "overlap_bound": _WHOLE_OR_NONE,
        },
        "debit": {
            "entry": int, "epoch": int, "reserved": str, "region": str, "request": str, "analyst": _TEXT_OR_NONE,
            "run": _TEXT_OR_NONE, "answered": bool,
        },
        "suite": (dict, type(None)),
        "log": {
            "checkpoint": str,
            "key": {"vkey": str, "follows": [str]},
            "lines": [{"kind": str, "place": int, "leaf": str, "inclusion": [str]}],
            "consistency": [{"size": int, "root": str, "proof": [str]}],
        },
    },
}  # fmt: skip


def shape_of(value: object, shape: Any = None) -> bool:
    """Return whether a statement has exactly the fields of a receipt, each of its type."""
    shape = _SHAPE if shape is None else shape
    if isinstance(shape, dict):
        return (
            isinstance(value, dict)
            and value.keys() == shape.keys()
            and all(shape_of(value[key], inner) for key, inner in shape.items())
        )
    if isinstance(shape, list):
        return isinstance(value, list) and all(shape_of(one, shape[0]) for one in value)
    if isinstance(value, int) and not isinstance(value, bool):
        return isinstance(value, shape) and abs(value) < _TOO_LARGE
    return isinstance(value, shape) and (not isinstance(value, bool) or shape is bool)


def check_stated(statement: dict[str, Any]) -> list[str]:
    """Return what in a statement of the right shape does not add up or contradicts itself."""
    wrong = []
    if statement["_type"] != STATEMENT_TYPE or statement["predicateType"] not in (PREDICATE_TYPE, PLAIN):
        wrong.append("it is of another kind")
    checks = (_lines, _guarantee, _sums, _scope, _answer)
    return wrong + [words for check in checks for words, holds in check(statement) if not holds]


def _lines(statement: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    lines, subject = statement["predicate"]["log"]["lines"], statement["subject"]
    places = [line["place"] for line in lines]
    yield "the first line is not the debit", places == sorted(set(places)) and _kinds(statement)[:1] == ["entry"]
    if lines and subject:
        yield "the subject is not the debit", subject[0]["digest"]["sha256"] == lines[0]["leaf"]
    else:
        yield "there is no subject", False


def _guarantee(statement: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    predicate = statement["predicate"]
    sums, flavor = predicate["accounting"], predicate["dp_flavor"]
    notion = next((NOTIONS[one] for one, words in FLAVORS.items() if words[0] == flavor["name"]), None)
    if notion is None:
        yield "the guarantee is unknown", False
        return
    words = flavor["output_measure"], sums["unit"]
    yield "the guarantee has other words", words == FLAVORS[notion.name][1:] and flavor["input_metric"] == INPUT_METRIC
    value = notion.value(max(0, sums["charge"] if sums["settled"] is None else sums["settled"]))
    parameters = predicate["privacy_loss"]["privacy_parameters"]
    agrees = flavor["bound_on_output_distance"] == value and parameters == {notion.parameter: value}
    yield "the guarantee is not that of the charge", agrees and flavor["bound_on_input_distance"] > 0


def _sums(statement: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    sums = statement["predicate"]["accounting"]
    charge, returned, debited = sums["charge"], sums["returned_before"], sums["debited_before"]
    yield "the sum before is wrong", sums["spent_before"] == debited - returned and 0 <= returned <= debited
    yield "the sum after is wrong", sums["spent_after"] == sums["spent_before"] + charge and charge >= 0
    yield (
        "the first debit comes after others",
        sums["debits_before"] >= 0 and bool(sums["debits_before"] or not debited),
    )
    settled = sums["settled"]
    yield "a settlement raises the charge", settled is None or 0 <= settled <= charge
    yield "the settlement is not in the log", (settled is not None) == ("settlement" in _kinds(statement))


def _scope(statement: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    sums, debit = statement["predicate"]["accounting"], statement["predicate"]["debit"]
    yield "the sums are of something else", sums["scope"] in SCOPES and sums["composition"] == COMPOSITION
    is_all, overlap = sums["scope"] == SCOPES[0], sums["overlap_bound"]
    earlier = debit["entry"] - 1
    counted = sums["debits_before"] == earlier if is_all else sums["debits_before"] <= earlier
    yield "the sums count other debits", counted and debit["epoch"] > 0
    yield "the overlap is stated to an analyst", (overlap is not None) == is_all
    yield "the recorded overlap is below the charge", overlap is None or overlap >= sums["charge"]


def _answer(statement: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    predicate, kinds = statement["predicate"], _kinds(statement)
    answered, suite = predicate["debit"]["answered"], predicate["suite"]
    released = [one["name"] for one in statement["subject"][1:]]
    yield "the answer is not in the log", answered == ("answer" in kinds or "suite_answer" in kinds)
    yield "there are releases without an answer", answered or not released
    yield "the suite is not in the log", (suite is not None) == ("suite" in kinds)
    yield "the suite is none", suite is None or _is_suite(suite)
    mechanisms = [one["release"] for one in predicate["implementation"]["mechanisms"]]
    is_one = suite is not None or released == [ANSWER]
    yield "the mechanisms are of other releases", mechanisms == released or (not mechanisms and is_one)


def _kinds(statement: dict[str, Any]) -> list[str]:
    return [line["kind"] for line in statement["predicate"]["log"]["lines"]]


def _is_suite(suite: dict[str, Any]) -> bool:
    levels = suite.get("levels")
    is_whole = isinstance(levels, int) and not isinstance(levels, bool) and levels >= 0
    return suite.keys() == {"kind", "levels"} and suite["kind"] in ("kept", "run") and is_whole
