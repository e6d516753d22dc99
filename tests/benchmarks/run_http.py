"""Processor time of a statement: through HTTP, and by a front end that is open already, at 10,000 rows.

run_http.py FOLDER STATEMENTS    prints milliseconds of processor time of both, with the child that runs the SQL
"""

from __future__ import annotations

import os
import resource
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "server"))
sys.path.append(str(Path(__file__).parents[1] / "sql"))

from server_site import Server, Site

import dpdb
from dpdb.doors.server.analysts import add_analyst
from dpdb.doors.server.configuration import load_configuration
from dpdb.doors.sql import FrontEnd
from dpdb.ledger import Ledger

DATA = Path(__file__).resolve().parents[2] / "examples" / "data"
STATEMENTS = {
    "count": "SELECT value FROM dp_count('hospital', 0.0625)",
    "repair": "SELECT value FROM dp_inconsistency('hospital', 'repair', 0.0625)",
}


def site(folder: Path, name: str) -> Site:
    ledger = folder / f"{name}.ledger"
    Ledger.create(ledger, 10_000).close()
    (folder / "serve.toml").write_text(
        f'[server]\nport = 0\nrelease_seconds = 0.000001\nstatements_per_minute = 100000\naudit = "{name}.audit"\n'
        f'[tables.hospital]\nsource = "{DATA / "hospital.parquet"}"\nconstraints = "{DATA / "hospital.dcs.txt"}"\n'
        f'ledger = "{name}.ledger"\n'
    )
    return Site(folder, {"ann": add_analyst(load_configuration(folder / "serve.toml"), "ann", quota=9_000)})


def own_cpu() -> float:
    own = resource.getrusage(resource.RUSAGE_SELF)
    zygotes = 0
    for entry in Path("/proc").glob("[0-9]*/stat"):
        fields = entry.read_text().rpartition(")")[2].split()
        if int(fields[1]) == os.getpid():
            zygotes += sum(int(field) for field in fields[11:15])
    return own.ru_utime + own.ru_stime + zygotes / os.sysconf("SC_CLK_TCK")


def by_session(folder: Path, statement: str, times: int) -> float:
    ledger = folder / "warm.ledger"
    if not ledger.exists():
        Ledger.create(ledger, 10_000).close()
    rules = DATA / "hospital.dcs.txt"
    with (
        dpdb.open(DATA / "hospital.parquet", constraints=rules, ledger=ledger) as session,
        FrontEnd(session, "hospital") as door,
    ):
        for _ in range(3):
            door.run(statement)
        before = own_cpu()
        for _ in range(times):
            door.run(statement)
        return (own_cpu() - before) / times


def by_http(server: Server, statement: str, times: int) -> float:
    with server.client("ann") as client:

        def ask(many: int) -> None:
            for _ in range(many):
                assert client.post("/v1/run", json={"statement": statement}).status_code == 200

        ask(3)
        before, began = server.cpu(), time.monotonic()
        ask(times)
        assert time.monotonic() > began
        return (server.cpu() - before) / times


def main() -> None:
    folder, times = Path(sys.argv[1]), int(sys.argv[2])
    served = site(folder, "http")
    with Server(served) as server:
        for name, statement in STATEMENTS.items():
            http, warm = by_http(server, statement, times), by_session(folder, statement, times)
            print(f"{name} {1000 * http:.1f} {1000 * warm:.1f}")


if __name__ == "__main__":
    main()
