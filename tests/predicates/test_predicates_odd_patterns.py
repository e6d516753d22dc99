"""Odd regular expressions: each is refused before a row is read, or counts what the engine counts; none fails."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest
from case_share import fifth

from dpdb.errors import PredicateError
from dpdb.opening import open_local_table

TEXTS = [
    "", "a", "aa", "ab\n", "\n", "é", "É", "\u212a", "k", "K", "ß", "\u017f", "s", "S", "\u0661", "1", "\u2028",
    "a\0b", "😀", "ﬁ", "İ", "\u0131", "\ufeff", "x" * 5_000, None,
]  # fmt: skip
# Repeats at RE2's bounds and beyond, classes of Unicode, flags, signs of other dialects, and what is no expression.
PATTERNS = [
    "a{1000}", "a{1001}", "(a{100}){10}", "(a{30}){30}", "((a{10}){10}){10}", "((a{10}){10}){11}", "(\\pL{1000})",
    "(?i)k", "(?i)ß", "(?i)s", "(?i)i", "(?i:İ)", "\\pN", "\\p{Greek}", "\\p{L}", "\\PL", "[[:alpha:]]", "[[:word:]]",
    "\\d", "\\w", "\\b", "\\Bx", "(?s).", ".", "^$", "$", "\\z", "\\Z", "\\A", "(?m)^$", "\\C", "\\X", "(?P<n>a)",
    "(?<n>a)", "(?=a)", "(a)\\1", "a**", "a++", "a*+", "[z-a]", "\\x{10ffff}", "\\x{110000}", "\\u00e9", "\\Q.\\E",
    "\\x{40000}",
    "a|", "|a", "()", "(?:)", "[^\\n]", "[^a]", "x{5,2}", "x{,3}", "{", "}", "]", "\\", "[", "(", ")", "\\p{Klingon}",
    "\\pX", "(?x)a b", "(?U)a+", "\\07", "\\8", "\\0", "\\n", "(" * 300 + "a" + ")" * 300, "(?i)" + "x" * 900,
    "(x+x+)+y", "(.*)(.*)(.*)[^x]", "'", '"', ";--",
]  # fmt: skip
FORMS = {
    "s ~ '{}'": "regexp_matches(s, '{}')",
    "regexp_full_match(s, '{}')": "regexp_full_match(s, '{}')",
    "NOT (s ~ '{}')": "NOT regexp_matches(s, '{}')",
}


@pytest.mark.heavy
@pytest.mark.parametrize("form", FORMS)
def test_odd_patterns_are_refused_or_count_as_the_engine_does(form: str) -> None:
    table = pa.table({"s": pa.array(TEXTS, pa.string())})
    asked, refused = fifth(PATTERNS), 0
    with duckdb.connect() as connection, open_local_table(table) as opened:
        connection.register("t", table)
        for pattern in PATTERNS:
            written = pattern.replace("'", "''")
            try:
                [expected] = connection.execute(
                    f"SELECT count(*) FROM t WHERE {FORMS[form].format(written)}"
                ).fetchone() or [None]
            except duckdb.Error:
                refused += 1
                said = "repeats large classes" if pattern == "(\\pL{1000})" else "no regular expression"
                with pytest.raises(PredicateError, match=said):
                    opened.where(form.format(written))
                continue
            if pattern in asked:
                assert opened.count_rows([opened.where(form.format(written))]) == [expected], pattern
    assert len(PATTERNS) > 3 * refused > 30
