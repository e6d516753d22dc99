"""The fields of a release: as a value, as columns of a table, and in words.

`ReleaseFields` are the fields of one noisy answer. As an Arrow table they have the one column layout of every surface
(SQL results, result tables, reports).

The words are the one voice: the command line, gates, reports, notebooks and `str(release)` all speak through here; what
a measure means is said by its `Words` (`dpdb.measures.registry`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any, NamedTuple

import pyarrow as pa

from dpdb.measures import Words, counted
from dpdb.names import aligned

SHARE = "share of rows"  # the `quantity` of a rate
PER_ROW = "bits per row"
VERDICT = "verdict"
KEYS = "keys"  # of two tables; their `constraint` is a compared column


@dataclass(frozen=True)
class ReleaseFields:
    """The fields of a `Release`: all that is published, and nothing else.

    Attributes
    ----------
    measure : str
        A name of `dpdb.measures.measure_names`, or ``"count"``.
    estimand : str
        What `value` estimates; it is not always the measure itself.
    value : float
        The noisy answer, never below 0.
    lower, upper : float or None
        With probability at least `confidence`, over the noise, what is measured lies between them: the estimand, and
        of `repair` by a cover the fewest rows to delete (`fractional`: from tau* to 2 tau*, so `upper` is twice the
        upper end of tau*). `upper` is None where no valid upper bound exists.
    epsilon : float or None
        Privacy cost of this release; None if it is paid in rho.
    theta : int or None
        Projection threshold, itself released privately.
    noise_scale : float
        Scale of the Laplace noise, or of the Gaussian noise its standard deviation, in units of `value`.
    where : str or None
        The slice, as a predicate.
    constraints_sha256 : str
        Digest of the distinct constraints, in order.
    guarantee : str
        The privacy guarantee in words.
    release_id : str
        Random, from the operating system.
    version : str
        Version of dpdb.
    quantity : str
        What `value` counts: ``"pairs of rows"``, ``"rows"``, ``"share of rows"``, ``"bits"``, ``"bits per row"``, or
        ``"verdict"``, or of two tables ``"keys"``.
    constraint : str or None
        The one constraint that is measured, in a breakdown; None if all of the session's constraints are. Of keys that
        differ (``"differ"``) the one column that is compared.
    rho : float or None
        Privacy cost of a release that is zCDP and not pure.
    upper_reason : str or None
        Why `upper` is None; None if there is an upper bound.
    raw : float or None
        `value` before it was clamped; None in releases of older versions, which did not keep it.
    estimate_lower, estimate_upper : float or None
        With probability at least `confidence` they hold what `value` estimates *at this theta* between them, whatever
        part of the measure theta leaves out; see `dpdb.measures.mechanism`.
    estimate_reason : str or None
        Why there is no such interval.
    unit : str or None
        What neighbouring tables differ by, in words; None in releases of older versions.
    theta_from : str or None
        Where a theta comes from that this release did not choose: given, or kept from an earlier release.
    handicaps : int or None
        How many handicaps the noise of a `ladder` has that published one of several numbers; None for other noise.
    draw_share : float or None
        The part of 1 - confidence that falls to this number, of all that might have been published instead.
    theta_limits : bool or None
        Whether released numbers show that theta may have left much out; None where there is no theta or they cannot
        tell. See `dpdb.measures.mechanism`.
    constraint_text : str or None
        `constraint` as it was written, for readers; no two releases are told apart by it.
    population : str or None
        The rows that the number is of, in words, where a limit of rows of a unit leaves some out; None for all rows,
        and in releases of older versions, whose `estimand` says it.
    most_deletions : float or None
        Of the verdict 0 of ``"drastic"``: at most so many rows have to be deleted before the table is consistent.
    """

    measure: str
    estimand: str
    value: float
    lower: float
    upper: float | None
    confidence: float
    epsilon: float | None
    mechanism: str
    theta: int | None
    noise_scale: float
    where: str | None
    constraints_sha256: str
    guarantee: str
    release_id: str
    version: str
    quantity: str
    constraint: str | None = None
    rho: float | None = None
    upper_reason: str | None = None
    raw: float | None = None
    estimate_lower: float | None = None
    estimate_upper: float | None = None
    estimate_reason: str | None = None
    unit: str | None = None
    theta_from: str | None = None
    handicaps: int | None = None
    draw_share: float | None = None
    theta_limits: bool | None = None
    constraint_text: str | None = None
    population: str | None = None
    most_deletions: float | None = None

    def __post_init__(self) -> None:
        """Read `upper` of older versions, where it was the upper end of tau*, as twice that."""
        if (self.measure, self.mechanism) != ("repair", "fractional") or self.upper is None:
            return
        if self.estimate_upper is None:
            object.__setattr__(self, "estimate_lower", self.lower)
            object.__setattr__(self, "estimate_upper", self.upper)
        if self.upper == self.estimate_upper:
            object.__setattr__(self, "upper", min(1, 2 * self.upper) if self.quantity == SHARE else 2 * self.upper)

    @property
    def shown_constraint(self) -> str | None:
        """The constraint for readers: as it was written, but for releases of older versions."""
        return self.constraint_text or self.constraint

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        return asdict(self)


_COLUMN_TYPES = {
    "str": pa.string(), "float": pa.float64(), "int": pa.int64(), "bool": pa.bool_(), "Literal": pa.string(),
    "tuple": pa.list_(pa.string()), "date": pa.date32(), "datetime": pa.timestamp("us", tz="UTC"),
}  # fmt: skip


def arrow_fields(kind: Any, *names: str, **inner: Iterable[pa.Field]) -> Iterator[pa.Field]:
    """Give the columns of a table whose rows are values of a dataclass: one per field, NULL where that may be None.

    Parameters
    ----------
    kind
        The dataclass. The metadata of a field may name its `column`; else the column is called as the field.
    *names
        Some fields, in the order of their columns; all of them without names.
    **inner
        The columns that stand for a field that is a value itself.
    """
    known = {field.name: field for field in fields(kind)}
    for name in names or known:
        if name in inner:
            yield from inner[name]
            continue
        text = str(known[name].type)
        column_type = _COLUMN_TYPES[text.removesuffix(" | None").partition("[")[0]]
        nullable = text.endswith("None") or pa.types.is_list(column_type)
        yield pa.field(known[name].metadata.get("column", name), column_type, nullable=nullable)


# One column per field of `Release`, in its order.
RELEASE_SCHEMA = pa.schema(arrow_fields(ReleaseFields))


def release_table(releases: Iterable[ReleaseFields]) -> pa.Table:
    """Return the releases as rows of `RELEASE_SCHEMA`, in order. Costs nothing: releases are public."""
    return pa.Table.from_pylist([release.to_dict() for release in releases], schema=RELEASE_SCHEMA)


_HEAD = ("value", "at least", "at most", "noise scale", "constraint")  # columns of a breakdown's table

_FEW_DIGITS = 1e-4  # below it three decimals of a percentage would show fewer than two digits
_ALL_DIGITS = 1e15  # beyond it a float does not hold every whole number


def number_words(number: float, quantity: str | None) -> str:
    """Write a number of some quantity.

    Examples
    --------
    >>> number_words(1230, "rows"), number_words(12.5, "rows"), number_words(0.012346, "share of rows")
    ('1,230', '12.5', '1.235%')
    """
    if quantity == SHARE:
        return f"{number:.3%}" if number == 0 or abs(number) >= _FEW_DIGITS else f"{number * 100:.3g}%"
    if abs(number) >= _ALL_DIGITS:
        return f"{number:.4g}"
    return f"{int(number):,}" if number == int(number) else f"{number:,.10g}"


def value_words(release: ReleaseFields) -> str:
    """Write the value of a release."""
    return number_words(release.value, release.quantity)


def noise_words(release: ReleaseFields) -> str:
    """Write the noise scale of a release, in the units of its value."""
    scale = release.noise_scale
    return number_words(scale, SHARE) if release.quantity == SHARE else f"{scale:.4g}"


def sentence(words: str) -> str:
    """Write words as a sentence."""
    return f"{words[0].upper()}{words[1:]}."


def sure_words(confidence: float) -> str:
    """Write a confidence, never rounded up to certainty: ``95% sure``."""
    return f"{confidence * 100:.6g}% sure"


def verdict_words(release: ReleaseFields) -> str | None:
    """Write a verdict in place of bounds; None if the value is a number."""
    if release.quantity != VERDICT:
        return None
    verdicts = words_of(release).verdicts
    assert verdicts is not None, "a verdict has words"
    return verdicts[release.value > 0].format(most=number_words(release.most_deletions or 0, "rows"))


def alone_words(releases: Sequence[ReleaseFields]) -> str:
    """Say of several verdicts that each is by itself; empty for one alone, and for numbers."""
    verdicts = [release for release in releases if release.quantity == VERDICT]
    if len(verdicts) < 2:
        return ""
    each = f"each of the {len(verdicts):,} verdicts is by itself {sure_words(verdicts[0].confidence)}"
    return f"{each}; that all are true at once is less sure"


def bounds_words(release: ReleaseFields) -> str:
    """Write the interval, an open side of which is said, not left out; or the verdict."""
    verdict = verdict_words(release)
    if verdict is not None:
        return f"{verdict} ({sure_words(release.confidence)})"
    upper = "no upper bound" if release.upper is None else f"at most {number_words(release.upper, release.quantity)}"
    return f"at least {number_words(release.lower, release.quantity)}, {upper} ({sure_words(release.confidence)})"


def cost_words(release: ReleaseFields) -> str:
    """Write the cost of a release, with its parameter."""
    if release.epsilon == 0:
        return "nothing more: one number with the release before it"
    return f"epsilon {release.epsilon:g}" if release.epsilon is not None else f"rho {release.rho:g}"


def slice_words(release: ReleaseFields) -> str:
    """Write the predicate of the slice."""
    return release.where or "whole table"


_CUT = ", using at most "  # in estimands


def population_of(release: ReleaseFields) -> str | None:
    """Return the rows that a release is of, in words; None for all rows.

    Releases of older versions say it in their estimand, as `dpdb.release.privacy_unit.PrivacyUnit.estimand` adds it.
    """
    _, cut, most = release.estimand.partition(_CUT)
    return release.population or (f"rows used, at most {most}" if cut else None)


def population_words(population: str | None) -> list[str]:
    """Return the sentence that says of which rows some numbers are; none if they are of all."""
    return [] if population is None else [f"All numbers are of {population}."]


def quantity_words(release: ReleaseFields) -> str:
    """Write what a release counts: `rows`, or `rows used` where it is not of all rows."""
    return release.quantity if population_of(release) is None else f"{release.quantity} used"


def measured_words(release: ReleaseFields, *, constraint: bool = True, population: bool = True) -> str:
    """Name the measure, the constraint if one alone was measured, the rows if they are not all, and the slice."""
    beside = "in" if release.quantity == KEYS else "of"
    of_constraint = f" {beside} {release.shown_constraint}" if constraint and release.constraint else ""
    rows = population_of(release) if population else None
    of_rows = "" if rows is None else f" of {rows}"
    where = f" where {release.where}" if release.where else ""
    return f"{release.measure}{of_constraint}{of_rows}{where}"


def words_of(release: ReleaseFields) -> Words:
    """Return the words for a release's estimand; for a measure of a later version, from the release itself."""
    known = counted(release.measure)
    if known is None:
        heading = release.measure.replace("_", " ").capitalize()
        return Words(heading=heading, counted=release.estimand, short=release.quantity, meaning="about {value}")
    return known.words_of(release.mechanism).among(population_of(release))


