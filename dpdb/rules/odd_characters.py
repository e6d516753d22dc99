"""Characters that nobody sees, and letters that look like others: names and values with them are not what they seem."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_WORD = re.compile(r"\w+")
_INVISIBLE = {"Cf", "Cc", "Zl", "Zp", "Co", "Cn"}
_SCRIPTS = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "FULLWIDTH LATIN")


def odd_characters(text: str) -> Iterator[str]:
    """Name the invisible characters of a text, and the letters of another script within a word."""
    for character in dict.fromkeys(text):
        if unicodedata.category(character) in _INVISIBLE and character not in "\t\n\r":
            yield f"an invisible character: {_called(character)}"
        elif unicodedata.category(character) == "Zs" and character != " ":
            yield f"a blank that is none: {_called(character)}"
    for word in dict.fromkeys(_WORD.findall(text)):
        by_script: dict[str, list[str]] = {}
        for character in word:
            script = next((name for name in _SCRIPTS if unicodedata.name(character, "").startswith(name)), None)
            if script is not None:
                by_script.setdefault(script, []).append(character)
        if len(by_script) > 1:
            most, *others = sorted(by_script, key=lambda script: -len(by_script[script]))
            yield f"{word!r} has {_called(by_script[others[0]][0])} among {most} letters"


def _called(character: str) -> str:
    return f"{unicodedata.name(character, 'a character without name')} (U+{ord(character):04X})"
