"""Every threshold that code compares a private number with, to choose between two ways of the same work.

Such a choice is a boundary: one row may cross it. So both ways must give the same statistics, and show the same steps.
Each entry names the compared number, the two ways, and why they agree; code reads its thresholds from here, and
`tests/release/test_release_thresholds.py` moves each to both of its ends over random rules and rows, and compares with
a self-join written apart.

A choice by an exact fact of the graph, without a threshold (a theta that no degree exceeds projects no edge away; W of
a larger theta is never smaller), needs no entry. Nor does a comparison of public numbers alone, nor the size of the
pieces of the same work (`dpdb.graph.steps.WORK` and the like): no piece is shown as a step, and the same test makes
them small.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Threshold:
    """A number that a private number is compared with.

    Parameters
    ----------
    at
        Where the way changes. Measured or chosen; only tests change it.
    below, above
        The way up to it, and the way beyond it.
    agree
        Why both give the same.
    least, most
        The ends to which it can be moved; the greatest stands for infinity.
    """

    at: float
    of: str
    below: str
    above: str
    agree: str
    least: float = 0
    most: float = 1e18

    @property
    def words(self) -> str:
        """Both ways, and where the way changes."""
        return f"{self.of}: up to {self.at:,}, {self.below}; beyond, {self.above}"


# -- how a conflict graph is held ----------------------------------------------------------------------------------

MOST_LISTED = Threshold(
    25_000_000,
    of="edges of constraints without blocks, beside constraints with blocks",
    below="these edges are listed in memory, 70 bytes each",
    above="all edges are listed in the database, which spills to disk",
    agree="each pair counts once, at the first constraint that it violates; both are scanned in the canonical order",
)

# -- how rows are coded, sorted and grouped ------------------------------------------------------------------------

FEW_ROWS = Threshold(
    50_000,
    of="rows of a slice",
    below="many columns are coded in one query, by sorting all their values: so few are one query sooner",
    above="each column is coded by itself, from its distinct values: less memory, and less to sort",
    agree="a code is the rank of a value among the distinct values of its column",
)

FEW_TEXTS = Threshold(
    50_000,
    of="rows of a table whose columns can be read one by one",
    below="texts are copied with the other values",
    above="hashes of texts that are only compared within their column are copied, and codes found by them",
    agree="rows are ordered by the hash of their values, and a code is the rank of a value among the distinct values",
)

SHARED_HASHES = Threshold(
    0,
    of="distinct texts of a column whose hash another text of it has",
    below="a text's code is found by its hash",
    above="texts are copied, and a text's code is found by its value",
    agree="without such texts a hash stands for one text",
    least=-1,
    most=0,
)

SHORT_CODES = Threshold(
    2**15,
    of="distinct values of a column of many rows",
    below="its codes are kept in two bytes each",
    above="its codes are kept in four bytes each",
    agree="they are the same numbers, and are read in four bytes",
    most=2**15,
)

HASH_BITS = Threshold(
    64,
    of="bits that the places of the rows leave for their hashes, in the integers that are sorted",
    below="rows are sorted by all of them",
    above="rows are sorted by so many",
    agree="what agrees in them is sorted again by the whole hash, the codes and the place, whatever they are",
    most=64,
)

SORTED_BITS = Threshold(
    63,
    of="bits of several keys and a place together",
    below="keys are sorted by one sort of integers",
    above="keys are sorted in several turns, the last key in the last turn",
    agree="every turn is stable",
    most=63,
)

# -- rows of other tables -------------------------------------------------------------------------------------------

REPEATED_PARENTS = Threshold(
    4,
    of="different rows that a parent has of one key, where a rule compares them with the measured row",
    below="each of them is joined to the measured row, by its place among them",
    above="the measured rows are copied, and an EXISTS of each rule looks for its row",
    agree="a row violates if some row of its key does what the rule says (`dpdb.engine.parents.by_key`)",
)

# -- class histograms ----------------------------------------------------------------------------------------------

MOST_HASHES = Threshold(
    2**26,
    of="rows whose keys are counted by their hashes, in our own database",
    below="hashes are sorted in memory, half a gigabyte",
    above="rows are grouped by their values in the database, which spills to disk",
    agree="a row whose hash no other row has is alone in its group; all others are grouped by their values",
)

MOST_SHARED = Threshold(
    2**21,
    of="hashes that several rows of a remote table share",
    below="these come here, 32 megabytes at most, and only their rows are grouped by value",
    above="all rows are grouped by value there",
    agree="as MOST_HASHES",
)

HASHES_PER_SHARED = Threshold(
    16,
    of="distinct hashes of keys, or of groups, for each one that several rows, or classes, share",
    below="all rows are grouped by value, of forms that are alike one form after the other: the shorter way then",
    above="only rows whose hash is shared are grouped by value",
    agree="as MOST_HASHES, and a group whose hash one class has holds no conflict (`dpdb.engine.alike`)",
)

SMALL_SQUARES = Threshold(
    2**30,
    of="rows of a class histogram",
    below="sums of squares are computed in 63 bits",
    above="they are computed in integers of any size",
    agree="no sum exceeds 63 bits up to there",
    most=2**30,
)

# -- statistics of block graphs ------------------------------------------------------------------------------------

SUM_IN_PAIRS = Threshold(
    20,
    of="pairs per row for each sum by which degrees could be counted: so many are looked at in the same time",
    below="degrees are counted from the pairs of minority rows",
    above="degrees are counted by sums over sets of constraints, by inclusion and exclusion",
    agree="both are the exact degrees",
)

COUNTED_WORK = Threshold(
    1,
    of="edges that a projection may keep, for each pair of special rows and the like",
    below="the projection is scanned",
    above="edges with plain rows are counted, and special rows alone are visited",
    agree="a plain row whose degree theta does not reach keeps all its edges that the other end keeps",
)

COVERED_SHARE = Threshold(
    0.5,
    of="share of the rows in conflict that are in the minority cover",
    below="2 tau* is a matching that starts from the cover and grows along lists (unless LOOKS_PER_ROW says otherwise)",
    above="2 tau* is a matching over ranges of places",
    agree="both end where no augmenting path is left: the matching is a maximum one (Berge 1957)",
)

LOOKS_PER_ROW = Threshold(
    128,
    of="looks per row at rows without conflict, in searches along lists",
    below="as COVERED_SHARE",
    above="as COVERED_SHARE",
    agree="as COVERED_SHARE",
)

# -- programs and remote tables ------------------------------------------------------------------------------------

SMALL_PROGRAM = Threshold(
    20_000,
    of="variables of a linear or integer program",
    below="it gets a moment in this process first",
    above="a process of its own solves it",
    agree="a solution counts only if it is proved optimal in integers",
)

THINNED_ROUNDS = Threshold(
    2,
    of="rounds in which a part of a remote table's rows in conflict did not prove 2 tau*",
    below="a larger part comes",
    above="all rows in conflict come",
    agree="a value of some rows counts only if it is certified to be that of all (`dpdb.graph.blocks.thinned`)",
    most=2,
)

WHOLE_VALUES = Threshold(
    16,
    of="equal rows on the chain of an order rule in a remote table",
    below="all of them come, or none",
    above="a share of them comes",
    agree="as THINNED_ROUNDS: which rows come changes what is certified, never a value",
)

THRESHOLDS: dict[str, Threshold] = {name: found for name, found in globals().items() if isinstance(found, Threshold)}
"""All thresholds, by name."""