# An `Enough` number has so many noise scales. The noise scale is in inverse proportion to epsilon (rho: to its root),
# and from so many on `dpdb.measures.estimate.theta_limits` announces nothing.
_ENOUGH = 25
# Where the mechanism chooses theta it takes a larger one with more epsilon, and then a number needs more to stand out.
# At thrice the epsilon of `_ENOUGH` .97 of 150 advices did, for both counts of the bundled table, where .67
# and .92 did at once; on three tables of other shapes .90 to 1.00 of 60.
_THETA_IS_CHOSEN = 3
# A value that its theta may have cut off is taken for too noisy below so many noise scales. A mechanism that chooses
# theta takes a larger one where the value is above 10 to 14 scales, so smaller values may be cut. The number itself was
# chosen on 40 draws each of the bundled table, and of no other. There values of 16 scales or more were within a fifth
# of the truth in nine of ten draws, smaller ones in none to two of three. So it is a rule of thumb, which flags some
# good values, too; `tests/release/test_release_too_noisy.py` draws such values again.
_CUT_SCALES = 16
_TWO_DIGITS = Context(prec=2, rounding=ROUND_CEILING)
_EXACT = 0.5  # rows: noise below it rounds to nothing


class Enough(NamedTuple):
    """A cost that might do: `amount` of `parameter` (None where the release had none of its own), from `size` on."""

    parameter: str
    amount: Decimal | None
    size: float


