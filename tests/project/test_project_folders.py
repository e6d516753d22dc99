"""A folder that can be read at a glance."""

from __future__ import annotations

from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "dpdb"
FOLDERS = sorted({path.parent for path in PACKAGE.rglob("*.py")})


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(PACKAGE.parent)))
def test_no_folder_has_more_than_twenty_modules(folder: Path) -> None:
    assert len(list(folder.glob("*.py"))) <= 20
