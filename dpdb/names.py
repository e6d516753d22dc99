"""Names, and the characters in them that need care.

Names as the database compares them, the nearest known name to a misspelled one, and valid names in a ledger. Characters
that no encoding has, and those that a terminal would obey or hide. Texts below one another.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher, get_close_matches

from dpdb.errors import ParameterError

_ONE_WORD = re.compile(r"(?![0-9]+(?:[eE][0-9]+)?$)\w+")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_WORDS_OF_RULES = frozenset(
    [
        "and", "or", "not", "is", "in", "like", "between", "null", "isnull", "notnull", "true", "false", "by", "where",
        "exists", "check", "select", "forall", "current_date", "current_time", "current_timestamp", "current_user",
        "localtime", "localtimestamp", "session_user",
    ]
)  # fmt: skip
"""Words that, without quotes, mean something else somewhere in a constraint."""

LONGEST_NAME = 200
"""The most characters of a run id, an asker, a label or the name of a check."""

# DuckDB folds ASCII only. Python's casefold would take the Kelvin sign for a k and a long s for an s.
_FOLD = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_MOST_LISTED = 100
_COMPARED = 100  # similarity is quadratic in the length: look at this many characters


def quoted_name(name: str) -> str:
    """Return a name as it is written in a constraint: plain if it can be, else in double quotes.

    Whatever is printed of a constraint with names so written is read as the same constraint.
    """
    if _PLAIN_NAME.fullmatch(name) and name.lower() not in _WORDS_OF_RULES:
        return name
    return in_double_quotes(name)


def is_one_word(name: str) -> bool:
    """Return whether a constraint can have a name without quotes: one word, and no number."""
    return _ONE_WORD.fullmatch(name) is not None


def in_double_quotes(name: str) -> str:
    """Return a name as SQL takes it in quotes, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def folded(name: str) -> str:
    """Return a name's folded form: names that the database treats as equal have the same form."""
    return name.translate(_FOLD)


def close_name(wanted: str, known: Iterable[str]) -> str | None:
    """Return the known name that was likely meant, None if no known name is close."""
    beginnings = {name[:_COMPARED]: name for name in known}
    near = get_close_matches(wanted[:_COMPARED], beginnings, n=1)
    return beginnings[near[0]] if near else None


def most_similar_name(wanted: str, known: Iterable[str]) -> str:
    """Return the most similar of the known names, however far it is, ignoring case; the first of equals."""
    matcher = SequenceMatcher(b=wanted.casefold()[:_COMPARED], autojunk=False)

    def similarity(candidate: str) -> float:
        matcher.set_seq1(candidate.casefold()[:_COMPARED])
        return matcher.ratio()

    return max(known, key=similarity)


def nearest_words(wanted: object, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the nearest known name, and the known names."""
    names = list(known)
    near = close_name(str(wanted), names)
    return (f"; did you mean {_cut(near)!r}?" if near is not None else "") + f" (known: {listed_names(names)})"


def listed_names(names: Sequence[str]) -> str:
    """Return names for a message, which a stranger's file must not make longer than anybody reads."""
    more = [f"and {len(names) - _MOST_LISTED:,} more"] if len(names) > _MOST_LISTED else []
    return ", ".join([*map(_cut, names[:_MOST_LISTED]), *more])


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."


def check_name(what: str, name: object) -> None:
    """Raise `ParameterError` unless a run id, an asker or a label is a short text of printable characters."""
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= LONGEST_NAME:
        raise ParameterError(f"{what} has 1 to {LONGEST_NAME} printable characters")


def is_encodable(text: str) -> bool:
    """Return whether the text can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def printable(text: str) -> str:
    r"""Return a text whose characters that a terminal would obey or hide are written as in `\x1b`."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def in_html(text: str) -> str:
    """Return a text escaped for HTML, also in an attribute; its direction signs affect no other text."""
    from html import escape

    return escape("\n".join(map(printable, text.split("\n"))))


def breakable(text: str) -> str:
    """Return a text escaped for HTML that may be broken after its separators: a long name is not, in mid-word.

    Examples
    --------
    >>> breakable("not_null(order_id)")
    'not_<wbr>null(<wbr>order_<wbr>id)'
    """
    return _SEPARATED.sub("<wbr>", in_html(text))


def short_names(names: Iterable[str], longest: int) -> dict[str, str]:
    """Return names with what is too long of them left out in the middle, between words; in full where two are alike.

    Parameters
    ----------
    longest
        How many signs a name may have; a word that is longer is cut.
    """
    cut = {name: name if len(name) <= longest else _without_middle(name, longest) for name in names}
    said = Counter(cut.values())
    return {name: short if said[short] == 1 else name for name, short in cut.items()}


def _without_middle(name: str, longest: int) -> str:
    words, room = _PARTS.findall(name), longest - 1
    first, last = "", ""
    while words and len(first) + len(words[0]) <= room * 3 // 5:
        first += words.pop(0)
    while words and len(first) + len(words[-1]) + len(last) <= room:
        last = words.pop() + last
    if not (first and last):
        first, last = name[: room // 2], name[room // 2 - room :]
    return f"{first.rstrip()}\N{HORIZONTAL ELLIPSIS}{last.strip()}"


_SEPARATED = re.compile(r"(?<=[_./,:(-])(?=[^\W_])")
_PARTS = re.compile(r"[^_./,:(\s-]*[_./,:(\s-]+|[^_./,:(\s-]+")


def aligned(rows: Sequence[Sequence[str]], sides: str = "l") -> Iterator[str]:
    """Give a line for each row, the cells of each column below one another; `sides` is ``l`` or ``r`` for each column.

    Its last letter holds for all further columns.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, widths, sides.ljust(len(row), sides[-1]), strict=True)
        yield "  ".join(cell.rjust(width) if side == "r" else cell.ljust(width) for cell, width, side in cells).rstrip()
