"""CSV text in a declared writing to rows, one unit (byte, or pair of bytes) after the other, as the docstrings say."""

from __future__ import annotations

import re
from dataclasses import dataclass

from csv_reference import REFUSED, Row, rows_of

LF, CR, BLANK = b"\n"[0], b"\r"[0], b" "[0]
CONTROL = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v"}
Units = list[int]


@dataclass(frozen=True)
class Declared:
    """What the schema says of all cells, and how the test writes it."""

    encoding: str = "utf-8"
    delimiter: str = ","
    quote: str = '"'
    escape: str = ""
    comment: str = ""
    nulls: tuple[str, ...] = ()
    end: str = "\n"

    @property
    def pairs(self) -> bool:
        return self.encoding.startswith("utf-16")

    def bytes_of(self, units: Units) -> bytes:
        if not self.pairs:
            return bytes(units)
        order = "big" if self.encoding == "utf-16be" else "little"
        return b"".join(unit.to_bytes(2, order) for unit in units)

    def units_of(self, text: str) -> Units:
        if not self.pairs:
            return list(text.encode(self.encoding))
        data = text.encode("utf-16-be")
        return [data[at] << 8 | data[at + 1] for at in range(0, len(data), 2)]

    def text_of(self, units: Units) -> str | None:
        """The text of a cell; None where it is empty, a declared NULL, or no text in its encoding."""
        name = {"utf-16": "utf-16-le", "utf-16be": "utf-16-be", "utf-16le": "utf-16-le"}.get(
            self.encoding, self.encoding
        )
        try:
            text = self.bytes_of(units).decode(name)
        except UnicodeDecodeError:
            return None
        return None if not text or text.strip(" \t") in self.nulls else text


def declared_rows(units: Units, columns: int, said: Declared) -> list[Row] | str:
    """The rows of a text without header line, or `REFUSED`."""
    end = ord(said.end[-1])
    lines = [*_split(units, end)]
    if said.comment:
        mark = [ord(sign) for sign in said.comment]
        lines = [line for line in lines if line[: len(mark)] != mark]
    if said.quote == '"' and not said.escape:
        return _of_csv(lines, columns, said, end)
    rows: list[Row] = []
    for whole in lines:
        line = whole[:-1] if end == LF and whole[-1:] == [CR] else whole
        if not line:
            rows += [(None,)] if columns == 1 else []
            continue
        cells = cells_of(line, said)
        kept = [] if cells is None or any(cells[columns:]) else cells[:columns]
        rows.append(tuple(map(said.text_of, kept + [[]] * (columns - len(kept)))))
    return rows


def _of_csv(lines: list[Units], columns: int, said: Declared, end: int) -> list[Row] | str:
    """By the rule of bytes: units that are no ASCII are written as numbers, between signs that occur nowhere else."""
    text = "".join("".join(chr(u) if u < 128 else f"<{u}>" for u in [*line, end]) for line in lines).encode()
    if said.delimiter != ",":
        text = text.replace(b",", b"<c>").replace(said.delimiter.encode(), b",")
    found = rows_of(text, columns, bytes([end]))
    if isinstance(found, str):
        return found
    return [tuple(None if cell is None else said.text_of(_units(cell, said)) for cell in row) for row in found]


def _units(cell: str, said: Declared) -> Units:
    parts = re.findall("<(c|[0-9]+)>|(.)", cell.replace(",", said.delimiter), re.DOTALL)
    return [ord(sign) if sign else ord(",") if number == "c" else int(number) for number, sign in parts]


def _split(units: Units, end: int) -> list[Units]:
    lines: list[Units] = [[]]
    for unit in units:
        if unit == end:
            lines.append([])
        else:
            lines[-1].append(unit)
    return lines if lines[-1] else lines[:-1]


def cells_of(line: Units, said: Declared) -> list[Units] | None:
    mark, quote, escape = (ord(sign) if sign else -1 for sign in (said.delimiter, said.quote, said.escape))
    cells: list[Units] = []
    place = 0
    while True:
        start = _past_blanks(line, place, mark)
        if start < len(line) and line[start] == quote:
            found = _quoted(line, start + 1, (mark, quote, escape))
            if found is None:
                return None
            cell, place = found
            place = _past_blanks(line, place, mark)
            if place < len(line) and line[place] != mark:
                return None
        else:
            found = _plain(line, place, (mark, quote, escape))
            if found is None:
                return None
            cell, after = found
            is_null = said.escape == "\\" and line[place:after] == [ord("\\"), ord("N")]
            cell, place = [] if is_null else cell, after
        cells.append(cell)
        if place >= len(line):
            return cells
        place += 1


def _past_blanks(line: Units, place: int, mark: int) -> int:
    while mark != BLANK and place < len(line) and line[place] == BLANK:
        place += 1
    return place


def _quoted(line: Units, place: int, signs: tuple[int, int, int]) -> tuple[Units, int] | None:
    cell: Units = []
    while place < len(line):
        if line[place] == signs[2]:
            if place + 1 == len(line):
                return None
            cell += _escaped(line[place], line[place + 1], signs)
            place += 2
        elif line[place] != signs[1]:
            cell.append(line[place])
            place += 1
        elif line[place + 1 : place + 2] == [signs[1]]:
            cell.append(signs[1])
            place += 2
        else:
            return cell, place + 1
    return None


def _plain(line: Units, place: int, signs: tuple[int, int, int]) -> tuple[Units, int] | None:
    cell: Units = []
    while place < len(line) and line[place] != signs[0]:
        if line[place] == signs[2]:
            if place + 1 == len(line):
                return None
            cell += _escaped(line[place], line[place + 1], signs)
            place += 2
        else:
            cell.append(line[place])
            place += 1
    return cell, place


def _escaped(escape: int, sign: int, signs: tuple[int, int, int]) -> Units:
    if sign in signs:
        return [sign]
    if signs[1] == -1 and sign < 128 and chr(sign) in CONTROL:
        return [ord(CONTROL[chr(sign)])]
    return [escape, sign]


__all__ = ["REFUSED", "Declared", "Row", "cells_of", "declared_rows"]
