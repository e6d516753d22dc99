"""The verdicts of `dpdb check` as an OpenLineage event: a run that read one dataset, and what its checks found there.

The event has what all other outputs have: published verdicts, no row and no exact count. OpenLineage knows only success
or none, so `assertions` has the checks that passed or failed; those that are not shown or undecided are neither, as
JUnit XML skips them. All stand in a facet of our own, `dpdb_checks`, as `--format json` writes them.

Source: https://openlineage.io/spec/2-0-2/OpenLineage.json, and of assertions spec/facets/1-0-1.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from dpdb._version import __version__
from dpdb.errors import DpdbError, ParameterError
from dpdb.files.new_file import NewFile
from dpdb.stopping import Closing

if TYPE_CHECKING:
    from dpdb.suites import CheckResult, CheckResults

SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json"
ASSERTIONS = "https://openlineage.io/spec/facets/1-0-1/DataQualityAssertionsDatasetFacet.json"
PRODUCER = f"https://example.org/dpdb/{__version__}"
_IDS = uuid.uuid5(uuid.NAMESPACE_URL, "https://example.org/dpdb")
_DECIDED = ("pass", "fail")
_LARGEST = 64 << 20


class LineageFile(Closing):
    """A file for one event, opened before anything is spent.

    Parameters
    ----------
    path
        The file. One that exists is replaced if it is empty or has such an event.
    suite
        File of the checks, after which the job is called.

    Raises
    ------
    ParameterError
        If it cannot be written, or exists and is no event: nothing of it is lost.
    """

    def __init__(self, path: str, source: str, table: str | None, suite: str) -> None:
        if os.path.lexists(path) and not _is_event(Path(path)):
            raise ParameterError(f"--openlineage {path}: is there already and is no OpenLineage event; name another")
        self._dataset = dataset_of(source, table)
        self._job = Path(suite).name if Path(suite).exists() else "suite"
        self._file = NewFile(Path(path), replace=True)

    def write(self, checked: Sequence[CheckResults]) -> None:
        """Write the event of one run; `ParameterError` if it cannot be written."""
        [results] = checked
        event = event_of(results, self._job, self._dataset)
        try:
            self._file.partial.write_text(json.dumps(event) + "\n", encoding="utf-8")
        except OSError as error:
            raise ParameterError(f"{self._file.path}: cannot be written: {error.strerror}") from None
        self._file.keep()

    def close(self) -> None:
        """Remove a file that was not finished. May be called twice."""
        self._file.close()


def event_of(results: CheckResults, job: str, dataset: dict[str, str]) -> dict[str, Any]:
    """Return the event of a run that has ended.

    A run that a ledger answers again has the same id. The job's namespace is that of other producers of events, the
    environment's OPENLINEAGE_NAMESPACE.
    """
    checks = [_assertion(check) for check in results if check.verdict in _DECIDED]
    facets = {
        "dataQualityAssertions": {**_facet(ASSERTIONS, "DataQualityAssertionsDatasetFacet"), "assertions": checks},
        "dpdb_checks": {**_facet(SPEC, "InputDatasetFacet"), **results.to_dict()},
    }
    return {
        "eventType": "COMPLETE",
        "eventTime": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "run": {"runId": _run_id(results, job, dataset)},
        "job": {"namespace": os.environ.get("OPENLINEAGE_NAMESPACE") or "default", "name": f"dpdb.check.{job}"},
        "inputs": [{**dataset, "inputFacets": facets}],
        "outputs": [],
        "producer": PRODUCER,
        "schemaURL": f"{SPEC}#/$defs/RunEvent",
    }


def dataset_of(source: str, table: str | None) -> dict[str, str]:
    """Return namespace and name of what is checked, without user, password and options of an address."""
    kind, mark, rest = source.partition(":")
    of_table = [] if table is None else [table]
    if "://" in source:
        try:
            address = urlsplit(source)
        except ValueError:  # no address: what opens the source says so, and shows nothing of it
            return {"namespace": kind, "name": ""}
        host = address.netloc.rpartition("@")[2]
        return {"namespace": f"{address.scheme}://{host}", "name": ".".join([address.path.strip("/"), *of_table])}
    if mark and kind == "spark":
        return {"namespace": "spark", "name": rest}
    return {"namespace": "file", "name": ":".join([str(Path(source).absolute()), *of_table])}


def _assertion(check: CheckResult) -> dict[str, Any]:
    from dpdb.suites import limit_words

    of = "" if check.key is None else f" [{check.key}]"
    severity = "error" if check.severity == "fail" else "warn"
    return {
        "assertion": f"{check.name} {limit_words(check)}{of}",
        "success": check.verdict == "pass",
        "severity": severity,
        **_column(check),
    }


def _column(check: CheckResult) -> dict[str, str]:
    """Return the column, where a rule reads one alone; an assertion without one is about the whole dataset."""
    from dpdb.constraints import parse_constraint

    try:
        found = {name for rule in parse_constraint(check.rule) for name in rule.table_columns}
    except DpdbError:  # a statistic, such as a number of rows
        return {}
    return {"column": found.pop()} if len(found) == 1 else {}


def _facet(schema: str, name: str) -> dict[str, str]:
    return {"_producer": PRODUCER, "_schemaURL": f"{schema}#/$defs/{name}"}


def _run_id(results: CheckResults, job: str, dataset: dict[str, str]) -> str:
    if results.epsilon_reserved == 0:  # checks of columns alone are no run that a ledger could answer again
        return str(uuid.uuid4())
    return str(uuid.uuid5(_IDS, json.dumps([dataset, job, results.run_id, results.run])))


def _is_event(path: Path) -> bool:
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:  # a pipe would be waited for
            return False
        text = path.read_text(encoding="utf-8")
        found = json.loads(text) if text.strip() else {"schemaURL": SPEC}
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and str(found.get("schemaURL")).startswith("https://openlineage.io/spec/")
