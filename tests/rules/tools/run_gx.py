"""Run by a Python that has Great Expectations: a Parquet file, and a file with expectations; prints what each says.

The expectations are a list of `{"type": .., "kwargs": ..}`, the output a list of true, false or (not run) null.
"""

import json
import os
import sys
from pathlib import Path

os.environ["GX_ANALYTICS_ENABLED"] = "false"

import great_expectations as gx
import pandas as pd

context = gx.get_context(mode="ephemeral")
context.variables.progress_bars = {"globally": False, "metric_calculations": False}
batch = context.data_sources.pandas_default.read_dataframe(pd.read_parquet(sys.argv[1]))
said = []
for number, expectation in enumerate(json.loads(Path(sys.argv[2]).read_text())):
    try:
        suite = gx.ExpectationSuite(name=str(number), expectations=[expectation])
        [result] = batch.validate(suite).results
        raised = any(
            isinstance(info, dict) and info.get("raised_exception")
            for info in [result.exception_info, *result.exception_info.values()]
        )
        said.append(None if raised else bool(result.success))
    except Exception as error:
        print(expectation, repr(error)[:300], file=sys.stderr)
        said.append(None)
print(json.dumps(said))
