"""Results as a year of weekly runs would leave them; numbers are made up, names are hostile where asked."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product

import numpy as np

from dpdb.doors.jobs.results import ResultRow, Results, VerdictRow
from dpdb.release import Release
from dpdb.suites import CheckResult

START = datetime(2026, 8, 1, 4, 0, 12, tzinfo=UTC)
HOSTILE = "<script>alert('x')</script>\"'&amp;<img src=http://example.org/x onerror=alert(1)>"
RULES = (
    "not(t1.zip_code=t2.zip_code&t1.city!=t2.city)",
    "not(t1.provider_number=t2.provider_number&t1.phone_number!=t2.phone_number)",
    "not(t1.age<0)",
)


def release(measure: str = "repair", value: float = 50, **changes: object) -> Release:
    made = Release(
        measure=measure,
        estimand="fractional vertex cover tau* of the conflict graph",
        value=value,
        lower=max(0.0, value - 17),
        upper=value + 17,
        confidence=0.95,
        epsilon=0.18,
        mechanism="fractional",
        theta=None,
        noise_scale=5.5,
        where=None,
        constraints_sha256="0" * 64,
        guarantee="pure 1-differential privacy for adding or removing one row",
        release_id=f"{measure}-{value}",
        version="0",
        quantity="rows",
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def row(made: Release, week: int = 0, **changes: object) -> ResultRow:
    base = ResultRow(
        time=START + timedelta(weeks=week),
        job="visits-quality",
        run_id=f"{START + timedelta(weeks=week):%Y-%m-%d}",
        release_name="overall",
        gate_threshold=None,
        gate=None,
        constraint_texts=RULES,
        ledger_parameter="epsilon",
        ledger_budget=30.0,
        ledger_spent=1.6 * (week + 1),
        ledger_remaining=30 - 1.6 * (week + 1),
        release=made,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def year(weeks: int = 14, *, hostile: bool = False) -> Results:
    """Weekly runs: three measures of the table, a slice that gets worse and fails its gate, the number of rows."""
    rng = np.random.default_rng(5)
    rows = []
    text = HOSTILE if hostile else ""
    for week in range(weeks):
        digest = ("1" if week < weeks // 3 else "2") * 64
        base = {"constraints_sha256": digest}
        level = 40 + 3 * week if week < 9 else 140
        repair = round(level + rng.laplace(0, 5))
        conflicts = round(abs(1300 + rng.laplace(0, 400)))
        problematic = round(2 * level + rng.laplace(0, 11))
        count = 10_000 + 25 * week
        state = f"state = 'AL{text}'"
        known = 4 if week < 4 else 60
        made = [
            (release("repair", repair, **base), "overall", 100.0),
            (release("minimal_inconsistency", conflicts, lower=max(0, conflicts - 900), upper=None, noise_scale=400.0,
                     quantity="pairs of rows", mechanism="bound", theta=974, **base), "overall", None),
            (release("problematic", problematic, lower=max(0, problematic - 26), upper=None, noise_scale=11.3,
                     mechanism="marginal", theta=16, **base), "overall", 300.0 if week < 6 else 250.0),
            (release("repair", known, lower=max(0.0, known - 6), upper=known + 6, noise_scale=2.0, where=state, **base),
             "by-state", 100.0),
            (release("repair", 0, lower=0, upper=5.5, noise_scale=2.0, where="state = 'AK'", **base),
             "by-state", 100.0),
            (release("count", count + round(rng.laplace(0, 10)), lower=count - 30, upper=count + 30, noise_scale=10.0,
                     mechanism="laplace", **base), "rows", None),
        ]  # fmt: skip
        for one, name, gate in made:
            said = None if gate is None else "passed" if one.value <= gate else "failed"
            rows.append(row(one, week, release_name=name + text, gate_threshold=gate, gate=said))
    job = "visits-quality" + text
    texts = (*RULES, f"not(t1.a='{HOSTILE}')") if hostile else RULES
    return Results(tuple(replace(one, job=job, run_id=one.run_id + text, constraint_texts=texts) for one in rows))


def verdicts(days: int = 10, *, hostile: bool = False) -> tuple[VerdictRow, ...]:
    """Daily runs of four checks: one that fails from the fifth day on, a pass, an undecided one, a warning."""
    text = HOSTILE if hostile else ""
    found = []
    for day, (place, name) in product(range(days), enumerate(("zip_city", "age", "volume", "phone"), 1)):
        verdict = {"zip_city": "fail" if day >= 4 else "pass", "volume": "undecided", "phone": "fail"}.get(name, "pass")
        check = CheckResult(
            name + text, "a -> b" + text, verdict, "warn" if name == "phone" else "fail", 20, "above", "rows",  # type: ignore[arg-type]
            "violations", 31 if verdict == "fail" else None, 66, 23,
            since=f"{START + timedelta(days=4)}" if name == "zip_city" and day > 4 else None,
        )  # fmt: skip
        time = START + timedelta(days=day)
        found.append(
            VerdictRow(
                time, "visits-quality" + text, f"{time:%Y-%m-%d}" + text, "nightly" + text, place, time.date(), check,
                "a = 1" + text, 0.99, 1.0, 0.25, None, "all verdicts are pure 0.25-differentially private" + text,
            )
        )  # fmt: skip
    return tuple(found)
