"""Verdicts as HTML for notebooks: escaped, no script, nothing loaded; a colour never says more than its words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpdb.characters import in_html
from dpdb.suites.certainty import certainty_words
from dpdb.suites.result import CheckResult
from dpdb.suites.words import counts_words, how_many, limit_words, undecided_words, verdict_words

__all__ = ["checks_html"]

# Readable on white and on black; what is undecided is neither green nor red.
_COLOURS = {"pass": "#2e9b57", "FAIL": "#d6494a", "WARN": "#c9822b", "undecided": "#8a7cc7"}
_CELL = "padding:3px 12px 3px 0;text-align:left;vertical-align:top;border-bottom:1px solid rgba(128,128,128,.3)"
_FAINT = "opacity:.75;font-size:90%"


def checks_html(found: Mapping[str, Any]) -> str:
    """Return the verdicts of a run as a table, with what holds for all of them in folded details.

    Parameters
    ----------
    found
        The verdicts, as `CheckResults.to_dict` gives them.
    """
    checks = [CheckResult(**check) for check in found["checks"]]
    slices = any(check.key is not None for check in checks)
    heads = ("verdict", "check", *(("slice",) if slices else ()), "how many", "limit", "rule")
    head = "".join(f'<th style="{_CELL}">{name}</th>' for name in heads)
    body = "".join(f"<tr>{''.join(_cells(check, slices))}</tr>" for check in checks)
    return (
        f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
        f'<div style="{_FAINT}">{in_html(_summary(found, checks))}'
        f"<details><summary>details</summary>{_details(found)}</details></div>"
    )


def _cells(check: CheckResult, slices: bool) -> list[str]:
    said = verdict_words(check)
    verdict = f'<span style="color:{_COLOURS[said]};font-weight:600">{said}</span>'
    texts = [check.name, *([str(check.key)] if slices else []), how_many(check), limit_words(check), check.rule]
    return [f'<td style="{_CELL}">{cell}</td>' for cell in (verdict, *map(in_html, texts))]


def _summary(found: Mapping[str, Any], checks: Sequence[CheckResult]) -> str:
    cost = f"epsilon {found['epsilon']:g} of {found['epsilon_reserved']:g}"
    if found.get("suite") is not None:
        cost = f"kept as {found['suite']}, epsilon {found['epsilon_reserved']:g} reserved"
    return " ".join(filter(None, [f"{counts_words(checks)}; {cost}.", undecided_words(checks)]))


def _details(found: Mapping[str, Any]) -> str:
    facts = (
        ("run id", found["run_id"]),
        ("sure", certainty_words(found)),
        ("guarantee", found["guarantee"]),
    )
    return "<br>".join(f"{name}: {in_html(str(text))}" for name, text in facts)
