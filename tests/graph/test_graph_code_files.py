"""Whose files are loaded as code, and as which: one rule for machine code and intermediate code."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dpdb.compiled import compiled_so_far, kernel, object_file
from dpdb.compiled.machine_code import made_from
from dpdb.compiled.object_file import ObjectCode, read_object, write_object

CODE = ObjectCode("symbol", "none", b"code")
STRANGER = 65_534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another user")


def product_of(one: int, two: int) -> int:
    return one * two


def difference_of(one: int, two: int) -> int:
    return one - two


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compiled_so_far, "why_not_kept", None)
    return tmp_path / "dpdb"


def give_away(path: Path) -> None:
    os.chown(path, STRANGER, STRANGER)


def linked(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def as_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def in_a_link_of_a_stranger(path: Path) -> None:
    path.parent.rename(path.parent.with_name("elsewhere"))
    path.parent.symlink_to("elsewhere")
    os.chown(path.parent, STRANGER, STRANGER, follow_symlinks=False)


@pytest.mark.parametrize(
    "spoil",
    [
        linked,
        as_pipe,
        lambda path: path.chmod(0o646),
        lambda path: path.parent.chmod(0o757),
        lambda path: path.parent.chmod(0o1777),  # whose bit keeps the file, not the place for the next one
        lambda path: path.parent.parent.chmod(0o777),
        pytest.param(give_away, marks=needs_root),
        pytest.param(lambda path: give_away(path.parent), marks=needs_root),
        pytest.param(lambda path: give_away(path.parent.parent), marks=needs_root),
        pytest.param(lambda path: os.chown(path, 0, STRANGER) or path.chmod(0o664), marks=needs_root),
        pytest.param(lambda path: os.chown(path.parent, 0, STRANGER) or path.parent.chmod(0o775), marks=needs_root),
        pytest.param(in_a_link_of_a_stranger, marks=needs_root),
    ],
)
def test_code_is_read_from_files_and_folders_of_this_user_alone(spoil: Callable[[Path], object], folder: Path) -> None:
    write_object("a.o", "sources", CODE)
    assert read_object("a.o", "sources") == CODE
    spoil(folder / "a.o")
    assert read_object("a.o", "sources") is None


def test_folders_that_harm_nothing(folder: Path) -> None:
    """One that keeps what is another's, a group of the owner alone, links of this user: as on many machines."""
    write_object("a.o", "sources", CODE)
    folder.parent.chmod(0o1777)
    if os.geteuid() == 0:  # its own group has its name on every system of this kind
        os.chown(folder, 0, 0)
        folder.chmod(0o775)
    (folder.parent / "link").symlink_to(folder)
    (folder / "back").symlink_to("../link/../dpdb")
    for place in (folder, folder.parent / "link", folder / "back", folder / ".." / "dpdb"):
        assert read_object("a.o", "sources", [place]) == CODE


def test_links_without_an_end_are_no_folder(folder: Path) -> None:
    folder.symlink_to("dpdb")
    assert read_object("a.o", "sources") is None
    with pytest.raises(OSError, match="links"):
        object_file.check_code_folder(folder)


def test_code_is_not_kept_where_it_would_not_be_read(folder: Path, tmp_path: Path) -> None:
    """Else every start would compile, and nobody would hear why."""
    folder.mkdir(0o700)
    folder.chmod(0o777)
    with pytest.raises(PermissionError, match=f"others may write in {folder}"):
        write_object("a.o", "sources", CODE)
    assert not list(folder.iterdir())
    second = tmp_path / "second" / "place"
    before = os.umask(0)
    try:
        assert write_object("a.o", "sources", CODE, [folder, second]) == second
    finally:
        os.umask(before)
    assert read_object("a.o", "sources", [folder, second]) == CODE


def test_one_file_is_opened_for_one_kernel(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Path] = []
    really = object_file.open_owned
    monkeypatch.setattr(object_file, "open_owned", lambda path, *how: opened.append(path) or really(path, *how))
    write_object("a.o", "sources", CODE)
    assert read_object("a.o", "sources") == CODE
    assert opened == [folder / "a.o"]


def test_files_of_two_kernels_that_are_exchanged_are_compiled_again(folder: Path) -> None:
    def values() -> list[int]:
        return [kernel(function)(7, 2) for function in (product_of, difference_of)]

    assert values() == [14, 5]
    one, two = folder.iterdir()
    contents = one.read_bytes(), two.read_bytes()
    two.write_bytes(contents[0])
    one.write_bytes(contents[1])
    before = compiled_so_far.made
    assert values() == [14, 5]
    assert compiled_so_far.made == before + 2
    assert values() == [14, 5]
    assert compiled_so_far.made == before + 2  # they have been replaced


@pytest.mark.parametrize("field", ["name", "made from", "symbol", "returns", "sha256"])
def test_the_digest_covers_the_first_line(field: str, folder: Path) -> None:
    write_object("a.o", "sources", CODE)
    first, code = (folder / "a.o").read_bytes().split(b"\n", 1)
    head = json.loads(first)
    (folder / "a.o").write_bytes(json.dumps({**head, field: head[field] + "1"}).encode() + b"\n" + code)
    assert read_object("a.o", "sources") is None
    assert read_object("a.o", "sources1") is None
    assert read_object("a.o1", "sources") is None


def test_the_platform_is_under_the_digest(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = made_from([__file__])
    monkeypatch.setattr("dpdb.compiled.machine_code.platform_name", lambda: "another processor")
    assert made_from([__file__]) != here


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that every user reaches, as `/tmp` is."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o1777)
        yield Path(name)


@needs_root
@pytest.mark.parametrize("whose", ["stranger's", "mine"])
def test_a_file_that_another_user_has_put_there_is_not_loaded(
    whose: str, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """He knows all that a file must say; a process of his own puts it where it will be looked for, before anybody."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(shared / "mine"))
    assert kernel(product_of)(7, 2) == 14
    [path] = (shared / "mine" / "dpdb").iterdir()
    before = compiled_so_far.made
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(shared))
    user = STRANGER if whose == "stranger's" else os.geteuid()
    plant = 'mkdir "$1/dpdb" && cp "$2" "$1/dpdb/"'
    subprocess.run(["/bin/sh", "-c", plant, "sh", shared, path], user=user, group=user, extra_groups=[], check=True)
    assert (shared / "dpdb" / path.name).stat().st_uid == user
    assert kernel(product_of)(7, 2) == 14
    assert (compiled_so_far.made == before) == (whose == "mine")  # so the other one would have been, too
    if whose != "mine":
        assert compiled_so_far.why_not_kept == f"another user owns {shared / 'dpdb'}"


@needs_root
def test_a_second_user_loads_what_root_has_compiled_and_keeps_his_own_elsewhere(shared: Path) -> None:
    """As of an installation that users cannot write; and what he has kept is nothing to root."""
    installed, his = shared / "installed", shared / "his"
    write_object("a.o", "sources", CODE, [installed])
    his.mkdir()
    give_away(his)
    child = os.fork()
    if child == 0:
        failed = True
        try:
            os.setgroups([])
            os.setgid(STRANGER)
            os.setuid(STRANGER)
            failed = (
                read_object("a.o", "sources", [installed, his / "kernels"]) != CODE
                or write_object("b.o", "sources", CODE, [installed, his / "kernels"]) != his / "kernels"
                or read_object("b.o", "sources", [installed, his / "kernels"]) != CODE
            )
        finally:
            os._exit(failed)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (his / "kernels" / "b.o").stat().st_uid == STRANGER
    assert read_object("b.o", "sources", [his / "kernels"]) is None
