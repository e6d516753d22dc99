"""Kernels work where their machine code cannot be kept: a read-only installation, a full disk, a damaged cache."""

from __future__ import annotations

import errno
from typing import Any

import pytest
from numba.core import caching

from dpdb import compiled
from dpdb.compiled import kernel


def sum_of(one: int, two: int) -> int:
    return one + two


@pytest.fixture(autouse=True)
def notices(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr(compiled, "_noticed", found)
    return found


def test_without_a_place_for_it_code_is_compiled_in_memory_with_one_notice(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    assert [kernel(sum_of)(1, 2) for _ in range(2)] == [3, 3]
    assert [record.message[:44] for record in caplog.records] == ["dpdb: compiled code cannot be kept on disk, "]


@pytest.mark.parametrize(
    ("method", "error"),
    [("save_overload", OSError(errno.ENOSPC, "No space left on device")), ("load_overload", EOFError("cut short"))],
)
def test_what_fails_in_the_cache_fails_no_release(
    method: str, error: Exception, monkeypatch: pytest.MonkeyPatch, notices: list[str]
) -> None:
    def fails(*_: Any) -> None:
        raise error

    made: Any = kernel(sum_of)
    monkeypatch.setattr(made._cache._cache, "load_overload", lambda *_: None)
    monkeypatch.setattr(made._cache._cache, "save_overload", lambda *_: None)
    monkeypatch.setattr(made._cache._cache, method, fails)
    assert made(1, 2) == 3
    assert notices == [error.args[-1]]
