r"""How all cells of a table's text are written, declared by the owner: ``* (encoding utf-16, quote none)``.

`ALL_CELLS` stands for them beside the columns of a schema, ``customers.*`` for those of a parent. Settings stand in any
order, with commas between them; what has other characters than letters, digits, points and hyphens is in quotes of SQL.

| setting | values | without it |
| --- | --- | --- |
| encoding | ``utf-8``; ``utf-16`` (with a mark at the beginning), ``utf-16le``, ``utf-16be``; ``latin-1``, \
``windows-1252``, and others of one byte a character in which ASCII is ASCII | UTF-8, or UTF-16 if a mark says so |
| delimiter | one ASCII character, ``tab`` | told by the file's name and header line |
| quote | ``none``, ``single``, ``double``, one ASCII character | ``double`` |
| escape | ``none``, ``backslash``, one ASCII character | ``none``: a quote in quotes is written twice |
| comment | the beginning of lines that are no rows | none |
| header | the number of the line that names the columns; ``none``: the schema names them, in their order | 1 |
| nulls | texts that are NULL, in columns of text, too; blanks around them do not count | an empty cell alone |

All of it is public, and says nothing of one row alone; `dpdb.sources.line_rows` and `csv_lines` have the rows.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from dpdb.errors import ParameterError
from dpdb.names import nearest_words
from dpdb.sources.cells.delimiter import parse_delimiter

ALL_CELLS = "*"
UTF_8, UTF_16 = "utf-8", "utf-16"
_WORDS = {"none": "", "single": "'", "double": '"', "backslash": "\\", "tab": "\t", "\\t": "\t"}
_PART = re.compile(r"\s*(?:'((?:[^']|'')*)'|([^\s,'()]+)|(,))")
_MOST_LINES = 1_000


@dataclass(frozen=True)
class Writing:
    """What is declared of all cells; see the module.

    Attributes
    ----------
    encoding : str
        Python's name of it; empty where nothing is declared.
    quote, escape, comment : str
        Empty for none.
    header : int
        The line that names the columns, from 1; 0 for none.
    nulls : tuple of str
        In ascending order.
    """

    encoding: str = ""
    delimiter: str | None = None
    quote: str = '"'
    escape: str = ""
    comment: str = ""
    header: int = 1
    nulls: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what is declared.

        Raises
        ------
        ParameterError
            If it is not written so, a setting is unknown or occurs twice, or a character has two meanings.
        """
        found: dict[str, Any] = {}
        for name, *values in _settings(text):
            if name not in _READ:
                raise _problem(f"there is no setting {name!r}{nearest_words(name, _READ)}")
            if name in found:
                raise _problem(f"{name} occurs twice")
            if not values or (len(values) > 1 and name != "nulls"):
                raise _problem(f"{name} has {'no value' if not values else 'several values'}")
            found[name] = tuple(sorted(set(values))) if name == "nulls" else _READ[name](values[0])
        made = cls(**found)
        made.check(made.delimiter)
        return made

    @property
    def is_of_lines(self) -> bool:
        """Whether a row is one line, because quotes are not those of `csv_lines`."""
        return self.quote != '"' or bool(self.escape)

    @property
    def is_of_csv(self) -> bool:
        """Whether it says how bytes become cells, which is said of CSV text only."""
        return any(getattr(self, each.name) != each.default for each in fields(self) if each.name != "nulls")

    def check(self, delimiter: str | None) -> None:
        """Raise `ParameterError` if one character has two meanings."""
        used = [each for each in (delimiter, self.quote, self.escape, self.comment[:1]) if each]
        if len(set(used)) < len(used):
            raise _problem("delimiter, quote, escape and the beginning of comments must be different characters")

    def state(self, delimiter: str) -> str:
        """Return all that a ledger must know of it: empty where nothing but what goes without saying is declared.

        Parameters
        ----------
        delimiter
            The one at which text is cut; where a header line names the columns, these tell it.
        """
        said = {each.name: getattr(self, each.name) for each in fields(self)} | {"delimiter": None}
        if not self.header:
            said["delimiter"] = delimiter
        if self.encoding == UTF_8:
            said["encoding"] = ""
        told = [f"{each.name} {said[each.name]!r}" for each in fields(self) if said[each.name] != each.default]
        return f"written ({', '.join(told)})" if told else ""