def enough(release: ReleaseFields) -> Enough | None:
    """Return what might do for a number that is too noisy; None for one that is not. Reads what is published alone.

    With bounds on both sides a number is too noisy if it is below its noise scale: they say how little is known of it.
    Without an upper bound it is so if zero is in the interval at theta, or theta may cut it off and it is below
    `_CUT_SCALES` noise scales. A count whose noise rounds to nothing is exact, and never too noisy; nor is a verdict,
    nor a number of keys, of which none is what one hopes for.

    The cost that might do is that at which a number of this size is `_ENOUGH` noise scales, or thrice as much where
    theta is chosen. The size is that of the
    value, or, where that is less, what the noise may hide: of smaller numbers, or of none, nothing is said. Nor is it
    certain for larger ones: what theta has cut off may need more (`tests/release/test_release_too_noisy.py`).
    """
    scale, value, tail = release.noise_scale, release.value, _tail(release)
    is_share = release.quantity in (SHARE, PER_ROW)
    if release.quantity in (VERDICT, KEYS) or tail <= 0 or (tail < _EXACT and not is_share):
        return None
    if release.upper is not None:
        is_noisy = value < scale
    else:
        may_be_cut = release.theta_limits is True and release.theta_from is None
        is_noisy = value < tail or (may_be_cut and value < _CUT_SCALES * scale)
    if not is_noisy:
        return None
    size = min(1.0, max(value, tail)) if is_share else max(value, tail)
    is_chosen = release.theta is not None and release.theta_from is None
    times = _ENOUGH * (_THETA_IS_CHOSEN if is_chosen else 1) * scale / size
    if release.epsilon is None:
        paid, parameter, times = release.rho, "rho", times**2
    else:
        paid, parameter = release.epsilon, "epsilon"
    amount = _TWO_DIGITS.create_decimal_from_float(paid * times).normalize() if paid else None
    return Enough(parameter, amount, size if is_share else math.ceil(size))


