"""The examples in docstrings are run, in the folder of the project, whose bundled table they read."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHOWN = [path for path in sorted((ROOT / "dpdb").rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]
FOR_USERS = {
    "constraints/load.py", "constraints/shape.py", "doors/jobs/results.py", "owner/expected_error.py",
    "release/session.py", "release/published/comparisons.py", "release/published/release.py", "release/verbs.py",
}  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("path", SHOWN, ids=lambda path: str(path.relative_to(ROOT / "dpdb")))
def test_examples_in_docstrings_say_the_truth(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    parts = path.relative_to(ROOT).with_suffix("").parts
    module = importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    found = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert found.failed == 0, "see the output above"
    assert found.attempted > 0


def test_what_users_call_first_has_an_example_and_none_is_skipped() -> None:
    names = {str(path.relative_to(ROOT / "dpdb")) for path in SHOWN}
    assert names >= FOR_USERS, FOR_USERS - names
    assert not [path for path in SHOWN if "doctest: +SKIP" in path.read_text(encoding="utf-8")]
    assert "comparisons.py" in {path.name for path in SHOWN}
