r"""Text in a declared encoding, read as UTF-8 bytes: what is no text there becomes bytes that are none in UTF-8 either.

So the rule of rows is asked of UTF-8 alone, and a cell with a broken character is NULL, by itself.

    In an encoding of one byte a character every byte stands for itself: a line that is put anywhere changes no other.
    UTF-16 is pairs of bytes, and a text with an odd number of bytes is refused. One more line that can be read has an
    even number, so each pair behind it is the pair that it was; half of a pair of surrogates spoils no more than its
    cell, because the other half is no line end.
"""

from __future__ import annotations

import codecs
from typing import BinaryIO, cast

from dpdb.errors import SourceError
from dpdb.sources.cells.writing import UTF_8, UTF_16

_MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_MARK_OF_UTF_8 = codecs.BOM_UTF8


class _Decoded:
    """A stream of bytes in another encoding, read as UTF-8."""

    def __init__(self, stream: BinaryIO, encoding: str, begin: bytes, place: str) -> None:
        is_of_pairs = encoding.startswith(UTF_16)
        self._decoder = codecs.getincrementaldecoder(encoding)("surrogatepass" if is_of_pairs else "surrogateescape")
        self._stream, self._begin, self._place, self._ended = stream, begin, place, False

    def read(self, size: int) -> bytes:
        """Return some bytes, none at the end."""
        while not self._ended:
            block, self._begin = self._begin or self._stream.read(size), b""
            self._ended = not block
            try:
                text = self._decoder.decode(block, self._ended)
            except UnicodeDecodeError:
                raise SourceError(
                    f"{self._place}: is cut short or damaged: UTF-16 has an even number of bytes"
                ) from None
            if text:
                return text.encode(UTF_8, "surrogatepass")
        return b""


def decoded(stream: BinaryIO, encoding: str, place: str, *, has_header: bool) -> BinaryIO:
    """Return a stream as UTF-8, without the mark at its beginning.

    Parameters
    ----------
    has_header
        Whether the text begins with a public line. Else its first bytes are those of a row, and decide nothing unless
        the encoding is declared.
    """
    begin = stream.read(2)
    marked = _MARKS.get(begin)
    if encoding in (UTF_16, "") and marked is not None and (encoding or has_header):
        return cast(BinaryIO, _Decoded(stream, marked, b"", place))
    if encoding == UTF_16:
        raise SourceError(f"{place}: does not begin with a mark of UTF-16; declare utf-16le or utf-16be, or what it is")
    if encoding in ("", UTF_8):
        begin += stream.read(1)
        return cast(BinaryIO, _Begun(stream, begin.removeprefix(_MARK_OF_UTF_8)))
    if encoding.startswith(UTF_16) and marked is not None:
        if marked != encoding:
            raise SourceError(f"{place}: begins with the mark of {marked}, not of {encoding}")
        begin = b""
    return cast(BinaryIO, _Decoded(stream, encoding, begin, place))


class _Begun:
    """A stream of which the first bytes were read."""

    def __init__(self, stream: BinaryIO, begin: bytes) -> None:
        self._stream, self._begin = stream, begin

    def read(self, size: int) -> bytes:
        """Return some bytes, none at the end."""
        begin, self._begin = self._begin, b""
        return begin + self._stream.read(max(size - len(begin), 0))