def _tail(release: ReleaseFields) -> float:
    """Return how far the value may lie above what it estimates, with the release's confidence."""
    if release.estimate_upper is not None and release.raw is not None:
        return release.estimate_upper - release.raw
    return release.noise_scale * max(1.0, -math.log(1 - release.confidence))


def too_noisy_words(release: ReleaseFields) -> str:
    """Say that a number is too noisy, with what might do; empty for one that is not."""
    found = enough(release)
    if found is None:
        return ""
    would_do = "" if found.amount is None else f" ({found.amount:f} might do)"
    return f"too noisy at this {found.parameter}{would_do}"


def would_do_words(release: ReleaseFields) -> str:
    """Say under which condition the cost might do; empty where nothing is too noisy, or nothing can be said."""
    found = enough(release)
    if found is None or found.amount is None:
        return ""
    size = number_words(found.size, release.quantity)
    return f"{found.parameter} {found.amount:f} for this number alone might do, if it is {size} or more"


def noisy_meaning(release: ReleaseFields) -> str:
    """Say in place of a meaning that a number is too noisy, and what might do when; empty for one that is not."""
    needed = enough(release)
    if needed is None:
        return ""
    rows = population_of(release)
    noisy = f"too noisy at this {needed.parameter}" + ("" if rows is None else f" ({rows})")
    return "; ".join(filter(None, [noisy, would_do_words(release)]))


def promise_words(guarantee: str) -> str:
    """Return a guarantee without the list of what it covers, which is everything that is released."""
    return guarantee.partition("; covers ")[0]


def missing_words(release: ReleaseFields) -> str:
    """Announce that conflicts may be missing from the value, as `limits_words` does, without a theta."""
    if not release.theta_limits:
        return ""
    remedy = "more epsilon may show them"
    if release.theta_from is not None:
        remedy = "leave the theta out, or give a larger one"
    return f"many conflicts of few rows may be missing: {remedy}"


def limits_words(release: ReleaseFields) -> str:
    """Announce that theta may have left much out; empty where released numbers do not show it."""
    if not release.theta_limits or release.theta is None:
        return ""
    otherwise = "more epsilon" if release.theta_from is None else "let it be chosen anew"
    return (
        f"theta = {release.theta:,} may be cutting conflicts off: the true number may be larger; "
        f"ask with a larger theta or {otherwise}"
    )


