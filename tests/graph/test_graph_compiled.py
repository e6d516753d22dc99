"""Kernels: machine code is kept and loaded without numba, and whatever is wrong with its files fails no release."""

from __future__ import annotations

import errno
import importlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np
import pytest
from llvmlite import ir
from numpy.typing import NDArray

from dpdb.compiled import (
    Kernel,
    NotCompiledError,
    compiled_so_far,
    compiling,
    kernel,
    machine_code,
    nothing_compiled,
    object_file,
    object_file as progress,
    portable_code,
    tell_when_long,
    written_to,
)
from dpdb.compiled.portable_code import this_machine
from dpdb.doors.cli import main
from dpdb.graph import load_all_kernels

DATA = Path(__file__).resolve().parents[2] / "examples" / "data"


class Pair(NamedTuple):
    left: NDArray[np.int32]
    right: NDArray[np.uint8]


def sum_of(one: int, two: int) -> int:
    return one + two


def weigh(pair: Pair, table: NDArray[np.int64], factor: int) -> tuple[int, int]:
    total, last = 0, 0
    for i in range(pair.left.shape[0]):
        last = pair.left[i] * np.int64(pair.right[i]) + table[i, 1]
        total += factor * last
    return total, last


def is_above(values: NDArray[np.uint32], least: int) -> bool:
    return bool(values[-1] > least)


def clear(values: NDArray[np.uint16]) -> None:
    values[:] = 0


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compiled_so_far, "why_not_kept", None)
    return tmp_path / "dpdb"


def made() -> int:
    return compiled_so_far.made


def compiles(call: Callable[[], object]) -> bool:
    before = made()
    call()
    return made() > before


@pytest.mark.heavy(family="long")
def test_a_kernel_returns_what_the_function_does() -> None:
    pair = Pair(np.array([1, -2, 2**31 - 1], np.int32), np.array([3, 255, 2], np.uint8))
    table = np.arange(12).reshape(3, 4)
    assert kernel(weigh)(pair, table, -7) == weigh(pair, table, -7)
    assert kernel(weigh)(pair, table[:, ::2], 7) == weigh(pair, table[:, ::2], 7)  # not contiguous
    assert kernel(sum_of)(-(2**62), np.int32(5)) == 5 - 2**62
    with pytest.raises(OverflowError):
        kernel(sum_of)(2**63, 0)
    with pytest.raises(TypeError):
        kernel(sum_of)(1.5, 0)  # type: ignore[arg-type]
    values = np.array([1, 2**32 - 1], np.uint32)
    assert kernel(is_above)(values, 2**32 - 2) is True
    assert kernel(is_above)(values, 2**32 - 1) is False
    cleared = np.array([3, 4], np.uint16)
    assert kernel(clear)(cleared) is None
    assert not cleared.any()


def test_machine_code_is_compiled_once(folder: Path) -> None:
    assert compiles(lambda: kernel(sum_of)(1, 2))
    assert not compiles(lambda: kernel(sum_of)(1, 2))
    assert len(list(folder.iterdir())) == 1


def returning(number: int) -> object_file.ObjectCode:
    """Machine code of a function that has the name of every other one of these."""
    module, whole = ir.Module(), ir.IntType(64)
    function = ir.Function(module, ir.FunctionType(ir.IntType(32), [whole.as_pointer(), whole]), "one_name")
    builder = ir.IRBuilder(function.append_basic_block())
    builder.store(whole(number), function.args[0])
    builder.ret(ir.IntType(32)(0))
    code = this_machine().emit_object(llvm.parse_assembly(str(module)))
    return object_file.ObjectCode("one_name", "integer", code)


def test_kernels_share_an_engine_but_for_those_of_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two versions of a kernel may have one name in machine code, for each process that compiles starts to count."""
    monkeypatch.setattr(machine_code, "_engines", [])
    assert kernel(sum_of)(1, 2) == 3
    assert kernel(is_above)(np.array([1], np.uint32), 1) is False
    assert len(machine_code._engines) == 1
    calls = [machine_code._code(returning(number), 0) for number in (1, 2, 3)]
    assert [call((), []) for call in calls] == [1, 2, 3]
    assert len(machine_code._engines) == 3


def test_threads_that_call_a_cold_kernel_compile_it_once() -> None:
    cold, barrier, before = kernel(sum_of), threading.Barrier(2), made()

    def call(one: int) -> int:
        barrier.wait()
        return cold(one, 2)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(call, (1, 2))) == [3, 4]
    assert made() == before + 1


def test_what_was_made_from_other_sources_is_compiled_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel(sum_of)(1, 2)
    monkeypatch.setattr(machine_code, "_source", lambda file: f"another version of {file}")
    assert compiles(lambda: kernel(sum_of)(1, 2))
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b[: len(b) // 2], lambda _: b"", lambda b: b + b"\0"])
def test_damaged_machine_code_is_compiled_again(damage: Callable[[bytes], bytes], folder: Path) -> None:
    kernel(sum_of)(1, 2)
    (path,) = folder.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    assert compiles(lambda: kernel(sum_of)(1, 2))
    assert not compiles(lambda: kernel(sum_of)(1, 2))


@pytest.fixture
def carried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of portable code as a wheel carries it, and an empty cache."""
    written = tmp_path / "portable"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "where it is built"))
    with written_to(written):
        for function, arguments in CALLS:
            kernel(function)(*arguments)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(portable_code, "FOLDER", written)
    return written


