"""One private database for all tests of a module."""

from collections.abc import Iterator

import pytest

from dpdb.database.database import Database


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with Database(threads=1) as opened:
        yield opened
