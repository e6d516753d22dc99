"""One browser for all tests of this folder; skipped, with a reason, where there is none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser import ABSENT, Browser


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if ABSENT:
        pytest.skip(ABSENT)
    opened = Browser(tmp_path_factory.mktemp("browser"))
    yield opened
    opened.close()