def release_words(release: ReleaseFields) -> str:
    """Write the meaning of one release, with its bounds, cost and noise."""
    of_rows = f" of {quantity_words(release).removeprefix('share of ')}" if release.quantity == SHARE else ""
    lines = [
        f"{measured_words(release)} = {value_words(release)}{of_rows}",
        f"  meaning   {_meaning(release)}",
        f"  bounds    {bounds_words(release)}",
        f"  estimates {release.estimand}",
        f"  cost      {cost_words(release)} ({release.mechanism}, noise scale {noise_words(release)})",
    ]
    if release.upper_reason is not None:
        lines.insert(3, f"  no upper  {release.upper_reason}")
    if release.theta is not None:
        lines.insert(-1, f"  theta     {theta_words(release)}")
    if limits := limits_words(release):
        lines.insert(2, f"  warning   {limits}")
    return "\n".join(lines)


def releases_words(releases: Sequence[ReleaseFields]) -> str:
    """Write the meaning of the releases of one call (at least one), their guarantee once, and a breakdown as tables."""
    broken_down = releases[0].constraint is not None and releases[0].quantity != KEYS
    said = breakdown_words(releases) if broken_down else "\n".join(map(release_words, releases))
    alone = alone_words(releases)
    note = f"\n{sentence(alone)}" if alone else ""
    return f"{said}{note}\nGuarantee: {releases[0].guarantee}."


def breakdown_words(releases: Sequence[ReleaseFields]) -> str:
    """Return a table per measure and slice, in the order in which their first releases come; a row per constraint."""
    tables: dict[str, list[ReleaseFields]] = {}
    for release in releases:
        tables.setdefault(measured_words(release, constraint=False), []).append(release)
    return "\n".join(_table(name, rows) for name, rows in tables.items())


def _table(name: str, releases: Sequence[ReleaseFields]) -> str:
    first = releases[0]
    rows = [_HEAD, *map(_row, releases)]
    quantities = " or ".join(dict.fromkeys(map(quantity_words, releases)))
    lines = [f"{name}, {quantities}, by constraint (each bound {sure_words(first.confidence)})"]
    lines += [f"  {line}" for line in aligned(rows, "rrrrl")]
    reasons = dict.fromkeys(release.upper_reason for release in releases if release.upper_reason)
    lines += [f"  no upper bound: {reason}" for reason in reasons]
    lines += [f"  {one.shown_constraint}: {said}" for one in releases if (said := verdict_words(one))]
    warned = [one for one in releases if one.theta_limits]
    return "\n".join([*lines, *(f"  warning for {one.shown_constraint}: {limits_words(one)}" for one in warned)])


def _row(release: ReleaseFields) -> tuple[str, ...]:
    upper = "-" if release.upper is None else number_words(release.upper, release.quantity)
    lower = number_words(release.lower, release.quantity)
    constraint = release.shown_constraint
    assert constraint is not None, "a breakdown names its constraints"
    return value_words(release), lower, upper, noise_words(release), constraint


def _meaning(release: ReleaseFields) -> str:
    if noisy := noisy_meaning(release):
        return noisy
    words = words_of(release)
    of_rate = release.quantity in (SHARE, PER_ROW) and words.of_rate is not None
    return str(words.of_rate if of_rate else words.meaning).format(value=value_words(release))


def theta_words(release: ReleaseFields) -> str:
    """Write theta, its source, the interval of the statistic at theta, and why an interval is missing."""
    if release.theta is None:
        return ""
    from_where = "" if release.theta_from is None else f" ({release.theta_from})"
    words = f"{release.theta:,}{from_where}"
    if release.estimate_lower is not None and release.estimate_upper is not None:
        low, high = (number_words(end, release.quantity) for end in (release.estimate_lower, release.estimate_upper))
        what = "share" if release.quantity == SHARE else "count"
        words += f"; at this theta the {what} lies between {low} and {high} ({sure_words(release.confidence)})"
    elif release.estimate_reason is not None:
        words += f"; no interval at this theta: {release.estimate_reason}"
    return words if release.theta_limits is not None else f"{words}; {_untold(release)}"


def _untold(release: ReleaseFields) -> str:
    chosen = release.theta_from is None
    why = (
        "the bound of conflicts per row is too noisy" if chosen else "no bound of conflicts per row is released with it"
    )
    return f"whether it cuts conflicts off cannot be told: {why}"
