"""25 everyday rules of visits to hospitals, with columns like those of OMOP's person and visit_occurrence."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa
from rule import about_pairs, about_rows

__all__ = ["RULES", "TABLE", "made_up"]

TABLE = "visits"
_OF_ONE_PERSON = "a.person_id = b.person_id"
_row, _pair = partial(about_rows, TABLE), partial(about_pairs, TABLE)

RULES = (
    _pair("visits have numbers of their own", "UNIQUE(visit_occurrence_id)",
          "a.visit_occurrence_id = b.visit_occurrence_id"),
    _row("the person is known", "NOT NULL(person_id)", "person_id IS NULL"),
    _pair("a person is born once", "birth: person_id -> year_of_birth",
          f"{_OF_ONE_PERSON} AND a.year_of_birth <> b.year_of_birth"),
    _pair("a person has one sex on record", "person_id -> gender", f"{_OF_ONE_PERSON} AND a.gender <> b.gender"),
    _pair("a person dies once", "person_id -> death_date", f"{_OF_ONE_PERSON} AND a.death_date <> b.death_date"),
    _pair("a care site is at one place", "care_site_id -> zip", "a.care_site_id = b.care_site_id AND a.zip <> b.zip"),
    _pair("a zip code lies in one state", "zip -> state", "a.zip = b.zip AND a.state <> b.state"),
    _pair("and in Massachusetts in one city", "state = 'MA': zip -> city",
          "a.state = 'MA' AND b.state = 'MA' AND a.zip = b.zip AND a.city <> b.city"),
    _pair("cities are spelled alike", "not(lower(trim(t1.city)) = lower(trim(t2.city)) & t1.city != t2.city)",
          "lower(trim(a.city)) = lower(trim(b.city)) AND a.city <> b.city"),
    _pair("a provider has one specialty", "provider_id -> specialty",
          "a.provider_id = b.provider_id AND a.specialty <> b.specialty"),
    _row("gender is one of three", "CHECK (gender IN ('F', 'M', 'U'))", "gender NOT IN ('F', 'M', 'U')"),
    _row("so is the kind of a visit", "CHECK (kind IN ('inpatient', 'outpatient', 'emergency'))",
         "kind NOT IN ('inpatient', 'outpatient', 'emergency')"),
    _row("a visit ends after it starts", "CHECK (visit_end >= visit_start)", "visit_end < visit_start"),
    _row("an outpatient leaves on the same day", "CHECK (kind <> 'outpatient' OR visit_end = visit_start)",
         "kind = 'outpatient' AND visit_end <> visit_start"),
    _row("nobody stays longer than a year", "CHECK (visit_end <= visit_start + 365)", "visit_end > visit_start + 365"),
    _row("the dead do not visit", "CHECK (visit_start <= death_date)", "visit_start > death_date"),
    _row("years of birth are plausible", "CHECK (year_of_birth BETWEEN 1900 AND 2025)",
         "year_of_birth NOT BETWEEN 1900 AND 2025"),
    _row("children's doctors see the young", "CHECK (specialty <> 'paediatrics' OR year_of_birth >= 2000)",
         "specialty = 'paediatrics' AND year_of_birth < 2000"),
    _row("zip codes have five characters", "CHECK (length(zip) = 5)", "length(zip) <> 5"),
    _row("men have no codes of pregnancy", "not(t1.gender = 'M' & t1.condition LIKE 'O%')",
         "gender = 'M' AND condition LIKE 'O%'"),
    _row("inpatients are discharged somewhere", "CHECK (kind <> 'inpatient' OR discharged_to IS NOT NULL)",
         "kind = 'inpatient' AND discharged_to IS NULL"),
    _row("body mass index is below 100", "CHECK (weight_kg * 10000 < 100 * height_cm * height_cm)",
         "weight_kg * 10000 >= 100 * height_cm * height_cm"),
    _pair("grown people do not change by 25 cm",
          "not(t1.person_id = t2.person_id & t1.year_of_birth < 1995 & t1.height_cm > t2.height_cm + 25)",
          f"{_OF_ONE_PERSON} AND a.year_of_birth < 1995 AND a.height_cm > b.height_cm + 25",
          exchanged="a.rowid <> b.rowid"),
    _pair("a person sees a provider once a day",
          "UNIQUE(person_id, provider_id, visit_start) WHERE kind = 'outpatient'",
          f"{_OF_ONE_PERSON} AND a.provider_id = b.provider_id AND a.visit_start = b.visit_start"
          " AND a.kind = 'outpatient' AND b.kind = 'outpatient'"),
    _pair("stays in hospital do not overlap",
          "not(t1.person_id = t2.person_id & t1.kind = 'inpatient' & t2.kind = 'inpatient'"
          " & t1.visit_start < t2.visit_start & t1.visit_end > t2.visit_start)",
          f"{_OF_ONE_PERSON} AND a.kind = 'inpatient' AND b.kind = 'inpatient' AND a.visit_start < b.visit_start"
          " AND a.visit_end > b.visit_start", exchanged="a.rowid <> b.rowid"),
)  # fmt: skip


def made_up(count: int, seed: int = 25) -> pa.Table:
    """Make visits of about a fifth as many people, with errors of every kind that the rules are about."""
    rng = np.random.default_rng(seed)
    people, sites, providers = max(count // 5, 1), 40, 150
    person, site, provider = (rng.integers(size, size=count) for size in (people, sites, providers))
    born, sex = rng.integers(1925, 2020, size=people), rng.choice(["F", "M"], size=people)
    tall = rng.integers(150, 200, size=people)
    died = rng.random(people) < 0.1
    death = np.datetime64("2024-06-01") + rng.integers(0, 700, size=people)
    specialties = rng.choice(["cardiology", "geriatrics", "surgery"], size=providers)
    towns = np.array([("02101", "MA", "Boston"), ("01602", "MA", "Worcester"), ("06101", "CT", "Hartford")])

    def wrong(share: float) -> np.ndarray:
        return rng.random(count) < share

    kind = rng.choice(["inpatient", "outpatient", "outpatient", "emergency"], size=count)
    start = np.datetime64("2023-01-01") + rng.integers(0, 500, size=count)
    stay = np.where(kind == "inpatient", rng.integers(1, 12, size=count), 0) + np.where(wrong(0.004), 2, 0)
    stay = np.where(wrong(0.002), 400, np.where(wrong(0.002), -1, stay))
    zips, states, cities = (towns[site % 3, k].astype(object) for k in range(3))
    columns = {
        "visit_occurrence_id": np.arange(count) - wrong(0.01),
        "person_id": pa.array(person, mask=wrong(0.003)),
        "year_of_birth": np.where(wrong(0.003), 1880, born[person]),
        "gender": np.where(wrong(0.003), "?", sex[person]),
        "death_date": pa.array(death[person] - 700 * wrong(0.01), mask=~died[person]),
        "kind": np.where(wrong(0.002), "phone", kind), "visit_start": start, "visit_end": start + stay,
        "care_site_id": site, "zip": np.where(wrong(0.003), "2101", zips),
        "state": np.where(wrong(0.002), "NY", states),
        "city": np.where(wrong(0.003), "BOSTON ", cities),
        "provider_id": provider, "specialty": np.where(wrong(0.004), "paediatrics", specialties[provider]),
        "condition": np.where((sex[person] == "F") & wrong(0.1) | wrong(0.003), "O80", "I10"),
        "discharged_to": pa.array(["home"] * count, pa.string(), mask=(kind != "inpatient") | wrong(0.01)),
        "weight_kg": np.where(wrong(0.003), 700, rng.integers(45, 130, size=count)),
        "height_cm": np.where(wrong(0.004), tall[person] - 40, tall[person]),
    }  # fmt: skip
    return pa.table(columns)
