"""How mechanisms are named and drawn: colour, line and marker differ together, so pictures survive black and white."""

from __future__ import annotations

from typing import Any

from measuring import BASELINE_TRUE, SLOW

TRUE = {"color": "#000000", "linestyle": "-", "linewidth": 2.2}
DEFAULT = {"color": "#0072b2", "linestyle": "-", "marker": "o", "markersize": 4}
PAPER = {"color": "#d55e00", "linestyle": "--", "marker": "s", "markersize": 4}
R2T = {"color": "#009e73", "linestyle": ":", "marker": "^", "markersize": 5}
TWICE_TAU = {"color": "#888888", "linestyle": "-.", "linewidth": 1.2}

_STRATEGIES: dict[str, tuple[str, dict[str, Any]]] = {
    "baseline_max": ("paper: baseline 1, theta = |V|", {"color": "#0072b2", "linestyle": ":", "marker": "v"}),
    BASELINE_TRUE: (
        "paper: baseline 2, true degree, NOT private",
        {"color": "#e69f00", "linestyle": "--", "marker": ""},
    ),
    "em": ("paper: EM (Algorithm 3)", {"color": "#009e73", "linestyle": "-.", "marker": "^"}),
    "hierarchical": ("paper: hierarchical EM", {"color": "#d62728", "linestyle": "--", "marker": "x"}),
    "optimized": (
        "paper: bound + hierarchical EM (Algorithm 4)",
        {"color": "#9467bd", "linestyle": "-", "marker": "s"},
    ),
    SLOW: ("R2T", {"color": "#8c564b", "linestyle": ":", "marker": "D"}),
}
OWN = (
    ("#0072b2", "-", "s"), ("#d55e00", "--", "^"), ("#009e73", "-.", "v"), ("#cc79a7", ":", "D"), ("#e69f00", "-", "x"),
    ("#56b4e9", "--", "P"), ("#7f3c8d", "-.", "<"), ("#666666", ":", ">"), ("#8c564b", "-", "*"),
    ("#117733", "--", "p"),
)  # fmt: skip
"""Looks of dpdb's mechanisms beside the default: no two have a colour or a marker in common."""


def strategy_name(mechanism: str) -> str:
    """The legend's text for a mechanism of Figure 5."""
    return _STRATEGIES[mechanism][0] if mechanism in _STRATEGIES else f"dpdb: {mechanism}"


def is_of_the_paper(mechanism: str) -> bool:
    """Whether the paper's Figure 3 or 5 shows the mechanism."""
    return mechanism in _STRATEGIES


def strategy_style(mechanism: str, number: int, is_default: bool) -> dict[str, Any]:
    """Line of Figure 5: the paper's looks for the paper's, black for the default, those of `OWN` for the rest."""
    if is_default:
        return {"color": "#000000", "linestyle": "-", "marker": "o", "linewidth": 2.2, "markersize": 4}
    if is_of_the_paper(mechanism):
        return {**_STRATEGIES[mechanism][1], "markersize": 4}
    colour, line, marker = OWN[number]
    return {"color": colour, "linestyle": line, "marker": marker, "linewidth": 1.2, "markersize": 5}
