"""Job files: what is wrong is said before anything is spent, with the key, its table and the nearest known key."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dpdb.doors.cli import main
from dpdb.doors.jobs import load_job
from dpdb.errors import ParameterError
from dpdb.ledger import Ledger

# What to replace in the good job, by what, and what the message must say.
BAD = {
    "no TOML": ('name = "visits"', "name = visits", "not TOML: Invalid value (at line 1, column 8)"),
    "long number": ("0.3", "1" * 5000, "not TOML: a number has too many digits"),
    "long hexadecimal number": ("0.3", f"0x{'f' * 5000}", "job.toml: not TOML: a number has too many digits"),
    "long octal number in a list": ('["1", "2"]', f"[0o{'7' * 6000}]", "not TOML: a number has too many digits"),
    "long binary number of a gate": ("1000000000", f"0b{'1' * 20_000}", "not TOML: a number has too many digits"),
    "unknown key": ("source =", "sources =", "unknown key 'sources'; did you mean 'source'?"),
    "unknown key of a release": ("by = ", "buy = ", "[[release]] 2: unknown key 'buy'; did you mean 'by'?"),
    "no name": ('name = "visits"', "", "the key 'name' is missing"),
    "name with a slash": ('"visits"', '"a/b"', "key 'name': at most 60 printable characters other than '/'"),
    "long name": ('"visits"', f'"{"v" * 61}"', "key 'name': at most 60"),
    "no source": ("t.parquet", "u.parquet", "key 'source': no such file"),
    "source elsewhere": ("t.parquet", "gs://bucket/t.parquet", "key 'source': gs://...: dpdb fetches https://"),
    "source of another type": ('"t.parquet"', "3", "key 'source': expected a text, got 3"),
    "no ledger key": ('ledger = "t.ledger"', "", "the key 'ledger' is missing: only a ledger remembers"),
    "no ledger": ("t.ledger", "u.ledger", "u.ledger --epsilon E`"),
    "no constraints": ('constraints = ["zip -> city"]', "", "the key 'constraints' is missing"),
    "no constraints file": ('["zip -> city"]', '"rules.txt"', "key 'constraints': no such file"),
    "constraints of another type": ('["zip -> city"]', "[1]", "key 'constraints': expected a list of texts, got [1]"),
    "unknown column": ("zip -> city", "zipp -> city", "nearest is 'zip'"),
    "empty constraints": ('["zip -> city"]', "[]", "no constraints"),
    "constraint is no file": ('["zip -> city"]', '["rules.txt"]', "the table has no column 'rules'"),
    "schema": ("results =", 'schema = {zip = 1}\nresults =', "column 'zip': expected a SQL type as text, got 1"),
    "no results": ('results = "results.duckdb"', "", "the key 'results' is missing"),
    "results folder": ("results.duckdb", "no/results.duckdb", "key 'results': there is no folder"),
    "results of another kind": ("results.duckdb", "results.csv", "a DuckDB file (.duckdb) or a folder of Parquet"),
    "results table": ('"results.duckdb"', '"out"\nresults_table = "x"', "a table name applies to DuckDB files only"),
    "results in the source": ("results.duckdb", "t.parquet", "folder of Parquet files"),
    "no epsilon": ("epsilon = 0.3", "", "[[release]] 1: the key 'epsilon' is missing"),
    "epsilon": ("0.3", "-1", "[[release]] 'overall': epsilon must be positive"),
    "epsilon of another type": ("0.3", "true", "[[release]] 1, key 'epsilon': expected a number"),
    "measure": ('"count"', '"counts"', "[[release]] 'rows': unknown measure 'counts'"),
    "mechanism": ('by = "zip"', 'mechanism = "magic"\nby = "zip"', "[[release]] 'by-zip': unknown mechanism 'magic'"),
    "mechanism of a count": ("epsilon = 0.1", 'epsilon = 0.1\nmechanism = "x"', "do not apply to measure 'count'"),
    "where": ("age < 3", "random() < 3", "[[release]] 'rows': "),
    "where column": ("age < 3", "aged < 3", "'age'"),
    "keys": ('["1", "2"]', '["1", "1"]', "[[release]] 'by-zip': keys '1' and '1' are the same value"),
    "keys of another type": ('["1", "2"]', '"1"', "key 'keys': expected a list of texts, numbers or dates"),
    "by without keys": ('keys = ["1", "2"]', "", "go together"),
    "confidence": ("epsilon = 0.3", "epsilon = 0.3\nconfidence = 95", "confidence must be"),
    "gate": ("repair = 1000000000", "repair = -1", "[[release]] 1, gate 'repair': the number must be finite"),
    "gate of another type": ("repair = 1000000000", "repair = '9'", "the number must be finite"),
    "gate beyond every float": ("repair = 1000000000", f"repair = {'1' * 400}", "the number must be finite"),
    "gate of another measure": ("repair = 1000000000", "repairs = 1", "'repairs' is not released here"),
    "gate is no table": ("[release.gate]\nrepair = 1000000000", "gate = 3", "key 'gate': expected a table, got 3"),
    "two of one name": ('"by-zip"', '"overall"', "two [[release]] have the name 'overall'"),
    "rows per person": ("results =", "rows_per_person = 0\nresults =", "rows_per_person"),
    "row bound": ("results =", "row_bound = -1\nresults =", "row_bound must be a whole number of at least 1"),
    "threads": ("results =", "threads = 5000\nresults =", "threads must be a whole number from 1 to 1,024"),
    "release is no list": ("[[release]]", "[release]", "job.toml"),
}  # fmt: skip

CHECKED = ("unknown key", "no ledger", "where", "results folder")  # also by --dry-run, which goes the same way


@pytest.mark.heavy
@pytest.mark.parametrize("case", BAD)
def test_a_bad_job_says_what_is_wrong_and_spends_nothing(
    case: str, job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new, says = BAD[case]
    text = job.read_text()
    assert old in text
    job.write_text(text.replace(old, new))
    for action in ([], ["--dry-run"]) if case in CHECKED else ([],):
        assert main(["run", str(job), "--run-id", "x", *action]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert says in err
        assert err.startswith("dpdb: ")
        assert "Traceback" not in err
    with Ledger.open(job.parent / "t.ledger") as ledger:
        assert ledger.history() == []
    assert not (job.parent / "results.duckdb").exists()


def test_no_release_at_all(job: Path) -> None:
    job.write_text(job.read_text().split("[[release]]")[0])
    with pytest.raises(ParameterError, match=r"there is no \[\[release\]\]"):
        load_job(job)


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_cannot_be_read(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "job.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ParameterError, match="no such file" if content is None else "TOML in UTF-8"):
        load_job(path)


@pytest.mark.parametrize("run_id", ["", "a/b", "a\nb", "r" * 190])
def test_run_ids_are_one_part_of_the_ledgers_run_id(run_id: str, job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(job), "--run-id", run_id]) == 2
    assert "run id" in capsys.readouterr().err


def test_paths_are_relative_to_the_job_file(job: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert main(["run", "../job.toml", "--dry-run"]) == 0
    loaded = load_job("../job.toml")
    assert loaded.results.resolve() == job.parent / "results.duckdb"
    assert [release.name for release in loaded.releases] == ["overall", "by-zip", "rows"]
    assert loaded.releases[1].ask.keys == ("1", "2")
    assert loaded.releases[1].ask.epsilon == "0.2"


def test_results_in_a_folder_that_is_the_source_are_refused(folder: Path, job: Path) -> None:
    (folder / "tables").mkdir()
    (folder / "t.parquet").rename(folder / "tables" / "t.parquet")
    job.write_text(job.read_text().replace("t.parquet", "tables").replace("results.duckdb", "tables/results"))
    from dpdb.doors.jobs.plan_job import plan_job

    with pytest.raises(ParameterError, match="written into the source"):
        plan_job(load_job(job), "x")


def test_results_in_the_file_of_the_source_are_refused(
    folder: Path, job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with duckdb.connect(str(folder / "w.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT '1' AS zip, 'a' AS city, 1 AS age")
    job.write_text(
        job.read_text().replace("t.parquet", "w.duckdb").replace("results.duckdb", f"../{folder.name}/w.duckdb")
    )
    assert main(["run", str(job), "--run-id", "x"]) == 2
    assert "written into the source" in capsys.readouterr().err


def test_job_files_without_end_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "endless.toml").symlink_to("/dev/zero")
    with pytest.raises(ParameterError, match=r"endless\.toml is larger than 1 MiB: is it a job file\?"):
        load_job(tmp_path / "endless.toml")
    path = tmp_path / "many.toml"
    path.write_text('source = "t"\n' + "[[release]]\n" * 1_001)
    with pytest.raises(ParameterError, match=r"1,001 \[\[release\]\]; a job has at most 1,000"):
        load_job(path)
