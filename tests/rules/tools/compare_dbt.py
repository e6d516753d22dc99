"""Compare the exact verdicts of an imported dbt project with its own last run.

    python tests/rules/tools/compare_dbt.py PROJECT DUCKDB_FILE

PROJECT has `target/run_results.json` of `dbt test`, DUCKDB_FILE the tables that it tested.
"""

import json
import sys
from collections import Counter
from pathlib import Path

import duckdb

import dpdb
from dpdb.errors import DpdbError
from dpdb.rules import import_tables
from dpdb.suites import load_suite

GRADES = ("pass", "warn", "fail")
project, file = Path(sys.argv[1]), sys.argv[2]
results = json.loads((project / "target" / "run_results.json").read_text())["results"]
theirs = {each["unique_id"].split(".")[2]: each["status"] for each in results}
with duckdb.connect(file, read_only=True) as made:
    names = [name for (name,) in made.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
    names += [name for (name,) in made.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()]
counted: Counter[str] = Counter()
for imported in import_tables(project):
    checks: dict[str, list[str]] = {}
    for rule in imported.rules:
        lines = checks.setdefault(rule.origin if rule.name is None else rule.name.partition(" (")[0], [])
        merged = [
            each for each in imported.rules if f"also {rule.origin}" in (each.note or "")
        ]  # of two tests one line
        lines += [each.line() for each in merged]
        lines.append(rule.line())
    for name, lines in checks.items():
        status = theirs.get(name)
        if imported.table not in names or status not in GRADES:
            counted[f"not run there: {status}"] += 1
            continue
        suite = load_suite("\n".join(dict.fromkeys(lines)))
        parents = {word: None for word in names if f" IN {word}" in "\n".join(lines)}
        try:
            with dpdb.open(
                file, constraints=suite.rules, table=imported.table, public_parents=parents or None
            ) as session:
                found = session.exact_checks(suite, non_private=True)
        except DpdbError as error:
            counted[f"refused: {str(error)[:60]}"] += 1
            continue
        ours = GRADES[max(0 if check.verdict == "pass" else GRADES.index(check.severity) for check in found)]
        note = any("tolerated there" in (rule.note or "") for rule in imported.rules if rule.line() in lines)
        says_equal = "equal" if ours == status else "stricter, as said" if note and ours == "fail" else "DIFFERS"
        counted[f"{says_equal}: {status}"] += 1
        if says_equal == "DIFFERS":
            print(imported.table, name, lines, ours, status)
for said, number in counted.most_common():
    print(f"{number:5}  {said}")
