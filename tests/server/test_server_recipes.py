"""The systemd unit and the container recipe: their paths and options exist, and what they start is a server."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from server_site import COUNT, Server, make_site
from test_server_bad_input import certificate, edit

from dpdb.doors.cli.main import build_parser
from dpdb.doors.server.configuration import Limits

ROOT = Path(__file__).resolve().parents[2]
RECIPES = ROOT / "examples" / "serve"
UNIT = (RECIPES / "dpdb.service").read_text()
CONTAINER = (RECIPES / "Containerfile").read_text()
SCRIPT = str(Path(sys.executable).with_name("dpdb"))


def in_unit(key: str) -> str:
    return re.findall(rf"^{key}=(.*)$", UNIT, flags=re.MULTILINE)[-1]


def in_container(key: str) -> str:
    return re.findall(rf"^{key} (.*)$", CONTAINER, flags=re.MULTILINE)[-1]


def test_what_the_unit_starts_is_a_command_in_a_folder_that_may_be_written() -> None:
    command, *arguments = shlex.split(in_unit("ExecStart"))
    options = build_parser().parse_args(arguments)
    home = Path(in_unit("ReadWritePaths"))
    assert Path(command).name == "dpdb"
    assert Path(options.config).parent == Path(in_unit("WorkingDirectory")) == home  # ledger, audit and log beside it
    assert float(in_unit("TimeoutStopSec")) > Limits().stop_seconds
    assert in_unit("KillSignal") == "SIGTERM"


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / "dpdb.service"
    unit.write_text(UNIT.replace(shlex.split(in_unit("ExecStart"))[0], SCRIPT))
    found = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False, timeout=60
    )
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


def test_the_container_installs_what_there_is() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    [(where, extra)] = re.findall(r"pip install --no-cache-dir '(\S+)\[(\w+)\]'", in_container("RUN"))
    assert f". {where}" == in_container("COPY")
    assert extra in project["optional-dependencies"]
    version = re.findall(r"python:(3\.\d+)-slim", in_container("FROM"))
    assert project["requires-python"] == ">=3.11"
    assert version[0] in ("3.11", "3.12", "3.13")
    names = [line.split()[0] for line in CONTAINER.splitlines() if line and line[0].isupper()]
    assert names.index("RUN") < names.index("USER") < names.index("ENTRYPOINT")  # it runs as no administrator
    assert in_container("USER") == re.findall(r"useradd --uid \d+ (\w+)", CONTAINER)[0]


@pytest.mark.heavy(family="alone")
def test_what_the_container_starts_answers_at_its_port(tmp_path: Path) -> None:
    """With its folder for /data; the port is one that is free here."""
    command, *arguments = json.loads(in_container("ENTRYPOINT"))
    options = build_parser().parse_args(arguments)
    assert (command, options.config) == ("dpdb", f"{in_container('WORKDIR')}/serve.toml")
    assert in_container("EXPOSE") == str(tomllib.loads((RECIPES / "serve.toml").read_text())["server"]["port"])
    site = make_site(tmp_path)
    now = datetime.now(UTC)
    certificate(tmp_path, now - timedelta(days=1), now + timedelta(days=1))
    keys = 'address = "0.0.0.0"\ncertificate = "cert.pem"\nprivate_key = "key.pem"'
    edit(site, ("[server]", f"[server]\n{keys}"))
    server = Server(site)
    server.command = ("-c", "import os, sys; os.execv(sys.argv[1], sys.argv[1:])", SCRIPT)
    with server:
        import ssl

        trusted = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        url = f"https://localhost:{server.url.rpartition(':')[2]}"
        headers = {"Authorization": f"Bearer {site.tokens['ann']}"}
        found = httpx.post(
            f"{url}/v1/run", json={"statement": COUNT}, headers=headers, verify=trusted, trust_env=False, timeout=60
        )
        assert found.status_code == 200
