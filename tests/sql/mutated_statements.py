"""Statements made from those of the corpus by changing, moving, copying and mixing their words; one per seed."""

from __future__ import annotations

import random
import re

from attack_statements import ATTACKS
from legitimate_statements import CASES

__all__ = ["mutated"]

_TOKEN = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\w+(?:\.\d+)?|:=|=>|::|<=|>=|<>|!=|\|\||\s+|.", re.DOTALL)
_LONGEST = 3_000
_LEGITIMATE = [_TOKEN.findall(case.sql) for case in CASES]
_ATTACKS = [_TOKEN.findall(text) for group in ATTACKS.values() for text in group if 0 < len(text) < _LONGEST]
_WORDS = [
    *sorted({word for words in _LEGITIMATE + _ATTACKS for word in words if word.strip()}),
    "visits", "note", "pay", "NULL", "*", "--", "/*", "*/", "'", '"', "$$", "$a$", "RECURSIVE", "LATERAL", "ALL", "?",
    "$1", "0", "-1", "1e400", "1e-9", "NaN", "\x00", "\u00a0", "\u200b", "\u00e9", "\ud800", "{", "}", "..", "::INT",
    "OVER ()", "ROWS FROM (", "ARRAY[", "t JOIN ", "STRUCT(a ", "9" * 401, "9" * 5_000, "(" * 50, "by := 'state'",
    "keys := ['CA']", "where := 'age > 30'", "where := 'note = (SELECT 1)'", "epsilon := 0.5", "1/0", "'x'::INT",
    "CAST(value AS INT)", "dp_count('visits', 1)", "dp_inconsistency('visits', 'all', 1)", "answers.release_1",
    "release_1", "dp_check('nightly')",
]  # fmt: skip
_SIGNS = "'\"();-*/\\.,:$?\x00 \n0a\u00e9"


def mutated(seed: int) -> str:
    """Return one statement; most differ from a legitimate one in few places, so that many are admitted."""
    chance = random.Random(seed)
    words = list(chance.choice(_LEGITIMATE if chance.random() < 0.7 else _ATTACKS))
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 5))):
        words = words or ["SELECT"]
        _MUTATIONS[chance.randrange(len(_MUTATIONS))](chance, words, chance.randrange(len(words)))
    return "".join(words)


def _drop(chance: random.Random, words: list[str], at: int) -> None:
    del words[at : at + chance.choice((1, 1, 1, 2, 5))]


def _insert(chance: random.Random, words: list[str], at: int) -> None:
    words[at:at] = [chance.choice(_WORDS), " "]


def _replace(chance: random.Random, words: list[str], at: int) -> None:
    words[at] = chance.choice(_WORDS)


def _swap(chance: random.Random, words: list[str], at: int) -> None:
    other = chance.randrange(len(words))
    words[at], words[other] = words[other], words[at]


def _repeat(chance: random.Random, words: list[str], at: int) -> None:
    words[at:at] = words[at : at + chance.randrange(1, 20)] * chance.choice((1, 1, 1, 30))


def _mix(chance: random.Random, words: list[str], at: int) -> None:
    other = chance.choice(_LEGITIMATE + _ATTACKS)
    start = chance.randrange(len(other))
    words[at:at] = other[start : start + chance.randrange(1, 20)]


def _spoil(chance: random.Random, words: list[str], at: int) -> None:
    place = chance.randrange(len(words[at]) + 1)
    words[at] = words[at][:place] + chance.choice(_SIGNS) + words[at][place:]


def _change_case(chance: random.Random, words: list[str], at: int) -> None:
    words[at] = words[at].swapcase()


_MUTATIONS = (_drop, _insert, _replace, _swap, _repeat, _mix, _spoil, _change_case)