def split_writing(types: Mapping[str, str]) -> tuple[dict[str, str], Writing | None]:
    """Part a schema into the types of columns, and what it says of all cells; None where it says nothing."""
    others = {name: kind for name, kind in types.items() if name != ALL_CELLS}
    return others, Writing.parse(types[ALL_CELLS]) if len(others) < len(types) else None


def _problem(what: str) -> ParameterError:
    return ParameterError(f"schema, * (how all cells are written): {what}")


def _settings(text: str) -> Iterator[list[str]]:
    """Give each setting with its values."""
    if not isinstance(text, str):
        raise _problem(f"expected a text such as 'encoding windows-1252, quote none', got {text!r}")
    bare = text.strip()
    if bare.startswith("(") and bare.endswith(")"):
        bare = bare[1:-1].strip()
    words: list[str] = []
    position = 0
    while position < len(bare):
        match = _PART.match(bare, position)
        if match is None:
            raise _problem(f"cannot be read from {bare[position : position + 20]!r} on; odd characters are in quotes")
        position = match.end()
        if match[3] is None:
            words.append(match[2] if match[1] is None else match[1].replace("''", "'"))
            continue
        yield _named(words)
        words = []
    yield _named(words)


def _named(words: list[str]) -> list[str]:
    if not words:
        raise _problem("a setting is missing, as in 'encoding utf-16, quote none'")
    return [words[0].lower(), *words[1:]]


# -- values ---------------------------------------------------------------------------------------------------------


def _encoding(text: str) -> str:
    try:
        name = codecs.lookup(text.strip()).name
    except (LookupError, ValueError):
        raise _problem(f"encoding {text!r} is not known; known are utf-8, utf-16, latin-1, windows-1252, ...") from None
    name = {"utf-8-sig": UTF_8, "ascii": UTF_8}.get(name, name)
    if name not in (UTF_8, UTF_16, "utf-16-le", "utf-16-be", "iso8859-1") and not _is_of_bytes(name):
        raise _problem(
            f"encoding {text!r}: one broken character could take the line's end with it; known are UTF-8, UTF-16, and "
            "encodings of one byte a character in which ASCII is ASCII"
        )
    return name


def _is_of_bytes(name: str) -> bool:
    decoder = codecs.lookup(name).incrementaldecoder
    if decoder is None or not hasattr(sys.modules.get(decoder.__module__), "decoding_table"):
        return False
    return bytes(range(128)).decode(name, "replace") == bytes(range(128)).decode("ascii")


def _character(what: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        mark = _WORDS.get(text.lower(), text)
        if mark == "" and text:
            return mark
        if len(mark) != 1 or not mark.isascii() or mark in "\r\n\0 \t" or mark.isalnum():
            raise _problem(f"{what} {text!r}: expected none, or one ASCII character that is no letter, digit or blank")
        return mark

    return read


def _delimiter(text: str) -> str:
    return parse_delimiter(_WORDS.get(text.lower(), text))


def _comment(text: str) -> str:
    if text.lower() == "none":
        return ""
    if not text.isascii() or not text.isprintable() or not text or text[0] in ' "' or text[0].isalnum():
        raise _problem(f"comment {text!r}: expected the ASCII characters that begin such a line, such as '#'")
    return text


def _header(text: str) -> int:
    if text.lower() == "none":
        return 0
    if not re.fullmatch("[1-9][0-9]{0,3}", text) or int(text) > _MOST_LINES:
        raise _problem(f"header {text!r}: expected none, or the number of the line, from 1 to {_MOST_LINES:,}")
    return int(text)


_READ: Mapping[str, Callable[[str], Any]] = {
    "encoding": _encoding, "delimiter": _delimiter, "quote": _character("quote"), "escape": _character("escape"),
    "comment": _comment, "header": _header, "nulls": str,
}  # fmt: skip
