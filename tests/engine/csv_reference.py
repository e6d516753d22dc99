"""CSV text to rows, one byte after the other: what `dpdb.sources.csv_lines` says in words."""

from __future__ import annotations

REFUSED = "refused"
Row = tuple[str | None, ...]


def rows_of(text: bytes, columns: int, end: bytes = b"\n") -> list[Row] | str:
    """The rows of a text without header line, or `REFUSED`."""
    rows: list[Row] = []
    for record in records(text, end):
        if record is None:
            return REFUSED
        several_lines = end in record
        line = record.removesuffix(b"\r") if end == b"\n" else record
        if not line:
            rows += [(None,)] if columns == 1 else []
            continue
        cells = cells_of(line, end)
        wrong = cells is None or any(cells[columns:])
        if several_lines and (wrong or len(cells or ()) < columns):
            return REFUSED
        kept = [] if cells is None or wrong else cells[:columns]
        rows.append(tuple(map(decoded, kept + [b""] * (columns - len(kept)))))
    return rows


def records(text: bytes, end: bytes) -> list[bytes | None]:
    found: list[bytes | None] = []
    record, quoted = b"", False
    for byte in (text[i : i + 1] for i in range(len(text))):
        quoted ^= byte == b'"'
        if byte == end and not quoted:
            found.append(record)
            record = b""
        else:
            record += byte
    return [*found, None if quoted else record] if record else found


def cells_of(line: bytes, end: bytes) -> list[bytes] | None:
    cells: list[bytes] = []
    place = 0
    while True:
        start = place
        while line[start : start + 1] == b" ":
            start += 1
        if line[start : start + 1] == b'"':
            closed = closing_quote(line, start + 1)
            if closed is None:
                return None
            cell = line[start + 1 : closed].replace(b'""', b'"')
            place = closed + 1
            while line[place : place + 1] == b" ":
                place += 1
            if line[place : place + 1] not in (b"", b","):
                return None
        else:
            cell = line[place:].split(b",")[0]
            place += len(cell)
            if end in cell:
                return None
        cells.append(cell)
        if place == len(line):
            return cells
        place += 1


def closing_quote(line: bytes, place: int) -> int | None:
    while place < len(line):
        if line[place : place + 2] == b'""':
            place += 2
        elif line[place : place + 1] == b'"':
            return place
        else:
            place += 1
    return None


def decoded(cell: bytes) -> str | None:
    try:
        return cell.decode() or None
    except UnicodeDecodeError:
        return None
