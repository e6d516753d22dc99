"""What a reader of a receipt checks without the ledger: that it has the fields of one, and that they add up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dpdb.privacy import NOTIONS
from dpdb.receipts.statement import ANSWER, COMPOSITION, FLAVORS, INPUT_METRIC, PREDICATE_TYPE, SCOPES, STATEMENT_TYPE

__all__ = ["check_stated", "shape_of"]

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
    if (statement["_type"], statement["predicateType"]) != (STATEMENT_TYPE, PREDICATE_TYPE):
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
