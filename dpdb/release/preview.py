"""The common layout of previews of releases (`dpdb explain`, `plan` and `run --dry-run`), as text and as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dpdb.characters import in_html
from dpdb.release.published.html import html_table

__all__ = ["NOTHING_SPENT", "PreviewPart", "cost_preview", "preview_html", "preview_text"]

NOTHING_SPENT = "nothing was spent and no row was read"


@dataclass(frozen=True)
class PreviewPart:
    """Lines, a table with its head, of which the first columns are texts, and lines that belong to it."""

    lines: Sequence[str]
    rows: Sequence[Sequence[str]] = ()
    texts: int = 0
    notes: Sequence[str] = ()

    @property
    def aligned(self) -> list[str]:
        """The table as lines of text."""
        width = [max(map(len, column)) for column in zip(*self.rows, strict=True)]
        sides = [str.ljust] * self.texts + [str.rjust] * (len(width) - self.texts)
        return ["  ".join(side(cell, w) for side, cell, w in zip(sides, row, width, strict=True)) for row in self.rows]


def preview_text(parts: Iterable[PreviewPart]) -> str:
    """Return the parts as a command prints them, an empty line between them."""
    return "\n\n".join(
        "\n".join([*part.lines, *(f"  {line}" for line in [*part.aligned, *part.notes])]) for part in parts
    )


def preview_html(parts: Iterable[PreviewPart]) -> str:
    """Return the parts as a notebook shows them: escaped, no script, nothing loaded."""
    return "".join(
        f'<div style="margin:8px 0">{_lines(part.lines)}'
        f"{html_table(part.rows[0], part.rows[1:]) if part.rows else ''}{_lines(part.notes)}</div>"
        for part in parts
    )


def cost_preview(epsilon: float, charges: Mapping[str, float], total: str = "") -> str:
    """Write the joint cost of releases: in epsilon, and as charged in a ledger of another notion.

    Parameters
    ----------
    epsilon
        Epsilon of all releases together.
    charges
        The charge by the name of a notion's parameter; `epsilon` itself is left out.
    total
        Words after the epsilon, such as " in total".
    """
    others = [f"{name} {cost:.9g}" for name, cost in charges.items() if name != "epsilon"]
    charged = f" ({', '.join(others)} on a ledger that counts so)" if others else ""
    return f"epsilon {epsilon:g}{total}{charged}"


def _lines(lines: Sequence[str]) -> str:
    return "".join(f"<div>{in_html(line)}</div>" for line in lines)
