"""The checks of several sites as one HTML page: escaped, no script, nothing loaded."""

from __future__ import annotations

from collections import Counter

from dpdb.characters import in_html
from dpdb.doors.reports.sites import Board, BoardLine, cell_words
from dpdb.suites import how_many

__all__ = ["board_page"]

_COLOURS = {"pass": "#2e9b57", "FAIL": "#d6494a", "WARN": "#c9822b", "undecided": "#8a7cc7", "-": "#888"}
_STYLE = (
    "body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}"
    "td,th{padding:3px 12px 3px 0;text-align:left;vertical-align:top;border-bottom:1px solid #ccc}"
)


def board_page(board: Board, title: str) -> str:
    """Return the page: what fails anywhere stands first."""
    lines = sorted(board.lines, key=lambda line: -sum(cell_words(line, site) == "FAIL" for site in board.sites))
    heads = "".join(f"<th>{in_html(name)}</th>" for name in ("check", "limit", *board.sites))
    body = "".join(_row(line, board) for line in lines)
    totals = "".join(f"<li>{in_html(site)}: {in_html(_totals(board, site))}</li>" for site in board.sites)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{in_html(title)}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{in_html(title)}</h1><ul>{totals}</ul>"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></body></html>\n"
    )


def _row(line: BoardLine, board: Board) -> str:
    cells = []
    for site in board.sites:
        said, check = cell_words(line, site), line.checks.get(site)
        bounds = "" if check is None else f"<br><small>{in_html(how_many(check))}</small>"
        cells.append(f'<td><b style="color:{_COLOURS[said]}">{said}</b>{bounds}</td>')
    return f"<tr><td>{in_html(line.name)}</td><td>{in_html(line.limit)}</td>{''.join(cells)}</tr>"


def _totals(board: Board, site: str) -> str:
    found = Counter(cell_words(line, site) for line in board.lines)
    return ", ".join(f"{count} {said}" for said, count in found.most_common() if said != "-")
