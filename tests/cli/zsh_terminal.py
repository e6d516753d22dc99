"""What a real zsh completes: it runs in a terminal of its own, and a tab is pressed behind each of some words."""

from __future__ import annotations

import fcntl
import os
import pty
import shlex
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

__all__ = ["completed_by_zsh"]

_PATIENCE = 30  # seconds that a tab may take on a busy machine; nothing is measured

# Each tab leaves a file with the words that zsh was given to choose from.
_SET_UP = """\
fpath=({folder} $fpath)
autoload -Uz compinit; compinit -u -D
{read}
compadd() {{
    if [[ ${{@[1,(i)(-|--)]}} == *-(O|A|D)\\ * ]]; then builtin compadd "$@"; return; fi
    local -a found; builtin compadd -A found "$@"; print -rl -- $found >> {folder}/found
    builtin compadd "$@"
}}
number=0
finish() {{ touch {folder}/found; mv {folder}/found {folder}/tab.$((++number)); }}
press() {{ comppostfuncs=(finish); zle complete-word; BUFFER= }}
zle -N press; bindkey '^I' press
touch {folder}/ready
"""


def completed_by_zsh(zsh: str, script: str, lines: Sequence[str], folder: Path, *, sourced: bool) -> list[set[str]]:
    """The words that zsh offers behind each line, in a folder, by a script in `fpath` or read by `source`."""
    folder.mkdir()
    (folder / ("script" if sourced else "_dpdb")).write_text(script)
    read = f"source {shlex.quote(str(folder / 'script'))}" if sourced else ""
    (folder / "set_up").write_text(_SET_UP.format(folder=shlex.quote(str(folder)), read=read))
    ours, theirs = pty.openpty()
    fcntl.fcntl(ours, fcntl.F_SETFL, os.O_NONBLOCK)
    shell = subprocess.Popen(
        [zsh, "-f", "-i"],
        stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder.parent, start_new_session=True,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "dumb", "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    try:
        os.write(ours, f"source {shlex.quote(str(folder / 'set_up'))}\n".encode())
        _wait_for(folder / "ready", ours)
        for number, line in enumerate(lines, 1):
            os.write(ours, f"{line}\t".encode())
            _wait_for(folder / f"tab.{number}", ours)
    finally:
        shell.kill()
        shell.wait()
        os.close(ours)
        os.close(theirs)
    return [set((folder / f"tab.{number}").read_text().splitlines()) - {""} for number in range(1, len(lines) + 1)]


def _wait_for(path: Path, terminal: int) -> None:
    end = time.monotonic() + _PATIENCE
    shown = b""
    while not path.exists():
        with suppress(BlockingIOError):
            shown += os.read(terminal, 1 << 16)
        assert time.monotonic() < end, shown
        time.sleep(0.01)
