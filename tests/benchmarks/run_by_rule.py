"""Run in a fresh process: both counting measures of a table by `by_rule`; prints processor time and memory as JSON.

`cpu` is processor time of all threads from the start of the process to the answers; `counted` is that of the answers,
without import and opening. With "ladder" as third argument the default answers instead.
"""

from __future__ import annotations

import json
import sys
import time

from peak import peak_gigabytes

import dpdb

source, constraints, *mechanism = sys.argv[1:]
with dpdb.open(source, constraints=constraints, threads=2) as session:
    opened = time.process_time()
    for measure in ("minimal_inconsistency", "problematic"):
        session.dp_inconsistency(measure, 1.0, mechanism=mechanism[0] if mechanism else "by_rule")
    answered = time.process_time()
print(json.dumps({"cpu": answered, "counted": answered - opened, "peak GB": peak_gigabytes()}))
