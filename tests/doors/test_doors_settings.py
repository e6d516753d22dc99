"""Every door that opens a table knows every setting of `TableSpec`."""

from __future__ import annotations

import inspect

import pyarrow as pa
import pytest

import dpdb
from dpdb.doors.cli.main import build_parser
from dpdb.doors.cli.options import option_of
from dpdb.doors.jobs.job_file import _JOB_KEYS
from dpdb.engine import SETTINGS, TableSpec
from dpdb.errors import ParameterError


@pytest.mark.parametrize("command", ["measure", "count", "sql", "explain", "exact", "plan"])
def test_commands_have_an_option_for_each(command: str) -> None:
    parser = build_parser().command(command)
    assert parser is not None
    assert {option_of(setting) for setting in SETTINGS.values()} <= parser.options.keys()


def test_jobs_and_signatures_name_each() -> None:
    assert {setting.key for setting in SETTINGS.values()} <= {*_JOB_KEYS}
    assert SETTINGS.keys() <= inspect.signature(dpdb.open).parameters.keys()
    assert SETTINGS.keys() - {"table"} <= inspect.signature(dpdb.register).parameters.keys()


def test_a_spec_shows_no_rows_and_refuses_unknown_names() -> None:
    spec = TableSpec.of(pa.table({"a": ["secret"]}), {"unit": "a", "max_rows": 2})
    assert repr(spec) == "<dpdb.TableSpec Table, unit='a', max_rows=2>"
    with pytest.raises(ParameterError, match=r"max_row.*max_rows"):
        TableSpec.of(None, {"max_row": 2})
    with pytest.raises(ParameterError, match="settings already"):
        TableSpec.of(spec, {"unit": "b"})
