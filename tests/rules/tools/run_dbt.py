"""Run by a Python that has dbt and its adapter of DuckDB: a folder of a project; prints what each of its tests says.

The output is a mapping of the name of a test to `pass`, `warn`, `fail` or `error`.
"""

import json
import os
import sys
from pathlib import Path

os.environ |= {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "DO_NOT_TRACK": "1"}

from dbt.cli.main import dbtRunner

folder = sys.argv[1]
places = ["--project-dir", folder, "--profiles-dir", folder, "--quiet"]
dbtRunner().invoke(["run", *places])
dbtRunner().invoke(["test", *places])
results = json.loads(Path(folder, "target", "run_results.json").read_text())["results"]
print(json.dumps({each["unique_id"].split(".")[2]: each["status"] for each in results}))
