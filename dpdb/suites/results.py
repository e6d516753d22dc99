"""`CheckResults`: the verdicts of one run of a suite, as values, as JSON, and as a table.

The Arrow table of verdicts is one column layout for pandas, SQL and result files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, field, replace
from fractions import Fraction
from typing import Any, overload

import pyarrow as pa

from dpdb.constraints import MOST_ROWS
from dpdb.errors import ParameterError
from dpdb.release import arrow_fields
from dpdb.suites.counted import CheckedLimit
from dpdb.suites.mechanism.bounds import Verdict
from dpdb.suites.numbers import CappedCount
from dpdb.suites.result import COVER, CheckResult, certainty_words, checks_html, cost_words, counts_words


@dataclass(eq=False, repr=False)
class CheckResults(Sequence[CheckResult]):
    """The verdicts of one run, in the order of the suite's file.

    Attributes
    ----------
    checks : tuple of CheckResult
    confidence : float
        That no check within its limit failed (or, where passes are certain, that none above it passed), all together;
        with twice the doubt, all bounds hold besides.
    epsilon_reserved, epsilon : float
        What was debited at first, and what stays debited; None where it is rho.
    run_id : str
    name : str or None
        The name under which the suite is kept.
    certain : str
        Which verdict is certain: ``fail`` or ``pass``.
    below : str
        The same of checks that fail below their limits: ``pass``, and in verdicts of older versions ``fail``.
    now : str or None
        The moment by which rows are new or old, in UTC, where a check asks for that.
    run, runs : int or None
        Of a kept suite, which run this was and how many were planned: after those only passes are as sure as before.
    capped : tuple of CappedCount
        What a unit counted in, where checks have numbers.
    rho_reserved, rho : float or None
        The same as `epsilon_reserved` and `epsilon`, of a zcdp ledger.
    """

    checks: tuple[CheckResult, ...]
    _: KW_ONLY
    confidence: float
    epsilon_reserved: float | None
    epsilon: float | None
    run_id: str
    name: str | None = field(default=None, metadata={"column": "suite"})
    run: int | None = None
    runs: int | None = None
    certain: str = "fail"
    below: str = "fail"
    now: str | None = None
    guarantee: str = ""
    capped: tuple[CappedCount, ...] = ()
    rho_reserved: float | None = None
    rho: float | None = None

    @overload
    def __getitem__(self, place: int) -> CheckResult: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[CheckResult, ...]: ...
    def __getitem__(self, place: int | slice) -> CheckResult | tuple[CheckResult, ...]:
        return self.checks[place]

    def __len__(self) -> int:
        return len(self.checks)

    @property
    def exit_code(self) -> int:
        """0 if every `fail` check passed, 1 if one failed, 5 if none failed and one is not shown or undecided."""
        errors = {check.verdict for check in self.checks if check.severity == "fail"}
        return 1 if "fail" in errors else 0 if errors <= {"pass"} else 5

    def asked_within(self, rows: float | None) -> CheckResults:
        """Return the verdicts as they are where a pass may be beyond its limit by so many rows; None: as they are.

        It only changes what is said: nothing is drawn, and nothing else is known.

        Raises
        ------
        ParameterError
            If it is no number of at least 0.
        """
        if rows is None:
            return self
        return replace(self, checks=tuple(check.asked_within(checked_within(rows)) for check in self.checks))

    def before(self, schema: tuple[CheckResult, ...]) -> CheckResults:
        """Return the verdicts and those of the columns behind them, which are public: places are those of the plan."""
        return replace(self, checks=(*self.checks, *schema)) if schema else self

    @property
    def certainty(self) -> str:
        """What holds with which confidence, in words."""
        return certainty_words(self.to_dict())

    def count(self, verdict: object) -> int:
        """Return how many checks have a verdict."""
        return sum(check.verdict == verdict for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Return the verdicts as one JSON object."""
        return {
            "checks": [check.to_dict() for check in self.checks],
            **{
                name: getattr(self, name) for name in ("confidence", "certain", "epsilon_reserved", "epsilon", "run_id")
            },
            **({} if self.name is None else {"suite": self.name, "run": self.run, "runs": self.runs}),
            **({} if self.rho is None else {"rho_reserved": self.rho_reserved, "rho": self.rho}),
            **({} if self.below == "fail" else {"below": self.below}),
            **({} if self.now is None else {"now": self.now}),
            **({"capped": [asdict(each) for each in self.capped]} if self.capped else {}),
            "guarantee": self.guarantee,
        }

    def to_json(self) -> str:
        """Return the verdicts as JSON text, as a ledger keeps them."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> CheckResults:
        """Return verdicts from `to_dict`."""
        of_run = {name: value for name, value in found.items() if name in cls.__dataclass_fields__}
        checks = tuple(CheckResult(**check) for check in found["checks"])
        capped = tuple(CappedCount(**each) for each in found.get("capped", ()))
        return cls(**of_run | {"checks": checks, "name": found.get("suite"), "capped": capped})

    def to_arrow(self) -> pa.Table:
        """Return one row per check, in the columns of `dpdb.suites.CHECK_SCHEMA`."""
        of_run = self.to_dict()
        return pa.Table.from_pylist([of_run | check for check in of_run["checks"]], schema=CHECK_SCHEMA)

    def to_pandas(self) -> Any:
        """Return one row per check, as a pandas data frame."""
        return self.to_arrow().to_pandas()

    def _repr_html_(self) -> str:
        return checks_html(self.to_dict())

    def __repr__(self) -> str:
        return f"<dpdb.CheckResults: {counts_words(self)}; {cost_words(self.to_dict())}>"


def checked_within(rows: float) -> float:
    """Return a number of rows that a pass may be beyond its limit; `ParameterError` if it is none."""
    if isinstance(rows, bool) or not isinstance(rows, (int, float)) or not 0 <= rows <= MOST_ROWS:
        raise ParameterError(f"within is a number of rows of at least 0, got {rows!r}")
    return rows


def public_results(schema: tuple[CheckResult, ...]) -> CheckResults:
    """Return the verdicts of a suite whose checks are all of the columns: nothing is asked of the rows."""
    return CheckResults(
        schema,
        confidence=1.0,
        epsilon_reserved=0.0,
        epsilon=0.0,
        run_id="schema",
        guarantee="what is shown says nothing of the rows: names and types of columns are public",
    )


def recorded_results(answer: str) -> CheckResults | None:
    """Return the verdicts that a ledger has recorded as the answer of a run; None if it is no answer of `run_check`."""
    found = json.loads(answer)
    if not isinstance(found, dict) or "checks" not in found:
        return None
    try:
        return CheckResults.from_dict(found)
    except (KeyError, TypeError):
        return None


def result_of(
    checked: CheckedLimit, rule: str, statistic: str, verdict: Verdict, *, since: str | None, key: str | None
) -> CheckResult:
    """Return the published verdict of a limit; a pass is held to the bound that a suite aims at (`Verdict.aim`)."""
    found = CheckResult(
        name=checked.tested.name,
        rule=rule,
        verdict=verdict.verdict,
        severity=checked.limit.severity,
        limit=_plain(checked.limit.amount),
        direction=checked.limit.direction,
        unit=checked.limit.unit,
        statistic=COVER if checked.tested.halves else statistic,
        lower=None if verdict.lower is None else _plain(verdict.lower),
        upper=None if verdict.upper is None else _plain(verdict.upper),
        level=verdict.level,
        since=since,
        key=key,
        population=checked.population,
        within=None if verdict.within is None else _plain(verdict.within),
        asked=_plain(verdict.aim),
        number=None if verdict.number is None else _plain(verdict.number),
    )
    return found.asked_within(_plain(verdict.aim))


def _plain(number: Fraction) -> float:
    return int(number) if number.denominator == 1 else float(number)


# What each check has of its own, then what holds for all of a run.
CHECK_SCHEMA = pa.schema(
    [
        *arrow_fields(CheckResult),
        *arrow_fields(
            CheckResults,
            "confidence",
            "epsilon",
            "epsilon_reserved",
            "name",
            "run",
            "runs",
            "run_id",
            "guarantee",
            "rho",
            "rho_reserved",
        ),
    ]
)