CALLS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (weigh, (Pair(np.array([1, -2, 2**31 - 1], np.int32), np.array([3, 255, 2], np.uint8)), np.ones((3, 4), int), -7)),
    (is_above, (np.array([1, 2**32 - 1], np.uint32), 2**32 - 2)),
    (sum_of, (-(2**62), 5)),
]


@pytest.mark.heavy(family="long")
def test_what_the_package_carries_is_compiled_without_numba(
    carried: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise AssertionError("numba compiles")

    monkeypatch.setattr(compiling, "dispatcher", fails)
    for function, arguments in CALLS:
        assert compiles(lambda: kernel(function)(*arguments))  # noqa: B023 - called at once
        assert kernel(function)(*arguments) == function(*arguments)
    assert len(list(carried.iterdir())) == len(list(folder.iterdir())) == len(CALLS)


@pytest.mark.heavy(family="long")
def test_what_the_package_carries_of_other_sources_or_cannot_be_read_is_left_to_numba(
    carried: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    dispatched = compiling.dispatcher
    monkeypatch.setattr(compiling, "dispatcher", lambda one: asked.append(one) or dispatched(one))
    with monkeypatch.context() as patched:
        patched.setattr(machine_code, "_source", lambda file: f"another version of {file}")
        assert kernel(sum_of)(1, 2) == 3
    assert len(asked) == 1
    for path in carried.iterdir():
        first, code = path.read_bytes().split(b"\n", 1)
        nonsense = portable_code.zlib.compress(portable_code.zlib.decompress(code) + b"\nnonsense")
        head = json.loads(first)
        made = object_file.ObjectCode(head["symbol"], head["returns"], nonsense)
        object_file.write_object(path.name, head["made from"], made, [carried])
    assert kernel(is_above)(np.array([1, 2**32 - 1], np.uint32), 2**32 - 2) is True
    assert len(asked) == 2


def test_without_a_place_for_it_code_is_compiled_in_memory_with_one_notice(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(object_file, "folders", lambda: iter(()))
    assert [kernel(sum_of)(1, 2) for _ in range(2)] == [3, 3]
    assert [record.message[:44] for record in caplog.records] == ["dpdb: compiled code cannot be kept on disk, "]


def test_a_full_disk_fails_no_release(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    def fails(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(object_file.Path, "replace", fails)
    assert kernel(sum_of)(1, 2) == 3
    assert compiled_so_far.why_not_kept == "No space left on device"
    assert not list(folder.iterdir())


def test_another_calling_convention_is_left_to_numba(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(compiling, "_expected", lambda _: "i32(ptr)")
    assert kernel(sum_of)(1, 2) == 3
    assert not folder.exists()


@pytest.mark.heavy(family="long")
def test_numba_reads_no_settings_of_the_current_folder(tmp_path: Path) -> None:
    """Anybody may have written them; so compiled code would be read from where they say."""
    (tmp_path / ".numba_config.yaml").write_text(f"cache_dir: {tmp_path}\ndisable_jit: 1\n")
    code = (
        "import dpdb.compiled.numba_alone, yaml, numba.core.config as c; c.reload_config(); "
        "print(c.CACHE_DIR, c.DISABLE_JIT, int(c.OPT))"
    )
    settings = {**os.environ, "NUMBA_CACHE_DIR": "mine", "NUMBA_OPT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=settings, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("mine 0 1\n", "")


def test_nothing_is_compiled_where_that_is_forbidden() -> None:
    with nothing_compiled(), pytest.raises(NotCompiledError):
        kernel(sum_of)(1, 2)
    assert kernel(sum_of)(1, 2) == 3


def test_long_compiling_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(progress, "_told", [])
    monkeypatch.setattr(progress, "_tellers", [])
    monkeypatch.setattr(progress, "_LONG", 0.0)
    monkeypatch.setattr(progress.threading.Timer, "start", lambda timer: timer.function())
    tell_when_long(lambda: said.append("compiling"))
    for function in (sum_of, clear):
        kernel(function)(*((1, 2) if function is sum_of else (np.zeros(2, np.uint16),)))
    assert said == ["compiling"]


def test_warming_loads_every_kernel_of_the_graph_room(monkeypatch: pytest.MonkeyPatch) -> None:
    import dpdb.graph.kernels as room

    monkeypatch.delenv("NUMBA_CACHE_DIR")
    load_all_kernels()
    kernels = {
        f"{path.stem}.{name}": kernel
        for path in Path(str(room.__file__)).parent.glob("[a-z]*.py")
        for name, kernel in vars(importlib.import_module(f"{room.__name__}.{path.stem}")).items()
        if isinstance(kernel, Kernel) and kernel.__module__.endswith(f".{path.stem}")
    }
    inside = {id(helper) for kernel in kernels.values() for helper in kernel.helpers.values()}  # compiled with these
    cold = [name for name, kernel in kernels.items() if id(kernel) not in inside and not kernel._codes]
    assert cold == []


def test_warm_check_compiles_nothing_and_says_what_is_missing(folder: Path) -> None:
    command = [sys.executable, "-m", "dpdb", "warm", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.endswith("is not compiled: `dpdb warm` compiles what is missing\n")
    assert not folder.exists()


@pytest.mark.heavy(family="long")
def test_a_warm_start_does_not_import_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    arguments = ["measure", str(DATA / "hospital.parquet"), "--constraints", str(DATA / "hospital.dcs.txt")]
    arguments += ["--measure", "all", "--epsilon", "1", "--quiet"]
    assert main(arguments) == 0
    code = "import sys; from dpdb.doors.cli import main; main(sys.argv[1:]); print({'numba', 'scipy'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"
